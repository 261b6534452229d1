// Who is inside a session, so that it is closed and freed when nobody is.
#ifndef MILLSTREAM_CORE_SESSION_SESSION_GATE_H_
#define MILLSTREAM_CORE_SESSION_SESSION_GATE_H_

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "framework/status.h"

namespace millstream {

// Every step passes it; passing costs two atomic operations and no lock. Thread-safe.
class SessionGate {
 public:
  // `release` frees what the session holds. It runs once: when the session was closed and no step
  // runs, on the thread that closes or on that of the last step.
  explicit SessionGate(std::function<void()> release) : release_(std::move(release)) {}
  SessionGate(const SessionGate&) = delete;
  SessionGate& operator=(const SessionGate&) = delete;

  // Says that this thread works for a step of the session, until the object goes. For the threads
  // of a pool: what they call may close the session. On the stack only, innermost first.
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

  // A step's stay, on the stack of the thread that runs it.
  class Pass {
   public:
    explicit Pass(SessionGate* gate) : gate_(gate), status_(gate->Enter()), inside_(gate) {}
    // Touches neither gate nor session once others may free them.
    ~Pass() {
      if (status_.ok()) gate_->Leave();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    // FAILED_PRECONDITION when the session is closed, or belongs to the process that this one was
    // forked from: then there is no step.
    const Status& status() const { return status_; }

   private:
    SessionGate* const gate_;
    const Status status_;
    const Inside inside_;
  };

  // Refuses further steps and waits until those that run have left and `release` has run. Called
  // from inside a step it waits for nothing: the last step that leaves releases. In a forked child
  // it does nothing, since nobody there ends the parent's steps.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_) { Close(absl::InfiniteDuration(), nullptr); }
  // The same; once it has waited for `patience` it calls `say_so`, and waits on.
  void Close(absl::Duration patience, const std::function<void()>& say_so)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Refuses further steps and waits for none: the last that runs releases, or this call.
  void Shut() ABSL_LOCKS_EXCLUDED(mutex_);
  // Closes, then calls `destroy`, which may delete the gate: from inside a step after the last one
  // has left, in a forked child never. The last call that its owner may make.
  void Free(std::function<void()> destroy) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether it was closed, the last step has left and `release` has run.
  bool HasReleased() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether this thread works for a step of the session.
  bool IsInside() const;

 private:
  // word_ is kClosed, or not, plus kStep for each step.
  static constexpr int64_t kClosed = 1;
  static constexpr int64_t kStep = 2;

  Status Enter() ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave() ABSL_LOCKS_EXCLUDED(mutex_);
  void LeaveClosed() ABSL_LOCKS_EXCLUDED(mutex_);
  void ReleaseOnce() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsEmpty() const { return word_.load(std::memory_order_acquire) < kStep; }

  std::atomic<int64_t> word_{0};
  absl::Mutex mutex_;
  std::function<void()> release_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> destroy_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_SESSION_GATE_H_
