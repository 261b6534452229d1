// The constants that the compilation of a plan computes.
#ifndef MILLSTREAM_CORE_PLAN_PLAN_CONSTANTS_H_
#define MILLSTREAM_CORE_PLAN_PLAN_CONSTANTS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/graph/graph.h"
#include "core/passes/step_ops.h"
#include "core/plan/plan_compiler.h"
#include "core/step/run_options.h"
#include "core/step/step_context.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// Of one compilation, on its thread.
class PlanConstants {
 public:
  // REQUIRES: `request` outlives this object.
  explicit PlanConstants(const PlanRequest& request);

  // Computes the outputs of an operation for these inputs, of at most `max_bytes`. The errors are
  // those of its kernel; CANCELLED or DEADLINE_EXCEEDED if the step that waits for the plan must
  // stop.
  StatusOr<std::vector<Tensor>> Evaluate(const StepOp& op, const std::vector<Tensor>& inputs,
                                         int64_t max_bytes);
  // Returns the value of a constant output: in the memory that all plans of the part share, if it
  // holds for feeds of any shape.
  Tensor Share(const Output& output, const Tensor& value) const;

 private:
  const PlanRequest& request_;
  const RunOptions run_;                 // of the step that waits, without its trace
  StepContext waiting_step_;             // tells whether to go on
  absl::flat_hash_set<Output> lasting_;  // values that hold for feeds of any shape
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_PLAN_CONSTANTS_H_
