// Adds the instructions that copy values between host memory and the memory of a device.
#ifndef MILLSTREAM_CORE_PLAN_PLAN_COPIES_H_
#define MILLSTREAM_CORE_PLAN_PLAN_COPIES_H_

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/graph/graph.h"
#include "core/plan/plan.h"
#include "framework/status.h"

namespace millstream {

// Adds a root to the plan; returns its index.
int NewRoot(const Output& source, RootKind kind, Plan* plan);
// The root's value under its own shape.
ValueRef RefTo(const Plan& plan, int root);
// Adds an instruction that the executor runs itself. The state of its Call is set later, after the
// last instruction was added.
void AddExecutorCall(Instruction instruction, Plan* plan);

// Adds copies at the end of a plan that is being compiled. Not thread-safe.
class PlanCopies {
 public:
  explicit PlanCopies(Plan* plan) : plan_(*plan) {}

  // Returns the value in host memory or in device memory. Adds a copy, and for host memory a wait,
  // if the plan does not have it there.
  StatusOr<ValueRef> ValueIn(bool in_host, const ValueRef& value);
  // Returns the root that has `root`'s value in the given memory. Adds a copy if needed, but no
  // wait: the value is complete at the end of the step.
  StatusOr<int> CopyInto(bool in_host, int root);

 private:
  Plan& plan_;
  absl::flat_hash_map<int, int> copies_;  // by root
  absl::flat_hash_set<int> in_flight_;    // copies to the host without a wait so far
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_PLAN_COPIES_H_
