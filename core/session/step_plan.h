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
  // By partition, as in the PartitionedGraph. A part of this task has either a plan or a program;
  // the other one is null. For parts of other tasks both are null.
  std::vector<std::unique_ptr<Plan>> parts;
  std::vector<DynamicProgram*> programs;  // for feeds of any shape; the executable owns them
  // The only part of the step, if it never waits. It runs directly on the caller's thread. Else
  // null.
  Plan* direct = nullptr;
  int64_t num_instructions = 0;  // of all parts

  // True if a device of this task runs the part.
  bool HasPart(size_t part) const { return parts[part] != nullptr || programs[part] != nullptr; }
};

// The data that all plans of a step share. REQUIRES: they outlive the step.
struct StepSite {
  const DeviceSet& devices;
  const std::vector<Device*>& own_devices;  // see ExecutableContext
  const PartitionedGraph& partitions;
  const SessionSettings& settings;
};

// Runs one step, or the parts of this task: fetches of other tasks do not change. Tensors from and
// to other tasks go through options.other_tasks. After an error `fetches` are unspecified, and the
// plan stays usable. Thread-safe.
Status ExecuteStep(const StepPlan& plan, const StepSite& site, absl::Span<const Tensor> feeds,
                   absl::Span<Tensor> fetches, const RunOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_STEP_PLAN_H_
