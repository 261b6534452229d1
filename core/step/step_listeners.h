// The listeners that kernels of one step registered for its end.
#ifndef MILLSTREAM_CORE_STEP_STEP_LISTENERS_H_
#define MILLSTREAM_CORE_STEP_STEP_LISTENERS_H_

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/step/cancel_listeners.h"
#include "framework/steady_time.h"

namespace millstream {

class Cancellation;
class Node;

// Owns the listeners. Thread-safe.
class StepListeners {
 public:
  using OutOfTime = void (*)(void* step, const Node* node);

  // Both may be null. REQUIRES: they outlive this object.
  StepListeners(const Cancellation* cancellation, const Cancellation* closing)
      : cancellation_(cancellation), closing_(closing) {}
  ~StepListeners();
  StepListeners(const StepListeners&) = delete;
  StepListeners& operator=(const StepListeners&) = delete;

  // Calls fn(user), once, when the step fails or either cancellation happens. Gives a token.
  // `node`: whose kernel it is, there as long as the step; null: no node's.
  uint64_t Add(void (*fn)(void* user), void* user, const Node* node) ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes a listener. Waits for a running call of it. Ignores an unknown token.
  void Remove(uint64_t token) ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls the listeners, because the step failed.
  void Fire() { failed_.Fire(); }
  // Starts a thread that calls out_of_time(step, node) when `deadline`, by SteadyNow, has passed
  // while the kernel of `node` has a listener. The destructor ends the thread. Only the first call
  // has an effect.
  void WatchTime(absl::Time deadline, OutOfTime out_of_time, void* step)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    uint64_t token;
    const Node* node;
    std::unique_ptr<CancelListener> listener;
  };
  void Forget(CancelListener* listener);
  bool HasEntriesOrIsOver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_over_ || !entries_.empty();
  }

  const Cancellation* const cancellation_;
  const Cancellation* const closing_;
  CancelListeners failed_;
  absl::Mutex mutex_;
  SteadyCondVar over_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_token_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread watch_;  // set under the lock; the destructor joins it
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_STEP_LISTENERS_H_
