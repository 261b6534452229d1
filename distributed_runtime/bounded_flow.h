// A bound for what is on its way to a process that is slow.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_BOUNDED_FLOW_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_BOUNDED_FLOW_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace millstream {

// To send a large message is to copy it into memory that the receiver has not taken as yet.
// Messages beyond the bound are not copied: they wait, in the order in which they came, as the
// tensors that they are. So a receiver that does not read costs its sender no memory that grows.
// Thread-safe.
class BoundedFlow {
 public:
  // Copies a message and sends it.
  using Send = std::function<void()>;

  // No more than `most` bytes are on their way, or one message.
  explicit BoundedFlow(size_t most) : most_(most) {}

  // A message is to be sent. Returns true if the caller shall send it now; its bytes then count
  // until Arrive or GiveUp. Otherwise keeps `send` until there is room.
  bool Begin(size_t bytes, Send send) ABSL_LOCKS_EXCLUDED(mutex_);
  // The number under which the receiver will say that it has the message. A number that is used
  // again says that the receiver has the message before.
  void SetNumber(uint64_t number, size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // The receiver has a message. Returns what is to be sent now, as Begin does. Nothing for a number
  // that is not on its way.
  std::vector<Send> Arrive(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for a message that has gone another way.
  std::vector<Send> GiveUp(size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Forgets what waits, now and later.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  size_t on_its_way() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return on_its_way_;
  }

 private:
  struct Waiting {
    size_t bytes = 0;
    Send send;
  };
  bool HasRoom(size_t bytes) const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return on_its_way_ == 0 || (bytes <= most_ && on_its_way_ <= most_ - bytes);
  }
  std::vector<Send> TakeReady() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_;
  mutable absl::Mutex mutex_;
  size_t on_its_way_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<uint64_t, size_t> numbered_ ABSL_GUARDED_BY(mutex_);
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_BOUNDED_FLOW_H_
