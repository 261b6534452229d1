// Runs the parts of a step (one a partition) on the caller's thread and, where the session allows
// more than one, on threads of the worker pool.
//
// A part is an actor: at any time at most one thread advances it, so what it owns needs no lock.
// What happens elsewhere (an asynchronous kernel ends, a tensor arrives) is left with the part in
// its own thread-safe inbox, and the part is woken.
//
// Threads of the pool help, but a step never needs one of them: what none of them took the driver
// does itself, so that a step does not wait for those of other sessions.
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
#include "framework/tensor.h"

namespace millstream {

class Node;

// One partition's share of a step.
class StepPart {
 public:
  virtual ~StepPart() = default;
  // Takes what the part needs for one step. `feeds` are the part's own, in its order, and are
  // borrowed until the part is destroyed.
  virtual Status Begin(StepContext* step, absl::Span<const Tensor> feeds) = 0;
  // Runs what is ready, until the part has finished (true) or everything left waits for something
  // (false). Does not block. An error goes to StepContext::Fail; a part of a step that is stopping
  // starts no kernel any more, and finishes once those that run asynchronously have ended.
  virtual bool Advance() = 0;
  // Fills `fetches`, in the part's order. REQUIRES: the part has finished without error.
  virtual Status Fetch(absl::Span<Tensor> fetches) = 0;
  // What waits in the part and for what, for the message about a step that cannot go on: "node 'a'
  // (op Add), made at train.py:12, on /job:.../device:CPU:1 waits for b:0". A few are enough.
  virtual std::vector<std::string> WaitsFor() const = 0;
  // What the thread that advances the part is at: "node 'a' (op Add), made at train.py:12, on
  // DEVICE"; empty: nothing. Any thread, while the step lasts.
  virtual std::string RunsNow() const = 0;

 private:
  friend class StepScheduler;
  enum class State : uint8_t { kWaiting, kQueued, kRunning, kRunningAndWoken, kFinished };
  State state_ = State::kWaiting;  // guarded by the scheduler's lock
};

// Which kernel a part has started that ends by itself.
struct OutsideWork {
  const Node* node = nullptr;  // null: the part says it itself
  const StepPart* part = nullptr;
  absl::string_view device_name;
  std::string waits_for;  // "an element of queue 'q'"; empty: not known
};

// INTERNAL, in a dozen lines at most: the step cannot go on, and what is left waits as `waits`
// says.
Status StuckStepError(const std::vector<std::string>& waits);

// Of a step that is to end because of `cause` and waits for `work`, in a dozen lines at most.
std::string LateStepWarning(absl::string_view cause, const std::vector<std::string>& work);

// Made for one step. Thread-safe but for Drive.
class StepScheduler {
 public:
  // `threads` that may work at the same time, the caller's among them. A step that is to end waits
  // for `patience` before a warning names the kernels that do not heed it; it goes on waiting.
  StepScheduler(StepContext* step, int threads, absl::Duration patience = absl::Seconds(10))
      : step_(*step), threads_(threads), patience_(patience) {}
  StepScheduler(const StepScheduler&) = delete;
  StepScheduler& operator=(const StepScheduler&) = delete;

  // Advances the parts until all have finished; gives the step's first error. The caller's thread
  // is the one that drives. A step in which nothing runs, nothing is outstanding and some part
  // waits fails with StuckStepError.
  Status Drive(const std::vector<StepPart*>& parts) ABSL_LOCKS_EXCLUDED(mutex_);

  // Something that `part` waits for has come. Any thread; cheap when the part is awake already.
  void Wake(StepPart* part) ABSL_LOCKS_EXCLUDED(mutex_);

  // Counts asynchronous work that ends without help from this step's parts (a kernel on another
  // thread), so that a step is not taken for stuck while there is some. A tensor that another part
  // sends is not such work. Finish before Wake would let the step end too soon: FinishOutside wakes
  // the part itself, as the last thing that is done with it. Null: the part is awake already.
  // `work` is what the step is said to be at if its time is over before.
  void StartOutside(const OutsideWork& work = OutsideWork()) ABSL_LOCKS_EXCLUDED(mutex_);
  void FinishOutside(StepPart* part, const Node* node = nullptr) ABSL_LOCKS_EXCLUDED(mutex_);

  // The step's time is over, or the session's: keeps what other threads and devices are at for the
  // text of Drive's error. By the thread that drives, from wherever in a part it is.
  void NoteWork() ABSL_LOCKS_EXCLUDED(mutex_);

  // The step is to end and has not: what it waits for. Empty when that was said before. Any thread,
  // while Drive runs.
  std::string TakeWarning() ABSL_LOCKS_EXCLUDED(mutex_);

  // Runs work(argument) on a thread of the worker pool, or on the driver's once that has nothing
  // else to do. It must end by itself. False when the step has the caller's thread alone: run it
  // yourself.
  bool RunElsewhere(void (*work)(void* argument), void* argument) ABSL_LOCKS_EXCLUDED(mutex_);
  int threads() const { return threads_; }
  // Of the step that is driven.
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
  absl::CondVar changed_;
  std::vector<StepPart*> parts_ ABSL_GUARDED_BY(mutex_);
  std::deque<StepPart*> ready_ ABSL_GUARDED_BY(mutex_);
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);  // of RunElsewhere, not begun
  int finished_ ABSL_GUARDED_BY(mutex_) = 0;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;  // parts that a thread advances
  int running_tasks_ ABSL_GUARDED_BY(mutex_) = 0;
  int outside_ ABSL_GUARDED_BY(mutex_) = 0;                        // see StartOutside
  std::vector<OutsideWork> outside_work_ ABSL_GUARDED_BY(mutex_);  // of those, what has a node
  const StepPart* driven_ ABSL_GUARDED_BY(mutex_) = nullptr;    // what the driver itself advances
  std::vector<std::string> late_work_ ABSL_GUARDED_BY(mutex_);  // of NoteWork
  int helpers_ ABSL_GUARDED_BY(mutex_) = 0;  // pool threads that use this object, or may
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_noted_work_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_warned_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time warn_at_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_STEP_SCHEDULER_H_
