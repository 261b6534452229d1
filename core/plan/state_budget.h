// How much memory a session keeps between steps.
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

// Plans keep the states of their steps for the next one (Plan::ReturnState). The plans of one
// session share a budget: four states of the largest plan, and 64 MiB. Before a state is made
// that goes beyond it, plans give up what they keep, the least recently used first. The plans with
// the smallest states, as many as together keep at most 16 MiB, are spared: large steps do not take
// from them. A step that finds its state kept takes no lock. Thread-safe; must outlive its plans.
class StateBudget {
 public:
  StateBudget() = default;
  StateBudget(const StateBudget&) = delete;
  StateBudget& operator=(const StateBudget&) = delete;

  // Counts the plan's states from now on (Plan::state_bytes).
  void Add(Plan* plan) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(Plan* plan) ABSL_LOCKS_EXCLUDED(mutex_);
  // Before a state is made.
  void Reserve(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // After one was deleted.
  void Free(int64_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  // Steps that run may take more than the budget; but for small ones, their states are not kept
  // then.
  bool MayKeep(int64_t state_bytes) const { return !IsExceeded() || IsSpared(state_bytes); }
  // After one was kept.
  void NoteKept() {
    if (none_kept_.load()) none_kept_.store(false);
  }
  // Moves on whenever a state is made: what was used at a later time was used more recently.
  uint64_t time() const { return time_.load(std::memory_order_relaxed); }
  // Of all states, those that are in use included.
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // All plans give up what they keep.
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
  // Counts that many plans of this size more.
  void Count(int64_t state_bytes, int plans) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetLimits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropLeastRecentlyUsed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<int64_t> bytes_{0};
  std::atomic<int64_t> limit_{0};
  std::atomic<int64_t> spared_{0};  // plans whose states take no more are
  std::atomic<uint64_t> time_{0};
  // No plan that is not spared keeps a state: there is nothing to give up.
  std::atomic<bool> none_kept_{false};
  absl::Mutex mutex_;
  absl::flat_hash_set<Plan*> plans_ ABSL_GUARDED_BY(mutex_);
  std::multiset<int64_t> sizes_ ABSL_GUARDED_BY(mutex_);  // of a state of each
  // What the plans of each small size keep at most.
  std::array<int64_t, kSmallSizes> small_bytes_ ABSL_GUARDED_BY(mutex_) = {};
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_STATE_BUDGET_H_
