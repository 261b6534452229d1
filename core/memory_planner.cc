#include "core/memory_planner.h"

#include <algorithm>
#include <numeric>

#include "framework/allocator.h"

namespace millstream {
namespace {

constexpr int64_t kLargestSlab = int64_t{1} << 62;

int64_t RoundUp(int64_t bytes) {
  const int64_t alignment = static_cast<int64_t>(kTensorAlignment);
  return (bytes + alignment - 1) / alignment * alignment;
}

bool LivesMeet(const MemoryRequest& a, const MemoryRequest& b) {
  return a.first <= b.last && b.first <= a.last;
}

// The start of the tightest gap of at least `bytes` between `neighbours` (sorted by offset), or the
// end of the last one.
int64_t FindGap(const std::vector<const MemoryRequest*>& neighbours, int64_t bytes) {
  int64_t best = -1;
  int64_t best_size = kLargestSlab;
  int64_t end = 0;
  for (const MemoryRequest* neighbour : neighbours) {
    const int64_t gap = neighbour->offset - end;
    if (gap >= bytes && gap < best_size) {
      best = end;
      best_size = gap;
    }
    end = std::max(end, neighbour->offset + RoundUp(neighbour->bytes));
  }
  return best >= 0 ? best : end;
}

}  // namespace

int64_t PlanMemory(std::vector<MemoryRequest>* requests) {
  std::vector<int> order(requests->size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return (*requests)[a].bytes > (*requests)[b].bytes; });
  std::vector<const MemoryRequest*> placed;  // sorted by offset
  int64_t slab = 0;
  for (int index : order) {
    MemoryRequest& request = (*requests)[index];
    if (request.bytes > kLargestSlab - slab) return -1;
    const int64_t bytes = std::max(RoundUp(request.bytes), RoundUp(1));
    std::vector<const MemoryRequest*> neighbours;
    for (const MemoryRequest* other : placed) {
      if (LivesMeet(request, *other)) neighbours.push_back(other);
    }
    request.offset = FindGap(neighbours, bytes);
    slab = std::max(slab, request.offset + bytes);
    auto position = std::upper_bound(
        placed.begin(), placed.end(), &request,
        [](const MemoryRequest* a, const MemoryRequest* b) { return a->offset < b->offset; });
    placed.insert(position, &request);
  }
  return slab;
}

}  // namespace millstream
