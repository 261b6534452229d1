// The regions of shared memory in which one process sends to another.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_REGION_POOL_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_REGION_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "distributed_runtime/shared_region.h"

namespace millstream {

// A region is used again when the receiver has released it: the first use of its pages costs more
// than the copy. Thread-safe.
class RegionPool {
 public:
  struct Lent {
    uint64_t number = 0;
    bool is_new = false;  // the receiver has not seen it
    std::shared_ptr<SharedRegion> region;
  };
  // A region of at least `size` bytes, which stays lent until Return. Its `region` is null if the
  // system gives no memory.
  Lent Take(size_t size) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes a region back. Returns the numbers of regions that are not kept: too many wait.
  std::vector<uint64_t> Return(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Kept {
    uint64_t number = 0;
    std::shared_ptr<SharedRegion> region;
  };
  absl::Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<uint64_t, std::shared_ptr<SharedRegion>> lent_ ABSL_GUARDED_BY(mutex_);
  std::vector<Kept> kept_ ABSL_GUARDED_BY(mutex_);  // the longest kept first
  size_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_REGION_POOL_H_
