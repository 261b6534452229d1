// Turns for building the values of a map, so that no value is built by several threads at once.
#ifndef MILLSTREAM_FRAMEWORK_BUILD_TURNS_H_
#define MILLSTREAM_FRAMEWORK_BUILD_TURNS_H_

#include <algorithm>
#include <cstdint>
#include <thread>
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
// wait for code that may want such a turn itself: it lends its turn meanwhile. It may take turns
// of maps that come later in an order: here, the compilation of a step may take those of its
// kernels.
template <typename Key>
class BuildTurns {
 public:
  // On the stack of the thread that builds.
  class Turn {
   public:
    // Waits while another turn has this key. REQUIRES: `key` outlives the turn, and this thread has
    // no turn for it, unless it is lent.
    Turn(BuildTurns* turns, const Key& key) : Turn(turns, key, [] { return absl::OkStatus(); }) {}
    // The same. Meanwhile it calls go_on(), a Status, regularly and without a lock, so go_on() may
    // run any code. An error of it ends the wait: this turn has ended then.
    template <typename GoOn>
    Turn(BuildTurns* turns, const Key& key, const GoOn& go_on) : turns_(*turns), key_(key) {
      while (status_.ok() && !turns_.Take(this, &key_, SteadyNow() + kBetweenCalls)) {
        status_ = go_on();
      }
      has_it_ = status_.ok();
    }
    ~Turn() { End(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    // The error of go_on() that ended the wait; else OK.
    const Status& status() const { return status_; }
    // Lets another thread have the turn. Does nothing if it has ended already.
    void End() {
      if (has_it_) turns_.Return(this);
      has_it_ = false;
    }
    // Calls fn() and returns its result. Meanwhile this thread may take a turn for the same key,
    // and so may a thread that fn() waits for: one that waits for a turn takes it if the call lasts
    // longer than it waits between two calls of its go_on(). Then both build the value.
    template <typename Function>
    auto Lend(const Function& fn) {
      const Loan loan(&turns_, this);
      return fn();
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

  // A turn that a thread has.
  struct Taken {
    const Turn* turn = nullptr;
    const Key* key = nullptr;  // the turn's
    // While the turn is lent: the number of the loan, from 1 on, and the thread that has the turn.
    int64_t loan = 0;
    std::thread::id lender;
  };

  // On the stack of the thread that lends.
  class Loan {
   public:
    Loan(BuildTurns* turns, const Turn* turn) : turns_(*turns), turn_(turn) {
      turns_.SetLent(turn_, true);
    }
    ~Loan() { turns_.SetLent(turn_, false); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

   private:
    BuildTurns& turns_;
    const Turn* const turn_;
  };

  typename std::vector<Taken>::iterator Find(const Turn* turn)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::find_if(taken_.begin(), taken_.end(),
                        [turn](const Taken& taken) { return taken.turn == turn; });
  }
  // Does nothing for a turn that has ended.
  void SetLent(const Turn* turn, bool is_lent) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = Find(turn);
    if (found == taken_.end()) return;
    found->loan = is_lent ? ++num_loans_ : 0;
    found->lender = std::this_thread::get_id();
  }

  // Whether another turn keeps this thread from the key. One that is lent does not if it is this
  // thread's own, or if the loan is one of the first `old_loans`.
  bool IsTaken(const Key& key, int64_t old_loans) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::any_of(taken_.begin(), taken_.end(), [&](const Taken& taken) {
      if (!(*taken.key == key)) return false;
      if (taken.loan == 0) return true;
      return taken.lender != std::this_thread::get_id() && taken.loan > old_loans;
    });
  }
  // False: another turn had the key until `deadline`. A loan that began before this call and is not
  // over at the deadline may last: what it is for may wait for this thread.
  bool Take(const Turn* turn, const Key* key, absl::Time deadline) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const int64_t old_loans = num_loans_;
    while (IsTaken(*key, 0)) {
      if (ended_.WaitUntil(&mutex_, deadline)) continue;
      if (IsTaken(*key, old_loans)) return false;
      break;
    }
    Taken& taken = taken_.emplace_back();
    taken.turn = turn;
    taken.key = key;
    return true;
  }
  void Return(const Turn* turn) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    taken_.erase(Find(turn));
    ended_.SignalAll();
  }

  absl::Mutex mutex_;
  SteadyCondVar ended_;
  std::vector<Taken> taken_ ABSL_GUARDED_BY(mutex_);
  int64_t num_loans_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_BUILD_TURNS_H_
