// The step in progress: what all its parts share.
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

// The completion of one asynchronous kernel execution. Whoever starts the kernel owns it and keeps
// it until the step has ended, so that a second call can still be told from the first.
struct MS_Done {
  // Called once, by any thread, with the kernel's result.
  void (*complete)(MS_Done* done, millstream::Status status) = nullptr;
  std::atomic<bool> called{false};
};

namespace millstream {

class Rendezvous;
class StepScheduler;

// Made on the stack of the thread that drives the step; lives until the step has ended.
class StepContext {
 public:
  // A step of a session. `options` and `settings` must outlive it.
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
  const int max_threads;      // that a kernel may use while the step holds the permit
  bool holds_permit = false;  // for parallelism inside kernels
  const bool needs_permit;    // false: kernels use max_threads without, whoever else does
  const bool deterministic;
  Rendezvous* rendezvous = nullptr;    // null: the step has one part and sends nothing
  StepScheduler* scheduler = nullptr;  // null: the step runs on the caller's thread alone
  // Null: nobody asked.
  StepTrace* trace() const {
    return options_.report != nullptr && options_.report->want_trace ? &options_.report->trace
                                                                     : nullptr;
  }

  // ---- Thread-safe ----
  // Calls fn(user), once, from any thread, when the step is cancelled, fails or runs out of time;
  // at once when it is stopping already. Gives a token. `node`: whose kernel asks for it, for
  // messages; null: no node's.
  uint64_t AddListener(void (*fn)(void* user), void* user, const Node* node);
  // Waits for a call that is under way.
  void RemoveListener(uint64_t token);
  // The container of resources that live as long as the step.
  StepContainer* container() { return &container_; }
  // True once the step is to end early: it failed, was cancelled, or took too long. Costs a few
  // loads.
  bool IsStopping() const {
    return first_error_.load(std::memory_order_relaxed) != nullptr ||
           (options_.cancellation != nullptr && options_.cancellation->IsCancelled()) ||
           (options_.closing != nullptr && options_.closing->IsCancelled());
  }
  // OK while the step may go on. On the thread that drives the step it also looks at the clock and
  // asks the front end; call it now and then, not at every node.
  // `may_ask` false: the front end is not asked, for its answer may take a step of its own.
  Status CheckInterruption(bool may_ask = true);
  // Ends the step with `error` unless something failed before. REQUIRES: !error.ok().
  void Fail(const Status& error);
  // The first error; OK while nothing failed.
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
  // Of the driving thread, by `clock_`:
  int64_t deadline_ms_ = 0;  // 0: none
  int64_t last_asked_ms_ = 0;
  // Set once, by the first that fails, and owned. No lock: a step would pay for it that never
  // fails.
  std::atomic<const Status*> first_error_{nullptr};
  // Made for the first listener, and owned, for the same reason.
  std::atomic<StepListeners*> listeners_{nullptr};
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_STEP_CONTEXT_H_
