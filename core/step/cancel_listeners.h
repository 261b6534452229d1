// Functions that are called when a step is cancelled.
#ifndef MILLSTREAM_CORE_STEP_CANCEL_LISTENERS_H_
#define MILLSTREAM_CORE_STEP_CANCEL_LISTENERS_H_

#include <atomic>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace millstream {

// A function that several lists may contain and that is called once.
struct CancelListener {
  CancelListener(void (*function)(void* user), void* argument) : fn(function), user(argument) {}
  void Call() {
    if (!called.exchange(true, std::memory_order_acq_rel)) fn(user);
  }
  void (*const fn)(void* user);
  void* const user;
  std::atomic<bool> called{false};
};

// The listeners of an event that happens at most once. Thread-safe.
class CancelListeners {
 public:
  // Adds the listener, or calls it at once if the event has happened. REQUIRES: `listener` lives
  // until Remove returns.
  void Add(CancelListener* listener) ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes the listener, if it is in the list. Waits for a running Fire.
  void Remove(CancelListener* listener) ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls all listeners. REQUIRES: they do not call members of this object.
  void Fire() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  std::vector<CancelListener*> listeners_ ABSL_GUARDED_BY(mutex_);
  bool fired_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_CANCEL_LISTENERS_H_
