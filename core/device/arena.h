// Memory of one device, cut into blocks for the work of its streams.
//
// A device works later than the host asks it to: when the host drops a tensor, kernels that are
// enqueued may still use it. So a block that is given back says from which points of which streams
// on it is unused. Work of the same stream may have it at once, because it comes after that point
// anyway; other streams have to wait for the point, on the device and not on the host.
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

// What the arena needs of a device. Thread-safe; called with no lock held.
class ArenaSource {
 public:
  virtual ~ArenaSource() = default;
  // A piece that is aligned to Arena::kAlignment; RESOURCE_EXHAUSTED when the device has none.
  virtual StatusOr<char*> AllocateRegion(size_t bytes) = 0;
  virtual void FreeRegion(char* region, size_t bytes) = 0;
  // Asks the device how far its streams are, and tells the StreamProgress. Does not wait.
  virtual void UpdateProgress() = 0;
  // Waits until the device has done what it was told; false when it does not come to that.
  virtual bool AwaitIdle() = 0;
};

// Each field exact, all of one instant. Bytes.
struct ArenaStats {
  size_t in_use = 0;  // of blocks that are out, as they were cut
  size_t peak_in_use = 0;
  size_t reserved = 0;  // of regions
  size_t peak_reserved = 0;
  size_t limit = 0;
  size_t largest_free = 0;  // the largest free block, whoever has to wait for it
  int64_t allocations = 0;  // since the arena was made

  // What part of the free memory the largest free block does not have: 0 to 1.
  double fragmentation() const {
    const size_t free = reserved - in_use;
    return free == 0 ? 0 : 1 - static_cast<double>(largest_free) / static_cast<double>(free);
  }
};

// Best fit over regions that are taken from the device as they are needed. Thread-safe.
class Arena {
 public:
  static constexpr size_t kAlignment = 256;

  struct Allocation {
    char* address = nullptr;
    // What must have passed before the block is touched: points of other streams than the one that
    // asked, at most one of each. One of kNoStream: the device must become idle first.
    std::vector<StreamPoint> waits;
  };

  // Takes regions of `first_region` bytes, then as many as there are already, or as many as a block
  // needs, up to `limit` in all. `source` and `progress` must outlive the arena.
  Arena(ArenaSource* source, const StreamProgress* progress, size_t limit,
        size_t first_region = size_t{1} << 20);
  // Frees all regions. REQUIRES: all blocks were released and all streams are done with them.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // At least `bytes` bytes for work of `stream`. Of what fits, the smallest block for which nobody
  // has to wait; then new memory; then the smallest block, with waits. When all that is not enough
  // the host waits for what the device still uses: what fits must not depend on how fast it is.
  // RESOURCE_EXHAUSTED says how much there is, is used, and is free in one piece; other errors are
  // the device's. 0 bytes have a null address.
  StatusOr<Allocation> Allocate(size_t bytes, uint32_t stream) ABSL_LOCKS_EXCLUDED(mutex_);
  // The block is unused once all `points` have passed, of the streams that used it.
  void Release(char* address, const std::vector<StreamPoint>& points) ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives regions back to the device of which no block is out and all points have passed. Returns
  // how many bytes they were.
  size_t Trim() ABSL_LOCKS_EXCLUDED(mutex_);

  ArenaStats stats() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Blocks lie side by side. Two free neighbours of a region become one when they wait for the same
  // streams; what waits is not joined to what does not, which would then wait as well.
  struct Block {
    size_t bytes = 0;
    bool is_free = true;
    bool begins_region = false;
    std::vector<StreamPoint> points;  // by stream
  };
  using Blocks = std::map<char*, Block>;
  using Free = std::set<std::pair<size_t, char*>>;

  // What of the points has not passed, but for those of `stream`.
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
  const size_t first_region_;
  mutable absl::Mutex mutex_;
  Blocks blocks_ ABSL_GUARDED_BY(mutex_);
  Free free_ ABSL_GUARDED_BY(mutex_);  // those of blocks_ that are free
  ArenaStats stats_ ABSL_GUARDED_BY(mutex_);
  bool is_growing_ ABSL_GUARDED_BY(mutex_) = false;  // a thread is in TakeNew
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_ARENA_H_
