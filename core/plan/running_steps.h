// The steps of a session that are running. A thread that closes the session and waits for them uses
// it to report the steps that do not end.
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

// A step of several parts is represented by its scheduler. A step of a single plan is represented
// by its StepState, which is added when it is created and stays for later steps, so that such a
// step has no extra cost. A constant that a plan computes is represented by its node. REQUIRES:
// every state, scheduler and node is removed before it is destroyed. Thread-safe. Must outlive the
// plans.
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

  // Returns the texts of warnings about steps that still run although `cause` asked all steps to
  // end. A step of several parts is reported by the first call only. If no running node is known,
  // returns one text without a node.
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
