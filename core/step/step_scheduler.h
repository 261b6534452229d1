// Runs the parts of a step (one a partition) on the caller's thread, and if the session allows more
// than one thread, also on threads of the worker pool.
//
// A part is an actor: at most one thread at a time advances it, so its data needs no lock. Other
// events (an asynchronous kernel ends, a tensor arrives) are put into the part's thread-safe inbox,
// and the part is woken.
//
// A step does not need threads of the pool: the driver also runs the work that none of them took.
// So a step does not wait for the steps of other sessions.
#ifndef MILLSTREAM_CORE_STEP_STEP_SCHEDULER_H_
#define MILLSTREAM_CORE_STEP_STEP_SCHEDULER_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/step/step_context.h"
#include "framework/status.h"
#include "framework/steady_time.h"
#include "framework/tensor.h"

namespace millstream {

class Node;

// The part of a step on one partition.
class StepPart {
 public:
  virtual ~StepPart() = default;
  // Prepares for one step. `feeds` are those of the part, in its order. They are borrowed until the
  // part is destroyed. RESOURCE_EXHAUSTED if memory is short.
  virtual Status Begin(StepContext* step, absl::Span<const Tensor> feeds) = 0;
  // Runs all ready work. Returns true if the part has finished, false if the rest waits. Does not
  // block. Passes errors to StepContext::Fail. If the step is stopping, the part starts no further
  // kernels, and finishes after its asynchronous kernels have ended.
  virtual bool Advance() = 0;
  // Fills `fetches`, in the part's order. REQUIRES: the part has finished without error.
  virtual Status Fetch(absl::Span<Tensor> fetches) = 0;
  // Describes some waiting nodes, for the message about a stuck step: "node 'a' (op Add), made at
  // train.py:12, on /job:.../device:CPU:1 waits for b:0".
  virtual std::vector<std::string> WaitsFor() const = 0;
  // Describes the node that the part runs at the moment: "node 'a' (op Add), made at train.py:12,
  // on DEVICE"; empty if there is none. Any thread may call it during the step.
  virtual std::string RunsNow() const = 0;

 private:
  friend class StepScheduler;
  enum class State : uint8_t { kWaiting, kQueued, kRunning, kRunningAndWoken, kFinished };
  State state_ = State::kWaiting;  // guarded by the scheduler's lock
};

// An asynchronous kernel that a part has started.
struct OutsideWork {
  const Node* node = nullptr;  // null: StepPart::WaitsFor describes the work
  const StepPart* part = nullptr;
  absl::string_view device_name;
  std::string waits_for;  // "an element of queue 'q'"; empty: not known
};

// The INTERNAL error of a step that cannot continue, with at most a dozen lines of `waits`.
Status StuckStepError(const std::vector<std::string>& waits);

// The warning about a step that must end because of `cause` and waits for `work`, in at most a
// dozen lines.
std::string LateStepWarning(absl::string_view cause, const std::vector<std::string>& work);

// Lives for one step. Thread-safe, except for Drive.
class StepScheduler {
 public:
  // `threads` is the number of threads that may work at the same time, including the caller's. If a
  // stopping step waits longer than `patience` for kernels, a warning names them.
  StepScheduler(StepContext* step, int threads, absl::Duration patience = absl::Seconds(10))
      : step_(*step), threads_(threads), patience_(patience) {}
  StepScheduler(const StepScheduler&) = delete;
  StepScheduler& operator=(const StepScheduler&) = delete;

  // Advances the parts until all have finished, with the caller's thread as the driver. Returns the
  // step's first error. If a part waits, nothing runs and no outside work is left, the step fails
  // with StuckStepError.
  Status Drive(const std::vector<StepPart*>& parts) ABSL_LOCKS_EXCLUDED(mutex_);

  // Wakes a part after an event for it. Any thread may call it. Cheap if the part is awake already.
  void Wake(StepPart* part) ABSL_LOCKS_EXCLUDED(mutex_);

  // StartOutside and FinishOutside count work that ends without help from this step's parts, such
  // as a kernel on another thread. While there is some, the step is not stuck. A tensor that
  // another part sends is not such work. FinishOutside also wakes `part`, as its last action,
  // because the step could end between separate calls; null: the part is awake already. `work` is
  // for the message if the step exceeds its time limit.
  void StartOutside(const OutsideWork& work = OutsideWork()) ABSL_LOCKS_EXCLUDED(mutex_);
  void FinishOutside(StepPart* part, const Node* node = nullptr) ABSL_LOCKS_EXCLUDED(mutex_);

  // Records the work of other threads and devices for the text of Drive's error, when the step
  // exceeds its time limit or the session is closed. Only the driving thread may call it, also from
  // inside a part.
  void NoteWork() ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the warning about a step that must end and has not; empty if it was returned before.
  // Any thread may call it while Drive runs.
  std::string TakeWarning() ABSL_LOCKS_EXCLUDED(mutex_);

  // Runs work(argument) on a thread of the worker pool, or on the driver's thread when it is idle.
  // Returns false if the step has only the caller's thread: then the caller must run it. REQUIRES:
  // the work ends without help from the step.
  bool RunElsewhere(void (*work)(void* argument), void* argument) ABSL_LOCKS_EXCLUDED(mutex_);
  int threads() const { return threads_; }
  // The number of parts of the step.
  size_t num_parts() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return parts_.size();
  }

 private:
  struct Task {
    void (*work)(void* argument);
    void* argument;
  };
  static void Help(void* scheduler);
  void CallHelper() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool RunOne(bool is_driver) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Enqueue(StepPart* part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeLocked(StepPart* part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AdvanceOne(bool is_driver) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsStuck() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status WithWork(const Status& error) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::string> Waits() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::string> WorkBut(const StepPart* silent) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status StuckError() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndEarly(const Status& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string TakeWarningLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WarnIfLate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  StepContext& step_;
  const int threads_;
  const absl::Duration patience_;
  mutable absl::Mutex mutex_;
  SteadyCondVar changed_;
  std::vector<StepPart*> parts_ ABSL_GUARDED_BY(mutex_);
  std::deque<StepPart*> ready_ ABSL_GUARDED_BY(mutex_);
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);  // of RunElsewhere, not begun
  int finished_ ABSL_GUARDED_BY(mutex_) = 0;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;  // parts that a thread advances
  int running_tasks_ ABSL_GUARDED_BY(mutex_) = 0;
  int outside_ ABSL_GUARDED_BY(mutex_) = 0;                        // see StartOutside
  std::vector<OutsideWork> outside_work_ ABSL_GUARDED_BY(mutex_);  // of those, the ones with a node
  const StepPart* driven_ ABSL_GUARDED_BY(mutex_) = nullptr;    // the part that the driver advances
  std::vector<std::string> late_work_ ABSL_GUARDED_BY(mutex_);  // of NoteWork
  int helpers_ ABSL_GUARDED_BY(mutex_) = 0;  // pool threads that use this object, or may
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_noted_work_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_warned_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time warn_at_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_STEP_SCHEDULER_H_
