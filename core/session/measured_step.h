// From the trace of a step to the costs of its nodes and transfers.
#ifndef MILLSTREAM_CORE_SESSION_MEASURED_STEP_H_
#define MILLSTREAM_CORE_SESSION_MEASURED_STEP_H_

#include "core/graph/prune.h"
#include "core/partition/partition.h"
#include "core/placement/cost_model.h"
#include "core/placement/step_work.h"
#include "core/step/step_trace.h"

namespace millstream {

// Adds what the nodes of `pruned` took, each on the devices of the parts that have it, and what the
// copies between devices did. A node that the trace does not have took no time: it only names
// memory, or another one that was made of several did its work.
// REQUIRES: the trace ends with one part for each of `partitions`, in their order.
void MeasureStep(const StepTrace& trace, const PrunedGraph& pruned, const StepWork& work,
                 const PartitionedGraph& partitions, CostModel* model);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_MEASURED_STEP_H_
