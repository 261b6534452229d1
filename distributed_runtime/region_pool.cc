#include "distributed_runtime/region_pool.h"

#include <utility>

namespace millstream {
namespace {

constexpr size_t kMostKept = 8;
constexpr size_t kMostUnused = 8;  // a region may be so many times larger than what is sent
constexpr size_t kMostKeptBytes = size_t{512} << 20;

}  // namespace

// The smallest that is large enough, and not so large that most of it would be unused.
RegionPool::Lent RegionPool::Take(size_t size) {
  Lent lent;
  {
    absl::MutexLock lock(&mutex_);
    auto best = kept_.end();
    for (auto at = kept_.begin(); at != kept_.end(); ++at) {
      const size_t room = at->region->size();
      if (room < size || room / kMostUnused > size) continue;
      if (best == kept_.end() || room < best->region->size()) best = at;
    }
    if (best != kept_.end()) {
      lent.number = best->number;
      lent.region = std::move(best->region);
      kept_bytes_ -= lent.region->size();
      kept_.erase(best);
      lent_[lent.number] = lent.region;
      return lent;
    }
    lent.number = next_++;
  }
  lent.is_new = true;
  lent.region = SharedRegion::Create(size);
  if (lent.region == nullptr) return lent;
  absl::MutexLock lock(&mutex_);
  lent_[lent.number] = lent.region;
  return lent;
}

std::vector<uint64_t> RegionPool::Return(uint64_t number) {
  std::vector<uint64_t> dropped;
  std::vector<Kept> freed;  // without the lock
  absl::MutexLock lock(&mutex_);
  const auto found = lent_.find(number);
  if (found == lent_.end()) return dropped;
  kept_bytes_ += found->second->size();
  kept_.push_back({number, std::move(found->second)});
  lent_.erase(found);
  while (kept_.size() > kMostKept || kept_bytes_ > kMostKeptBytes) {
    kept_bytes_ -= kept_.front().region->size();
    dropped.push_back(kept_.front().number);
    freed.push_back(std::move(kept_.front()));
    kept_.erase(kept_.begin());
  }
  return dropped;
}

}  // namespace millstream
