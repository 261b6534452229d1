// Time that goes on evenly whatever is done to the clock of the system, and waits by it. Abseil of
// Debian 12 measures the time limits of its waits by the clock of the system: where that is set
// back by an hour, they last an hour longer.
#ifndef MILLSTREAM_FRAMEWORK_STEADY_TIME_H_
#define MILLSTREAM_FRAMEWORK_STEADY_TIME_H_

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace millstream {

// The clock of the system as it was when this was first called, and evenly on from there
// (CLOCK_MONOTONIC). For time limits and durations in this process; not for dates.
absl::Time SteadyNow();

// A condition variable whose deadlines are of SteadyNow. As with absl::CondVar, a wait may end
// without a cause. Signals cost little while nobody waits. Thread-safe.
class SteadyCondVar {
 public:
  // Releases the mutex, waits until a signal or the deadline, and locks it again. Returns false if
  // the deadline has passed.
  bool WaitUntil(absl::Mutex* mutex, absl::Time deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void Wait(absl::Mutex* mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    WaitUntil(mutex, absl::InfiniteFuture());
  }
  // Waits until the condition, which is called with the mutex, holds or the deadline has passed.
  // Returns whether it holds. REQUIRES: each change that makes it hold is signalled.
  template <typename Condition>
  bool Await(absl::Mutex* mutex, absl::Time deadline, const Condition& condition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    while (!condition()) {  // which names the mutex in other words
      if (!WaitUntil(mutex, deadline)) return condition();
    }
    return true;
  }
  // Wake one or all of those who wait. REQUIRES: what they wait for was changed with the mutex,
  // which may be released meanwhile.
  void Signal() { Wake(1); }
  void SignalAll() { Wake(kAll); }

 private:
  static constexpr int kAll = 1 << 30;

  void Wake(int count) {
    signals_.fetch_add(1);
    if (waiting_.load() != 0) WakeSleepers(count);
  }
  void WakeSleepers(int count);

  std::atomic<uint32_t> signals_{0};
  std::atomic<int> waiting_{0};  // changed with the mutex
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_STEADY_TIME_H_
