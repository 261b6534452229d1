// A step compiled for one set of feed shapes: for each partition a plan or a dynamic program.
#ifndef MILLSTREAM_CORE_SESSION_STEP_PLAN_H_
#define MILLSTREAM_CORE_SESSION_STEP_PLAN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/dynamic/program.h"
#include "core/partition/partition.h"
#include "core/plan/plan.h"
#include "core/session/session.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

class RunningSteps;

struct StepPlan {
  std::vector<Shape> feed_shapes;
  // By partition, as in the PartitionedGraph. Each has one of the two, the other is null.
  std::vector<std::unique_ptr<Plan>> parts;
  std::vector<DynamicProgram*> programs;  // for feeds of any shape; the executable's own
  // The only part, when nothing in it waits: it runs on the caller's thread at once. Else null.
  Plan* direct = nullptr;
  int64_t num_instructions = 0;  // of all parts
};

// How a step is run besides its plan.
struct StepSettings {
  const DeviceList* devices = nullptr;
  const PartitionedGraph* partitions = nullptr;
  ResourceManager* resources = nullptr;
  int intra_op_threads = 1;  // inside one kernel
  int inter_op_threads = 1;  // parts that may run at the same time, the caller's thread included
  bool deterministic = false;
  bool needs_permit = true;                // to use more than one thread in a kernel
  int64_t late_kernel_warning_ms = 10000;  // see SessionOptions
  RunningSteps* running = nullptr;         // of the session; null: nobody asks what steps are at
};

// One step. Thread-safe; after an error `fetches` are unspecified, and the plan stays usable.
Status ExecuteStep(const StepPlan& plan, const StepSettings& settings,
                   absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                   const RunOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_STEP_PLAN_H_
