// Orders the nodes of a step that runs on several devices so that what crosses waits briefly for
// its readers, and memory with it.
// (TensorFlow: "Large-Scale Machine Learning on Heterogeneous Distributed Systems", 2015, §5.2,
// starts Receives as late as possible. Here a Receive stands right before the first that reads it,
// so it is the readers that are moved.)
#ifndef MILLSTREAM_CORE_PARTITION_LATE_ORDER_H_
#define MILLSTREAM_CORE_PARTITION_LATE_ORDER_H_

#include <vector>

#include "core/graph/prune.h"
#include "core/graph/step_signature.h"
#include "core/placement/step_work.h"

namespace millstream {

// The numbers of the nodes in the order in which they should run, empty when it is the one that
// they have. Each node comes right before the first that needs it; nodes with state, and those that
// nobody in the step reads, stay in the order among each other that they have, so that results are
// the same bits. Only where memory is gained: no device needs more, and all together a tenth less,
// by the sizes in `work`. `devices`: by node. REQUIRES: there is no control flow.
std::vector<int> LateOrder(const PrunedGraph& pruned, const std::vector<int>& devices,
                           const StepSignature& signature, const StepWork& work);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PARTITION_LATE_ORDER_H_
