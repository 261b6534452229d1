// Compiles a pruned graph to a plan.
#ifndef MILLSTREAM_CORE_PLAN_PLAN_COMPILER_H_
#define MILLSTREAM_CORE_PLAN_PLAN_COMPILER_H_

#include <memory>
#include <string>
#include <vector>

#include "core/device/kernel_instance.h"
#include "core/graph/plan_facts.h"
#include "core/graph/prune.h"
#include "core/graph/step_signature.h"
#include "core/plan/inner_plans.h"
#include "core/plan/plan.h"
#include "core/step/run_options.h"
#include "core/step/session_settings.h"
#include "framework/status.h"

namespace millstream {

class FoldedValues;

struct PlanRequest {
  const PrunedGraph* graph = nullptr;
  const StepSignature* signature = nullptr;
  // Null: the plan serves feeds of any shape, and its kernels find shapes as they run.
  const std::vector<Shape>* feed_shapes = nullptr;
  // In place of feed_shapes, of an InnerGraph: what is known of the feeds. Else null.
  const std::vector<OutputFacts>* feed_facts = nullptr;
  int num_carried = 0;                            // see Plan
  const PlanFacts::Received* received = nullptr;  // null: nothing is received
  const InnerNodes* inner = nullptr;  // loops and conditionals of the graph; null: there are none
  KernelCache* kernels = nullptr;
  // Of the device that computes constants; null: that of `kernels`.
  KernelCache* host_kernels = nullptr;
  DeviceMemory* memory = nullptr;  // of the device that runs the plan; null: it uses host memory
  const SessionSettings* settings = nullptr;
  FoldedValues* folded = nullptr;   // of all plans of the part; null: of this one alone
  const RunOptions* run = nullptr;  // of the step that waits for the plan; null: none does
};

// Compiles a plan. INVALID_ARGUMENT, UNIMPLEMENTED and other errors name the node: shapes that do
// not fit, no kernel, a handle that contradicts its variable. CANCELLED and DEADLINE_EXCEEDED if
// the step that waits for the plan must stop while a constant is computed. Thread-safe.
StatusOr<std::unique_ptr<Plan>> CompilePlan(const PlanRequest& request);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_PLAN_COMPILER_H_
