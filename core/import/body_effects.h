// What of a function's body must have run when a call of it ends.
#ifndef MILLSTREAM_CORE_IMPORT_BODY_EFFECTS_H_
#define MILLSTREAM_CORE_IMPORT_BODY_EFFECTS_H_

#include <vector>

#include "core/import/import_plan.h"

namespace millstream {

// The numbers of nodes that run in every call: the stateful ones of the body that are in no branch
// and in no loop of it, and for those that are in one, the Merges and Exits that end branches and
// loops. What waited for a node of a branch would not run where the branch does not; nothing
// outside of a loop can wait for a node of it. `first`: the body's nodes are those from there on.
// REQUIRES: they have their inputs.
std::vector<int> BodyEffects(const ImportPlan& plan, int first);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_BODY_EFFECTS_H_
