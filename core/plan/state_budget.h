// The limit of the memory that a session keeps between steps.
#ifndef MILLSTREAM_CORE_PLAN_STATE_BUDGET_H_
#define MILLSTREAM_CORE_PLAN_STATE_BUDGET_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"

namespace millstream {

class Plan;

// Plans keep the states of their steps for later steps (Plan::ReturnState). All plans of a session
// share one budget: four states of the largest plan plus 64 MiB. If a new state would exceed it,
// the least recently used plans release their kept states first. The plans with the smallest
// states, as many as keep at most 16 MiB together, are exempt, so that large steps do not slow them
// down. A step that finds a kept state takes no lock. Thread-safe. Must outlive its plans.
class StateBudget {
 public:
  StateBudget() = default;
  StateBudget(const StateBudget&) = delete;
  StateBudget& operator=(const StateBudget&) = delete;

  // Adds a plan, with the size Plan::state_bytes of its states. REQUIRES: it is removed before it
  // is destroyed.
  void Add(Plan* plan) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(Plan* plan) ABSL_LOCKS_EXCLUDED(mutex_);
  // Counts a state that is about to be created. Makes plans release kept states if needed.
  void Reserve(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Counts a state that was deleted.
  void Free(int64_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  // True if a state of this size may be kept: the budget is not exceeded, or the state is exempt.
  // Running steps may exceed the budget.
  bool MayKeep(int64_t state_bytes) const { return !IsExceeded() || IsSpared(state_bytes); }
  // Called after a plan kept a state.
  void NoteKept() {
    if (none_kept_.load()) none_kept_.store(false);
  }
  // A counter that grows with every new state. Plans store it as the time of their last use.
  uint64_t time() const { return time_.load(std::memory_order_relaxed); }
  // The size of all states, including those in use.
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // Makes all plans release their kept states.
  void DropKeptStates() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // States of up to 1, 2, 4 ... bytes.
  static constexpr int kSmallSizes = 23;

  bool IsExceeded() const {
    return bytes_.load(std::memory_order_relaxed) > limit_.load(std::memory_order_relaxed);
  }
  bool IsSpared(int64_t state_bytes) const {
    return state_bytes <= spared_.load(std::memory_order_relaxed);
  }
  // Adds `plans` (perhaps negative) to the number of plans of this size.
  void Count(int64_t state_bytes, int plans) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetLimits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropLeastRecentlyUsed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<int64_t> bytes_{0};
  std::atomic<int64_t> limit_{0};
  std::atomic<int64_t> spared_{0};  // states of at most this size are exempt
  std::atomic<uint64_t> time_{0};
  // Only exempt plans keep states, so nothing can be released.
  std::atomic<bool> none_kept_{false};
  absl::Mutex mutex_;
  absl::flat_hash_set<Plan*> plans_ ABSL_GUARDED_BY(mutex_);
  std::multiset<int64_t> sizes_ ABSL_GUARDED_BY(mutex_);  // of one state of each plan
  // The most bytes that the plans of each small size keep.
  std::array<int64_t, kSmallSizes> small_bytes_ ABSL_GUARDED_BY(mutex_) = {};
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_STATE_BUDGET_H_
