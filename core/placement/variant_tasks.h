// Variants and tasks. A variant, such as the list of what a loop keeps for its gradient, is an
// object of one process: no message carries it to another task. Within a task it may go from device
// to device.
#ifndef MILLSTREAM_CORE_PLACEMENT_VARIANT_TASKS_H_
#define MILLSTREAM_CORE_PLACEMENT_VARIANT_TASKS_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/device/device_set.h"
#include "core/graph/graph.h"
#include "core/graph/prune.h"
#include "framework/status.h"

namespace millstream {

bool AreOfOneTask(const DeviceDescription& a, const DeviceDescription& b);

bool HasSeveralTasks(const DeviceSet& devices);

// Calls `visit` for each input of dtype variant with the numbers, in `pruned`, of the node that
// makes it and of the node that reads it.
void ForEachVariant(const PrunedGraph& pruned, absl::FunctionRef<void(int from, int to)> visit);

// INVALID_ARGUMENT, with both nodes, where they are and why, if a variant would go to another task.
// `placed`: the device of each node. `reason`: why node `i` is there; may be empty.
Status CheckVariants(const PrunedGraph& pruned, const DeviceSet& devices,
                     const std::vector<int>& placed, absl::FunctionRef<std::string(int i)> reason);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLACEMENT_VARIANT_TASKS_H_
