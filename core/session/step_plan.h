// A step compiled for one set of feed shapes: for each partition a plan or a dynamic program.
#ifndef MILLSTREAM_CORE_SESSION_STEP_PLAN_H_
#define MILLSTREAM_CORE_SESSION_STEP_PLAN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/device/device.h"
#include "core/dynamic/program.h"
#include "core/partition/partition.h"
#include "core/plan/plan.h"
#include "core/step/run_options.h"
#include "core/step/session_settings.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

struct StepPlan {
  std::vector<Shape> feed_shapes;
  // By partition, as in the PartitionedGraph. Each part of this task has one of the two, the other
  // is null. Parts of other tasks have neither.
  std::vector<std::unique_ptr<Plan>> parts;
  std::vector<DynamicProgram*> programs;  // for feeds of any shape; the executable's own
  // The only part, when nothing in it waits: it runs on the caller's thread at once. Else null.
  Plan* direct = nullptr;
  int64_t num_instructions = 0;  // of all parts

  // A device of this task runs it.
  bool HasPart(size_t part) const { return parts[part] != nullptr || programs[part] != nullptr; }
};

// Where and how the parts of a step run, whatever its plan. All must outlive the step.
struct StepSite {
  const DeviceSet& devices;
  const std::vector<Device*>& own_devices;  // see ExecutableContext
  const PartitionedGraph& partitions;
  const SessionSettings& settings;
};

// One step, or this task's share of it: fetches that other tasks have stay as they are. Tensors of
// other tasks come and go through options.other_tasks. Thread-safe; after an error `fetches` are
// unspecified, and the plan stays usable.
Status ExecuteStep(const StepPlan& plan, const StepSite& site, absl::Span<const Tensor> feeds,
                   absl::Span<Tensor> fetches, const RunOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_STEP_PLAN_H_
