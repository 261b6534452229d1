// Computes the costs of nodes and transfers from the trace of a step.
#ifndef MILLSTREAM_CORE_SESSION_MEASURED_STEP_H_
#define MILLSTREAM_CORE_SESSION_MEASURED_STEP_H_

#include "core/graph/prune.h"
#include "core/partition/partition.h"
#include "core/placement/cost_model.h"
#include "core/placement/step_work.h"
#include "core/step/step_trace.h"

namespace millstream {

// Adds the times of the nodes of `pruned`, on the devices of the parts that have them, and the
// times of copies between devices to `model`. A node that is missing in the trace counts as zero:
// it only renames memory, or a fused operation did its work.
// REQUIRES: the trace ends with one part for each of `partitions`, in their order.
void MeasureStep(const StepTrace& trace, const PrunedGraph& pruned, const StepWork& work,
                 const PartitionedGraph& partitions, CostModel* model);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_MEASURED_STEP_H_
