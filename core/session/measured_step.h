// Computes the costs of nodes and transfers from the trace of a step.
#ifndef MILLSTREAM_CORE_SESSION_MEASURED_STEP_H_
#define MILLSTREAM_CORE_SESSION_MEASURED_STEP_H_

#include "core/device/device_set.h"
#include "core/graph/prune.h"
#include "core/partition/partition.h"
#include "core/placement/cost_model.h"
#include "core/placement/step_work.h"
#include "core/step/step_trace.h"

namespace millstream {

// Adds the times of the nodes of `pruned`, on the devices of the parts that have them, and the
// times of copies between devices to `model`. The last part of a device in the trace counts; a
// device without one gets no costs. A node that is missing in its part counts as zero: it only
// renames memory, or a fused operation did its work.
//
// A transfer to another task took the time from its Send, or from the last one of those that were
// on their way with it, to the end of its Receive, and is as exact as the clocks. It counts only if
// the receiver had nothing to do but to wait for it, and with the bytes of all that came meanwhile.
void MeasureStep(const StepTrace& trace, const PrunedGraph& pruned, const StepWork& work,
                 const PartitionedGraph& partitions, const DeviceSet& devices, CostModel* model);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_MEASURED_STEP_H_
