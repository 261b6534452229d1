// Functions that are called when a step is cancelled.
#ifndef MILLSTREAM_CORE_STEP_CANCEL_LISTENERS_H_
#define MILLSTREAM_CORE_STEP_CANCEL_LISTENERS_H_

#include <atomic>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace millstream {

// One function, which several lists may know and which is called once.
struct CancelListener {
  CancelListener(void (*function)(void* user), void* argument) : fn(function), user(argument) {}
  void Call() {
    if (!called.exchange(true, std::memory_order_acq_rel)) fn(user);
  }
  void (*const fn)(void* user);
  void* const user;
  std::atomic<bool> called{false};
};

// Those who listen to one thing that may happen once. Thread-safe.
class CancelListeners {
 public:
  // Adds it, or calls it at once when it has happened. `listener` stays until it is removed.
  void Add(CancelListener* listener) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for a call from Fire that is under way. Nothing happens when it is not there.
  void Remove(CancelListener* listener) ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls all of them; the functions must not come back here.
  void Fire() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  std::vector<CancelListener*> listeners_ ABSL_GUARDED_BY(mutex_);
  bool fired_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_CANCEL_LISTENERS_H_
