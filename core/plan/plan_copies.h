// Where a plan's values are, on a device that has its own memory, and the instructions that copy
// them.
#ifndef MILLSTREAM_CORE_PLAN_PLAN_COPIES_H_
#define MILLSTREAM_CORE_PLAN_PLAN_COPIES_H_

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/graph/graph.h"
#include "core/plan/plan.h"
#include "framework/status.h"

namespace millstream {

// A new root of the plan: its index.
int NewRoot(const Output& source, RootKind kind, Plan* plan);
// The root's value under its own shape.
ValueRef RefTo(const Plan& plan, int root);
// Adds an instruction that the executor does itself. The Call's state is set once instructions no
// longer move.
void AddExecutorCall(Instruction instruction, Plan* plan);

// For one plan while it is compiled; adds to its end.
class PlanCopies {
 public:
  explicit PlanCopies(Plan* plan) : plan_(*plan) {}

  // The value in host memory, and there when it is read; or in the device's.
  StatusOr<ValueRef> ValueIn(bool in_host, const ValueRef& value);
  // The root that has `root`'s value in the other memory, to be there by the end of the step.
  StatusOr<int> CopyInto(bool in_host, int root);

 private:
  Plan& plan_;
  absl::flat_hash_map<int, int> copies_;  // by root
  absl::flat_hash_set<int> in_flight_;    // copied to the host, and not yet waited for
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_PLAN_COPIES_H_
