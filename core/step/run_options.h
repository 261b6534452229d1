// The options of one run of a step.
#ifndef MILLSTREAM_CORE_STEP_RUN_OPTIONS_H_
#define MILLSTREAM_CORE_STEP_RUN_OPTIONS_H_

#include <atomic>
#include <cstdint>

#include "core/step/cancel_listeners.h"
#include "core/step/step_trace.h"

namespace millstream {

class Rendezvous;

// Cancels running steps from another thread. It stays cancelled for ever. Thread-safe.
class Cancellation {
 public:
  void Cancel() {
    cancelled_.store(true, std::memory_order_release);
    listeners_.Fire();
  }
  bool IsCancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // The functions that Cancel calls.
  CancelListeners* listeners() const { return &listeners_; }

 private:
  std::atomic<bool> cancelled_{false};
  mutable CancelListeners listeners_;
};

// The options of one Run. Pointers must outlive the run.
struct RunOptions {
  StepReport* report = nullptr;  // gets the requested parts, also if the step fails
  const Cancellation* cancellation = nullptr;
  const Cancellation* closing = nullptr;  // of the session; the session sets it
  int64_t timeout_ms = 0;                 // 0: that of the session
  // Called regularly on the running thread. True cancels the step (Ctrl-C of a front end).
  bool (*should_stop)(void* argument) = nullptr;
  void* should_stop_argument = nullptr;
  // The rendezvous for tensors to and from other tasks. It is aborted if the run fails. Null: a
  // step with parts in other tasks fails with FAILED_PRECONDITION.
  Rendezvous* other_tasks = nullptr;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_RUN_OPTIONS_H_
