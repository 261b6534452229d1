// Counts the steps inside a session, so that the session is freed after the last one has ended.
#ifndef MILLSTREAM_CORE_SESSION_SESSION_GATE_H_
#define MILLSTREAM_CORE_SESSION_SESSION_GATE_H_

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "framework/status.h"
#include "framework/steady_time.h"

namespace millstream {

// Every step enters and leaves the gate, which costs two atomic operations and no lock.
// Thread-safe.
class SessionGate {
 public:
  // `release` frees the state of the session. It runs once, after the gate is closed and the last
  // step has left, on the closing thread or on the thread of the last step.
  explicit SessionGate(std::function<void()> release) : release_(std::move(release)) {}
  SessionGate(const SessionGate&) = delete;
  SessionGate& operator=(const SessionGate&) = delete;

  // While an object lives, its thread counts as inside a step of the session. Threads of a pool
  // need it, because functions that they call may close the session. REQUIRES: objects are on the
  // stack, so that they are destroyed innermost first.
  class Inside {
   public:
    explicit Inside(const SessionGate* gate);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    friend class SessionGate;
    const SessionGate* const gate_;
    const Inside*& innermost_;  // of this thread
    const Inside* const outer_;
  };

  // Enters the gate, and leaves it when destroyed. On the stack of the thread that runs the step.
  class Pass {
   public:
    explicit Pass(SessionGate* gate) : gate_(gate), status_(gate->Enter()), inside_(gate) {}
    // Touches neither gate nor session once others may free them.
    ~Pass() {
      if (status_.ok()) gate_->Leave();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    // FAILED_PRECONDITION if the session is closed or this process is a forked child. Then the step
    // must not run.
    const Status& status() const { return status_; }

   private:
    SessionGate* const gate_;
    const Status status_;
    const Inside inside_;
  };

  // Refuses further steps. Waits until the running steps have left and `release` has run. If it is
  // called from inside a step, it does not wait, and the last step runs `release`. In a forked
  // child it does nothing, because the parent's steps do not run there.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_) { Close(absl::InfiniteDuration(), nullptr); }
  // The same. After a wait of `patience` it calls `say_so` and continues to wait.
  void Close(absl::Duration patience, const std::function<void()>& say_so)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Refuses further steps and does not wait. The last running step runs `release`; if there is
  // none, this call does.
  void Shut() ABSL_LOCKS_EXCLUDED(mutex_);
  // Closes, then calls `destroy`, which may delete the gate. If it is called from inside a step,
  // the last step calls `destroy` after it has left. In a forked child `destroy` is never called.
  // REQUIRES: the owner makes no later call.
  void Free(std::function<void()> destroy) ABSL_LOCKS_EXCLUDED(mutex_);
  // True after `release` has run.
  bool HasReleased() ABSL_LOCKS_EXCLUDED(mutex_);
  // True if this thread is inside a step of the session.
  bool IsInside() const;

 private:
  // word_ is the sum of kClosed, if the gate is closed, and kStep for each step inside.
  static constexpr int64_t kClosed = 1;
  static constexpr int64_t kStep = 2;

  Status Enter() ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave() ABSL_LOCKS_EXCLUDED(mutex_);
  void LeaveClosed() ABSL_LOCKS_EXCLUDED(mutex_);
  void ReleaseOnce() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsEmpty() const { return word_.load(std::memory_order_acquire) < kStep; }

  std::atomic<int64_t> word_{0};
  absl::Mutex mutex_;
  SteadyCondVar emptied_;  // the last step has left a closed gate
  std::function<void()> release_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> destroy_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_SESSION_GATE_H_
