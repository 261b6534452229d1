// Turns for building the values of a map, so that no value is built by several threads at once.
#ifndef MILLSTREAM_FRAMEWORK_BUILD_TURNS_H_
#define MILLSTREAM_FRAMEWORK_BUILD_TURNS_H_

#include <algorithm>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
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
    Turn(BuildTurns* turns, const Key& key) : turns_(*turns), key_(key) { turns_.Take(&key_); }
    ~Turn() { End(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    // Lets another thread have the turn. Does nothing if it has ended already.
    void End() {
      if (has_it_) turns_.Return(&key_);
      has_it_ = false;
    }

   private:
    BuildTurns& turns_;
    const Key& key_;
    bool has_it_ = true;
  };

  BuildTurns() = default;
  BuildTurns(const BuildTurns&) = delete;
  BuildTurns& operator=(const BuildTurns&) = delete;

 private:
  bool IsTaken(const Key& key) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::any_of(taken_.begin(), taken_.end(),
                       [&key](const Key* taken) { return *taken == key; });
  }
  void Take(const Key* key) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    while (IsTaken(*key)) ended_.Wait(&mutex_);
    taken_.push_back(key);
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
