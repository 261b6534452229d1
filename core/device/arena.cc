#include "core/device/arena.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "framework/allocation_faults_for_tests.h"

namespace millstream {
namespace {

// The most free blocks that are examined before new memory is allocated. Without a limit, many
// blocks that must still be waited for would make every allocation slow.
constexpr int kMostCandidates = 32;

// A block that cannot be cut may be this many times as large as it must be, before another one is
// allocated.
constexpr size_t kMostWaste = 2;

// Both lists in one, of each stream the later point.
std::vector<StreamPoint> Later(const std::vector<StreamPoint>& a,
                               const std::vector<StreamPoint>& b) {
  std::vector<StreamPoint> points = a;
  for (const StreamPoint& point : b) {
    const auto same = std::find_if(points.begin(), points.end(), [&](const StreamPoint& other) {
      return other.stream == point.stream;
    });
    if (same == points.end()) {
      points.push_back(point);
    } else {
      same->sequence = std::max(same->sequence, point.sequence);
    }
  }
  std::sort(points.begin(), points.end(),
            [](const StreamPoint& x, const StreamPoint& y) { return x.stream < y.stream; });
  return points;
}

}  // namespace

Arena::Arena(ArenaSource* source, const StreamProgress* progress, size_t limit,
             const ArenaRules& rules)
    : source_(*source), progress_(*progress), limit_(limit), rules_(rules) {
  absl::MutexLock lock(&mutex_);
  stats_.limit = limit;
}

Arena::~Arena() {
  std::vector<std::pair<char*, size_t>> regions;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [address, block] : blocks_) {
      assert(block.is_free);
      if (block.begins_region) regions.emplace_back(address, 0);
      regions.back().second += block.bytes;
    }
  }
  for (const auto& [address, bytes] : regions) source_.FreeRegion(address, bytes);
}

std::vector<StreamPoint> Arena::Waits(const Block& block, uint32_t stream) const {
  std::vector<StreamPoint> waits;
  for (const StreamPoint& point : block.points) {
    // Work outside of streams comes after nothing, not even other such work.
    const bool is_own = point.stream == stream && stream != kNoStream;
    if (!is_own && !progress_.HasPassed(point)) waits.push_back(point);
  }
  return waits;
}

Arena::Free::iterator Arena::FindReady(size_t bytes, uint32_t stream) const {
  auto candidate = free_.lower_bound({bytes, nullptr});
  for (int i = 0; i < kMostCandidates && candidate != free_.end(); ++i, ++candidate) {
    if (!rules_.cuts_regions && candidate->first / kMostWaste > bytes) break;
    if (Waits(blocks_.at(candidate->second), stream).empty()) return candidate;
  }
  return free_.end();
}

// Cuts the block off the front of a free one, or takes all of it.
Arena::Allocation Arena::Take(Free::iterator free, size_t bytes, uint32_t stream) {
  const auto entry = blocks_.find(free->second);
  free_.erase(free);
  Block& block = entry->second;
  Allocation taken{entry->first, Waits(block, stream)};
  if (block.bytes > bytes && rules_.cuts_regions) {
    Block rest;
    rest.bytes = block.bytes - bytes;
    rest.points = block.points;
    free_.emplace(rest.bytes, entry->first + bytes);
    blocks_.emplace(entry->first + bytes, std::move(rest));
    block.bytes = bytes;
  }
  block.is_free = false;
  block.points.clear();
  ++stats_.allocations;
  stats_.in_use += block.bytes;
  stats_.peak_in_use = std::max(stats_.peak_in_use, stats_.in_use);
  return taken;
}

bool Arena::TakeReady(size_t bytes, uint32_t stream, Allocation* taken) {
  absl::MutexLock lock(&mutex_);
  const auto ready = FindReady(bytes, stream);
  if (ready == free_.end()) return false;
  *taken = Take(ready, bytes, stream);
  return true;
}

bool Arena::TakeAny(size_t bytes, uint32_t stream, Allocation* taken) {
  absl::MutexLock lock(&mutex_);
  const auto smallest = free_.lower_bound({bytes, nullptr});
  if (smallest == free_.end()) return false;
  *taken = Take(smallest, bytes, stream);
  return true;
}

// How large a region for a block of `bytes` may be, which is counted as reserved from now on; 0
// when the limit leaves no room.
size_t Arena::ReserveRegion(size_t bytes) {
  absl::MutexLock lock(&mutex_);
  const size_t room = limit_ - std::min(limit_, stats_.reserved);
  const size_t least = rules_.RegionSize(bytes);
  if (least > room) return 0;
  const size_t usual = std::max({least, rules_.first_region, stats_.reserved});
  const size_t wanted =
      std::min({rules_.cuts_regions ? usual : least, rules_.largest_region, room});
  // A last piece too small to cut anything from is of no use to anybody.
  const size_t region = std::max(least, wanted / rules_.granularity * rules_.granularity);
  stats_.reserved += region;
  return region;
}

// In a new region. A device that has no room for a large one may have it for the block alone.
Status Arena::TakeNew(size_t bytes, uint32_t stream, Allocation* taken) {
  size_t region = ReserveRegion(bytes);
  if (region == 0) return errors::ResourceExhausted("the limit is reached");
  StatusOr<char*> start = source_.AllocateRegion(region);
  // What is no lack of memory is the device's fault, and no better the second time.
  const bool is_full = absl::IsResourceExhausted(start.status());
  const size_t least = rules_.RegionSize(bytes);
  if (is_full && region > least) {
    absl::MutexLock lock(&mutex_);
    stats_.reserved -= region - least;
    region = least;
  }
  if (is_full && region == least) start = source_.AllocateRegion(least);
  absl::MutexLock lock(&mutex_);
  if (!start.ok()) {
    stats_.reserved -= region;
    return start.status();
  }
  stats_.peak_reserved = std::max(stats_.peak_reserved, stats_.reserved);
  Block block;
  block.bytes = region;
  block.begins_region = true;
  blocks_.emplace(*start, std::move(block));
  *taken = Take(free_.emplace(region, *start).first, bytes, stream);
  return absl::OkStatus();
}

// One thread at a time: while a region is allocated, its bytes are reserved but not yet free, so
// another thread would find neither unreserved memory nor a free block.
Status Arena::Grow(size_t bytes, uint32_t stream, Allocation* taken) {
  {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](bool* is_growing) { return !*is_growing; }, &is_growing_));
    is_growing_ = true;
  }
  // Of what another thread has got meanwhile there may be enough.
  const Status grown =
      TakeReady(bytes, stream, taken) ? absl::OkStatus() : TakeNew(bytes, stream, taken);
  absl::MutexLock lock(&mutex_);
  is_growing_ = false;
  return grown;
}

// After regions that are free as a whole have made room for one that is large enough. `cause` is
// why there is no new one without that.
Status Arena::TakeTrimmed(size_t bytes, uint32_t stream, const Status& cause, Allocation* taken) {
  const bool has_room = Trim() > 0;
  if (TakeAny(bytes, stream, taken)) return absl::OkStatus();  // of pieces that were joined
  return has_room ? Grow(bytes, stream, taken) : cause;
}

StatusOr<Arena::Allocation> Arena::Allocate(size_t bytes, uint32_t stream) {
  Allocation taken;
  if (bytes == 0) return taken;
  if (bytes > limit_) return Exhausted(bytes, errors::ResourceExhausted("that is over the limit"));
  if (AllocationFaults::FailsNext()) {
    return Exhausted(bytes, errors::ResourceExhausted("a test wants none"));
  }
  const size_t rounded = rules_.BlockSize(bytes);
  if (rules_.RegionSize(rounded) > rules_.largest_region) {
    return Exhausted(bytes, errors::ResourceExhausted("the device gives at most ",
                                                      rules_.largest_region, " bytes at once"));
  }
  if (TakeReady(rounded, stream, &taken)) return taken;
  source_.UpdateProgress();
  {
    absl::MutexLock lock(&mutex_);
    ForgetPassedPoints();
  }
  if (TakeReady(rounded, stream, &taken)) return taken;
  Status grown = Grow(rounded, stream, &taken);
  if (grown.ok() || TakeAny(rounded, stream, &taken)) return taken;
  if (!absl::IsResourceExhausted(grown)) return grown;
  grown = TakeTrimmed(rounded, stream, grown, &taken);
  if (!grown.ok() && source_.AwaitIdle()) grown = TakeTrimmed(rounded, stream, grown, &taken);
  if (grown.ok()) return taken;
  return Exhausted(bytes, grown);
}

void Arena::Release(char* address, const std::vector<StreamPoint>& points) {
  if (address == nullptr) return;
  absl::MutexLock lock(&mutex_);
  const auto block = blocks_.find(address);
  assert(block != blocks_.end() && !block->second.is_free);
  block->second.points = Later(points, {});
  stats_.in_use -= block->second.bytes;
  AddFree(block);
}

// True if neither block has points, or both wait for the same streams.
bool Arena::MayJoin(const Block& left, const Block& right) const {
  if (!left.is_free || !right.is_free || right.begins_region) return false;
  return std::equal(
      left.points.begin(), left.points.end(), right.points.begin(), right.points.end(),
      [](const StreamPoint& a, const StreamPoint& b) { return a.stream == b.stream; });
}

Arena::Blocks::iterator Arena::Join(Blocks::iterator left, Blocks::iterator right) {
  free_.erase({left->second.bytes, left->first});
  free_.erase({right->second.bytes, right->first});
  left->second.bytes += right->second.bytes;
  left->second.points = Later(left->second.points, right->second.points);
  blocks_.erase(right);
  free_.emplace(left->second.bytes, left->first);
  return left;
}

void Arena::AddFree(Blocks::iterator block) {
  block->second.is_free = true;
  free_.emplace(block->second.bytes, block->first);
  const auto next = std::next(block);
  if (next != blocks_.end() && MayJoin(block->second, next->second)) Join(block, next);
  if (block == blocks_.begin()) return;
  const auto previous = std::prev(block);
  if (MayJoin(previous->second, block->second)) Join(previous, block);
}

// And joins what need not be apart any more.
void Arena::ForgetPassedPoints() {
  for (auto& [address, block] : blocks_) {
    std::vector<StreamPoint>& points = block.points;
    points.erase(
        std::remove_if(points.begin(), points.end(),
                       [&](const StreamPoint& point) { return progress_.HasPassed(point); }),
        points.end());
  }
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    const auto next = std::next(block);
    if (next != blocks_.end() && MayJoin(block->second, next->second)) {
      block = Join(block, next);
    } else {
      block = next;
    }
  }
}

size_t Arena::Trim() {
  source_.UpdateProgress();
  std::vector<std::pair<char*, size_t>> regions;
  {
    absl::MutexLock lock(&mutex_);
    ForgetPassedPoints();
    for (auto block = blocks_.begin(); block != blocks_.end();) {
      const auto next = std::next(block);
      const bool is_region =
          block->second.begins_region && (next == blocks_.end() || next->second.begins_region);
      if (is_region && block->second.is_free && block->second.points.empty()) {
        regions.emplace_back(block->first, block->second.bytes);
        free_.erase({block->second.bytes, block->first});
        blocks_.erase(block);
      }
      block = next;
    }
  }
  size_t freed = 0;
  for (const auto& [address, bytes] : regions) {
    source_.FreeRegion(address, bytes);
    freed += bytes;
  }
  absl::MutexLock lock(&mutex_);
  stats_.reserved -= freed;
  return freed;
}

ArenaStats Arena::stats() const {
  absl::MutexLock lock(&mutex_);
  ArenaStats stats = stats_;
  if (!free_.empty()) stats.largest_free = free_.rbegin()->first;
  return stats;
}

Status Arena::Exhausted(size_t bytes, const Status& cause) const {
  const ArenaStats now = stats();
  return errors::ResourceExhausted(
      "out of device memory: no ", bytes, " bytes (", cause.message(), "): of ", now.limit,
      " bytes, ", now.in_use, " are in use, ", now.reserved - now.in_use,
      " are reserved and free, the largest piece of which is ", now.largest_free);
}

}  // namespace millstream
