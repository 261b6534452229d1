// What one run of a step is told besides its signature.
#ifndef MILLSTREAM_CORE_STEP_RUN_OPTIONS_H_
#define MILLSTREAM_CORE_STEP_RUN_OPTIONS_H_

#include <atomic>
#include <cstdint>

#include "core/step/cancel_listeners.h"
#include "core/step/step_trace.h"

namespace millstream {

class Rendezvous;

// Stops a running step from another thread. Thread-safe.
class Cancellation {
 public:
  void Cancel() {
    cancelled_.store(true, std::memory_order_release);
    listeners_.Fire();
  }
  bool IsCancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // Who wants to be told.
  CancelListeners* listeners() const { return &listeners_; }

 private:
  std::atomic<bool> cancelled_{false};
  mutable CancelListeners listeners_;
};

// What one Run may be told besides its signature.
struct RunOptions {
  StepReport* report = nullptr;  // what is asked of it is filled in, also when the step fails
  const Cancellation* cancellation = nullptr;
  const Cancellation* closing = nullptr;  // of the session, which sets it
  int64_t timeout_ms = 0;                 // 0: the session's
  // Called now and then on the running thread; true stops the step (Ctrl-C of a front end).
  bool (*should_stop)(void* argument) = nullptr;
  void* should_stop_argument = nullptr;
  // Where the tensors of this step meet that go to other tasks, or come from them. It outlives the
  // run, and is aborted when the run fails. Null: a step with parts in other tasks fails with
  // FAILED_PRECONDITION.
  Rendezvous* other_tasks = nullptr;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_RUN_OPTIONS_H_
