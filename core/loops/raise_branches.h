// Replaces the conditionals among the nodes of one frame by nodes.
#ifndef MILLSTREAM_CORE_LOOPS_RAISE_BRANCHES_H_
#define MILLSTREAM_CORE_LOOPS_RAISE_BRANCHES_H_

#include <vector>

#include "core/loops/step_items.h"
#include "framework/status.h"

namespace millstream {

// A conditional is what Switches of one predicate and Merges enclose. One becomes a node if all
// that leaves it goes through Merges of both branches, and the limits allow the nodes in it.
// Returns whether one did. Errors are those of building its graphs. REQUIRES: `items` are all nodes
// of a frame without loops.
StatusOr<bool> RaiseBranches(const InnerLimits& limits, std::vector<StepItem>* items);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_LOOPS_RAISE_BRANCHES_H_
