// What a session's steps are at, for who waits for them to end and runs none of them.
#ifndef MILLSTREAM_CORE_PLAN_RUNNING_STEPS_H_
#define MILLSTREAM_CORE_PLAN_RUNNING_STEPS_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"

namespace millstream {

class Node;
struct StepState;
class StepScheduler;

// A step of several parts is known by its scheduler. One of a single plan must not pay for this: it
// is known by its state, which is announced when it is made and stays for further steps. A constant
// that a plan computes is known by its node. All must be taken back before they go. Thread-safe;
// must outlive the plans.
class RunningSteps {
 public:
  RunningSteps() = default;
  RunningSteps(const RunningSteps&) = delete;
  RunningSteps& operator=(const RunningSteps&) = delete;

  void Add(const StepState* state) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(const StepState* state) ABSL_LOCKS_EXCLUDED(mutex_);
  void Add(StepScheduler* scheduler) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(StepScheduler* scheduler) ABSL_LOCKS_EXCLUDED(mutex_);
  void AddConstant(const Node* node) ABSL_LOCKS_EXCLUDED(mutex_);
  void RemoveConstant(const Node* node) ABSL_LOCKS_EXCLUDED(mutex_);

  // All steps are to end, because of `cause`, and some have not: what to say about it, a text each.
  // Nothing of a step that has been warned of.
  std::vector<std::string> LateWarnings(const std::string& cause) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  absl::flat_hash_set<const StepState*> states_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<StepScheduler*> schedulers_ ABSL_GUARDED_BY(mutex_);
  // Those of which a kernel runs; more than one plan may be compiled at a time, even of one node.
  std::vector<const Node*> constants_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_RUNNING_STEPS_H_
