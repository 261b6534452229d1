#include "core/plan/memory_planner.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "framework/allocator.h"

namespace millstream {
namespace {

constexpr int64_t kLargestSlab = int64_t{1} << 62;

int64_t RoundUp(int64_t bytes) {
  const int64_t alignment = static_cast<int64_t>(kTensorAlignment);
  return (bytes + alignment - 1) / alignment * alignment;
}

// A request that has its place.
struct Block {
  int64_t offset;
  int64_t end;
  int first;
  int last;
};

// The tightest gap of at least `bytes` below what was added, lowest first. Blocks are added in
// order of their offsets.
class GapSearch {
 public:
  explicit GapSearch(int64_t bytes) : bytes_(bytes) {}
  void Add(int64_t offset, int64_t end) {
    const int64_t gap = offset - end_;
    if (gap >= bytes_ && gap < best_size_) {
      best_ = end_;
      best_size_ = gap;
    }
    end_ = std::max(end_, end);
  }
  // Where the gap starts; where all ends when there is none.
  int64_t result() const { return best_ >= 0 ? best_ : end_; }
  void CountLooks(size_t count) { looks_ += static_cast<int64_t>(count); }
  int64_t looks() const { return looks_; }

 private:
  int64_t looks_ = 0;
  const int64_t bytes_;
  int64_t best_ = -1;
  int64_t best_size_ = kLargestSlab;
  int64_t end_ = 0;
};

// Neighbouring blocks, sorted by offset, with what lets a search pass them by in one step: when
// none of them lives at the same time, or all do and leave no gap that is large enough.
class Group {
 public:
  size_t size() const { return blocks_.size(); }
  int64_t offset() const { return blocks_.front().offset; }

  void Insert(const Block& block) {
    auto position =
        std::upper_bound(blocks_.begin(), blocks_.end(), block,
                         [](const Block& a, const Block& b) { return a.offset < b.offset; });
    blocks_.insert(position, block);
    Summarize();
  }

  // Leaves the lower half here and gives the upper one.
  Group Split() {
    Group upper;
    const auto middle = blocks_.begin() + static_cast<int64_t>(blocks_.size() / 2);
    upper.blocks_.assign(middle, blocks_.end());
    blocks_.erase(middle, blocks_.end());
    Summarize();
    upper.Summarize();
    return upper;
  }

  void Search(int first, int last, int64_t bytes, GapSearch* search) const {
    search->CountLooks(1);
    if (first > last_of_all_ || last < first_of_all_) return;
    const bool all_meet = first <= last_common_ && last >= first_common_;
    if (all_meet && largest_gap_ < bytes) return search->Add(offset(), end_);
    search->CountLooks(blocks_.size());
    for (const Block& block : blocks_) {
      if (first <= block.last && block.first <= last) search->Add(block.offset, block.end);
    }
  }

 private:
  void Summarize() {
    const Block& lowest = blocks_.front();
    first_of_all_ = first_common_ = lowest.first;
    last_of_all_ = last_common_ = lowest.last;
    end_ = lowest.end;
    largest_gap_ = 0;
    for (const Block& block : blocks_) {
      first_of_all_ = std::min(first_of_all_, block.first);
      first_common_ = std::max(first_common_, block.first);
      last_of_all_ = std::max(last_of_all_, block.last);
      last_common_ = std::min(last_common_, block.last);
      largest_gap_ = std::max(largest_gap_, block.offset - end_);
      end_ = std::max(end_, block.end);
    }
  }

  std::vector<Block> blocks_;
  // A life meets some block's if it meets [first_of_all_, last_of_all_], and every block's if it
  // has begun by last_common_ and not ended before first_common_.
  int first_of_all_ = 0;
  int last_of_all_ = 0;
  int first_common_ = 0;
  int last_common_ = 0;
  int64_t end_ = 0;
  int64_t largest_gap_ = 0;  // between neighbours
};

// All that has its place, sorted by offset.
class PlacedBlocks {
 public:
  int64_t FindGap(const MemoryRequest& request, int64_t bytes, int64_t* looks) const {
    GapSearch search(bytes);
    for (const Group& group : groups_) group.Search(request.first, request.last, bytes, &search);
    if (looks != nullptr) *looks += search.looks();
    return search.result();
  }

  void Insert(const Block& block) {
    auto next = std::upper_bound(
        groups_.begin(), groups_.end(), block.offset,
        [](int64_t offset, const Group& group) { return offset < group.offset(); });
    if (groups_.empty()) next = groups_.emplace(groups_.end()) + 1;
    auto group = next == groups_.begin() ? next : next - 1;
    group->Insert(block);
    if (group->size() < kGroupSize) return;
    Group upper = group->Split();
    groups_.insert(group + 1, std::move(upper));
  }

 private:
  static constexpr size_t kGroupSize = 128;
  std::vector<Group> groups_;  // none is empty
};

}  // namespace

int64_t PlanMemory(std::vector<MemoryRequest>* requests, int64_t* looks) {
  std::vector<int> order(requests->size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return (*requests)[a].bytes > (*requests)[b].bytes; });
  PlacedBlocks placed;
  int64_t slab = 0;
  for (int index : order) {
    MemoryRequest& request = (*requests)[index];
    if (request.bytes > kLargestSlab - slab) return -1;
    const int64_t bytes = std::max(RoundUp(request.bytes), RoundUp(1));
    request.offset = placed.FindGap(request, bytes, looks);
    slab = std::max(slab, request.offset + bytes);
    placed.Insert(
        {request.offset, request.offset + RoundUp(request.bytes), request.first, request.last});
  }
  return slab;
}

}  // namespace millstream
