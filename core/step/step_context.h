// The state of a running step that all its parts share.
#ifndef MILLSTREAM_CORE_STEP_STEP_CONTEXT_H_
#define MILLSTREAM_CORE_STEP_STEP_CONTEXT_H_

#include <time.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "core/resources/resource_manager.h"
#include "core/step/run_options.h"
#include "core/step/session_settings.h"
#include "core/step/step_listeners.h"
#include "framework/status.h"

// The completion callback of one asynchronous kernel execution. The caller that starts the kernel
// owns it and keeps it until the step has ended, so that a second call can be detected.
struct MS_Done {
  // Called once, by any thread, with the kernel's result.
  void (*complete)(MS_Done* done, millstream::Status status) = nullptr;
  std::atomic<bool> called{false};
};

namespace millstream {

class Rendezvous;
class StepScheduler;

// Lives on the stack of the thread that drives the step, until the step has ended.
class StepContext {
 public:
  // REQUIRES: `options` and `settings` outlive this object.
  StepContext(const RunOptions& options, const SessionSettings& settings);
  ~StepContext() {
    delete listeners_.load(std::memory_order_relaxed);  // before what its thread may set
    delete first_error_.load(std::memory_order_relaxed);
  }
  StepContext(const StepContext&) = delete;
  StepContext& operator=(const StepContext&) = delete;

  // ---- Constant while parts run ----
  const RunOptions& options() const { return options_; }
  uint64_t step_id() const { return step_id_; }
  const int max_threads;      // of one kernel while the step holds the permit
  bool holds_permit = false;  // the permit for parallelism inside kernels
  const bool needs_permit;    // false: kernels use max_threads without a permit
  const bool deterministic;
  Rendezvous* rendezvous = nullptr;    // null: the step has one part and sends nothing
  StepScheduler* scheduler = nullptr;  // null: the step runs only on the caller's thread
  // The trace to fill in; null: none was requested.
  StepTrace* trace() const {
    return options_.report != nullptr && options_.report->want_trace ? &options_.report->trace
                                                                     : nullptr;
  }

  // ---- Thread-safe ----
  // Calls fn(user), once, from any thread, when the step is cancelled, fails or runs out of time;
  // at once when it is stopping already. Gives a token. `node`: whose kernel asks for it, for
  // messages; null: no node's.
  uint64_t AddListener(void (*fn)(void* user), void* user, const Node* node);
  // Removes a listener. Waits for a running call of it.
  void RemoveListener(uint64_t token);
  // The container of resources that are freed at the end of the step.
  StepContainer* container() { return &container_; }
  // True after the step failed, was cancelled or exceeded its time limit. Costs a few loads.
  bool IsStopping() const {
    return first_error_.load(std::memory_order_relaxed) != nullptr ||
           (options_.cancellation != nullptr && options_.cancellation->IsCancelled()) ||
           (options_.closing != nullptr && options_.closing->IsCancelled());
  }
  // Returns OK while the step may continue, else its error. On the thread that drives the step, it
  // also checks the time limit and calls RunOptions::should_stop, unless `may_ask` is false,
  // because should_stop may run a step itself. Call it regularly, but not at every node.
  Status CheckInterruption(bool may_ask = true);
  // Stops the step with `error`, unless it has failed before. REQUIRES: !error.ok().
  void Fail(const Status& error);
  // The first error; OK if there is none.
  Status status() const;

 private:
  bool IsDriver() const { return std::this_thread::get_id() == driver_; }
  void NoteWorkOf(const Status& error);
  Status OutOfTime() const;
  StepListeners* Listeners();

  const RunOptions& options_;
  const uint64_t step_id_;
  StepContainer container_;
  const std::thread::id driver_;
  const clockid_t clock_;
  // For the driving thread only; times are of `clock_`.
  int64_t deadline_ms_ = 0;  // 0: none
  int64_t last_asked_ms_ = 0;
  // Owned, set once by the first failure. An atomic and not a lock, so that a step without failure
  // has no cost.
  std::atomic<const Status*> first_error_{nullptr};
  // Owned, created for the first listener, for the same reason.
  std::atomic<StepListeners*> listeners_{nullptr};
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_STEP_CONTEXT_H_
