// Divides the memory of one device into blocks for the work of its streams.
//
// A device runs work asynchronously: when the host releases a tensor, enqueued kernels may still
// use it. So a released block has a list of points of streams after which it is unused. Work of the
// same stream may use the block at once, because it runs after that point. Other streams must wait
// for the point, on the device and not on the host.
#ifndef MILLSTREAM_CORE_DEVICE_ARENA_H_
#define MILLSTREAM_CORE_DEVICE_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/device/stream_point.h"
#include "framework/status.h"

namespace millstream {

// The interface of a device for the arena. Thread-safe. The arena calls it without locks.
class ArenaSource {
 public:
  virtual ~ArenaSource() = default;
  // Allocates memory aligned to the arena's alignment. RESOURCE_EXHAUSTED if the device has none.
  virtual StatusOr<char*> AllocateRegion(size_t bytes) = 0;
  virtual void FreeRegion(char* region, size_t bytes) = 0;
  // Queries the positions of the device's streams and updates the StreamProgress. Does not wait.
  virtual void UpdateProgress() = 0;
  // Waits until the device has completed all enqueued work. Returns false if it cannot.
  virtual bool AwaitIdle() = 0;
};

// A consistent snapshot. Sizes are in bytes.
struct ArenaStats {
  size_t in_use = 0;  // of allocated blocks, rounded sizes
  size_t peak_in_use = 0;
  size_t reserved = 0;  // of regions
  size_t peak_reserved = 0;
  size_t limit = 0;
  size_t largest_free = 0;  // the largest free block, with or without waits
  int64_t allocations = 0;  // since the arena was created

  // The part of the free memory outside of the largest free block: 0 to 1.
  double fragmentation() const {
    const size_t free = reserved - in_use;
    return free == 0 ? 0 : 1 - static_cast<double>(largest_free) / static_cast<double>(free);
  }
};

// What a device's memory asks for. Sizes are in bytes.
struct ArenaRules {
  static constexpr size_t kLeastAlignment = 256;

  size_t alignment = kLeastAlignment;     // of blocks; a power of two, at least kLeastAlignment
  size_t granularity = kLeastAlignment;   // of regions' sizes; a power of two, at least alignment
  size_t first_region = size_t{1} << 20;  // the first region's size, unless a block needs more
  size_t largest_region = SIZE_MAX;       // no larger one is allocated from the source
  bool cuts_regions = true;               // false: each block has a region of its own

  size_t BlockSize(size_t bytes) const { return RoundedUp(bytes, alignment); }
  // The size of the smallest region that has room for a block of `bytes`.
  size_t RegionSize(size_t bytes) const { return RoundedUp(bytes, granularity); }

 private:
  static size_t RoundedUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }
};

// A best-fit allocator on regions that are allocated from the device when they are needed.
// Thread-safe.
class Arena {
 public:
  struct Allocation {
    char* address = nullptr;
    // The points that must pass before the block is used: points of other streams, at most one of
    // each. A point of kNoStream: the device must become idle first.
    std::vector<StreamPoint> waits;
  };

  // The first region has the rules' size. Each further region has as many bytes as all regions
  // before it, or as many as the block needs, up to `limit` bytes in all. REQUIRES: `source` and
  // `progress` outlive the arena.
  Arena(ArenaSource* source, const StreamProgress* progress, size_t limit,
        const ArenaRules& rules = {});
  // Frees all regions. REQUIRES: all blocks were released, and no stream uses them.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Allocates at least `bytes` bytes for work of `stream`. Tries in this order: the smallest free
  // block that needs no waits; new memory; the smallest free block with waits; then waits until the
  // device is idle, so that success does not depend on the device's speed. RESOURCE_EXHAUSTED has
  // the limit, the bytes in use and the largest free block. Other errors are the device's. The
  // address of 0 bytes is null.
  StatusOr<Allocation> Allocate(size_t bytes, uint32_t stream) ABSL_LOCKS_EXCLUDED(mutex_);
  // Releases a block. It is unused when all `points` have passed: one for each stream that used it.
  void Release(char* address, const std::vector<StreamPoint>& points) ABSL_LOCKS_EXCLUDED(mutex_);
  // Frees the regions without allocated blocks whose points have all passed. Returns their size.
  size_t Trim() ABSL_LOCKS_EXCLUDED(mutex_);

  ArenaStats stats() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Blocks are adjacent. Two free neighbours of a region are joined if they wait for the same
  // streams. A block with waits is not joined to one without, because the joined block would have
  // to wait.
  struct Block {
    size_t bytes = 0;
    bool is_free = true;
    bool begins_region = false;
    std::vector<StreamPoint> points;  // by stream
  };
  using Blocks = std::map<char*, Block>;
  using Free = std::set<std::pair<size_t, char*>>;

  // The points of other streams than `stream` that have not passed.
  std::vector<StreamPoint> Waits(const Block& block, uint32_t stream) const;
  Free::iterator FindReady(size_t bytes, uint32_t stream) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Allocation Take(Free::iterator free, size_t bytes, uint32_t stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeReady(size_t bytes, uint32_t stream, Allocation* taken) ABSL_LOCKS_EXCLUDED(mutex_);
  bool TakeAny(size_t bytes, uint32_t stream, Allocation* taken) ABSL_LOCKS_EXCLUDED(mutex_);
  Status TakeNew(size_t bytes, uint32_t stream, Allocation* taken) ABSL_LOCKS_EXCLUDED(mutex_);
  Status Grow(size_t bytes, uint32_t stream, Allocation* taken) ABSL_LOCKS_EXCLUDED(mutex_);
  Status TakeTrimmed(size_t bytes, uint32_t stream, const Status& cause, Allocation* taken)
      ABSL_LOCKS_EXCLUDED(mutex_);
  size_t ReserveRegion(size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  void AddFree(Blocks::iterator block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayJoin(const Block& left, const Block& right) const;
  Blocks::iterator Join(Blocks::iterator left, Blocks::iterator right)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetPassedPoints() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Exhausted(size_t bytes, const Status& cause) const ABSL_LOCKS_EXCLUDED(mutex_);

  ArenaSource& source_;
  const StreamProgress& progress_;
  const size_t limit_;
  const ArenaRules rules_;
  mutable absl::Mutex mutex_;
  Blocks blocks_ ABSL_GUARDED_BY(mutex_);
  Free free_ ABSL_GUARDED_BY(mutex_);  // the free ones of blocks_
  ArenaStats stats_ ABSL_GUARDED_BY(mutex_);
  bool is_growing_ ABSL_GUARDED_BY(mutex_) = false;  // a thread is in TakeNew
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_ARENA_H_
