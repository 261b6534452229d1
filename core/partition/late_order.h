// Orders the nodes of a step on several devices so that received tensors occupy memory for a short
// time.
// (TensorFlow: "Large-Scale Machine Learning on Heterogeneous Distributed Systems", 2015, §5.2,
// starts Receives as late as possible. Here a Receive always stands directly before its first
// reader, so this function moves the readers.)
#ifndef MILLSTREAM_CORE_PARTITION_LATE_ORDER_H_
#define MILLSTREAM_CORE_PARTITION_LATE_ORDER_H_

#include <vector>

#include "core/graph/prune.h"
#include "core/graph/step_signature.h"
#include "core/placement/step_work.h"

namespace millstream {

// Returns the node numbers of `pruned` in their new order; empty if the present order stays.
//
// In the new order, each node stands directly before the first node that needs it. Stateful nodes
// and nodes without readers keep their relative order, so that results have the same bits. The
// present order stays unless the new one saves memory: by the sizes in `work`, no device may need
// more, and all devices together must need at least a tenth less. `devices` has the device of each
// node. REQUIRES: `pruned` has no control flow. Thread-safe.
std::vector<int> LateOrder(const PrunedGraph& pruned, const std::vector<int>& devices,
                           const StepSignature& signature, const StepWork& work);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PARTITION_LATE_ORDER_H_
