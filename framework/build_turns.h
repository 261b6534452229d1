// Turns for building the values of a map, so that no value is built by several threads at once.
#ifndef MILLSTREAM_FRAMEWORK_BUILD_TURNS_H_
#define MILLSTREAM_FRAMEWORK_BUILD_TURNS_H_

#include <algorithm>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "framework/status.h"
#include "framework/steady_time.h"

namespace millstream {

// The keys whose values threads are building. A thread that does not find a value takes the turn
// for its key and looks again, because another thread may have built the value meanwhile. If there
// still is none, the thread builds it. No lock is held over the building. Different keys do not
// wait for each other. Thread-safe. Must outlive its turns.
//
// A thread that waits for a turn counts on the thread that has it. So a builder must not run or
// wait for code that may want such a turn itself: it ends its turn before that. It may take turns
// of maps that come later in an order: here, the compilation of a step may take those of its
// kernels.
template <typename Key>
class BuildTurns {
 public:
  // On the stack of the thread that builds.
  class Turn {
   public:
    // Waits while another turn has this key. REQUIRES: `key` outlives the turn, and this thread has
    // no turn for it.
    Turn(BuildTurns* turns, const Key& key) : turns_(*turns), key_(key) {
      while (!turns_.Take(&key_, absl::InfiniteFuture())) continue;
    }
    // The same. Meanwhile it calls go_on(), a Status, regularly and without a lock, so go_on() may
    // run any code. An error of it ends the wait: this turn has ended then.
    template <typename GoOn>
    Turn(BuildTurns* turns, const Key& key, const GoOn& go_on) : turns_(*turns), key_(key) {
      while (status_.ok() && !turns_.Take(&key_, SteadyNow() + kBetweenCalls)) status_ = go_on();
      has_it_ = status_.ok();
    }
    ~Turn() { End(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    // The error of go_on() that ended the wait; else OK.
    const Status& status() const { return status_; }
    // Lets another thread have the turn. Does nothing if it has ended already.
    void End() {
      if (has_it_) turns_.Return(&key_);
      has_it_ = false;
    }

   private:
    BuildTurns& turns_;
    const Key& key_;
    Status status_;
    bool has_it_ = true;
  };

  BuildTurns() = default;
  BuildTurns(const BuildTurns&) = delete;
  BuildTurns& operator=(const BuildTurns&) = delete;

 private:
  // From one call of go_on() to the next.
  static constexpr absl::Duration kBetweenCalls = absl::Milliseconds(50);

  bool IsTaken(const Key& key) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::any_of(taken_.begin(), taken_.end(),
                       [&key](const Key* taken) { return *taken == key; });
  }
  // False: another turn had the key until `deadline`.
  bool Take(const Key* key, absl::Time deadline) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    while (IsTaken(*key)) {
      if (!ended_.WaitUntil(&mutex_, deadline)) return false;
    }
    taken_.push_back(key);
    return true;
  }
  void Return(const Key* key) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    taken_.erase(std::find(taken_.begin(), taken_.end(), key));
    ended_.SignalAll();
  }

  absl::Mutex mutex_;
  SteadyCondVar ended_;
  std::vector<const Key*> taken_ ABSL_GUARDED_BY(mutex_);  // of the turns, which own them
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_BUILD_TURNS_H_
