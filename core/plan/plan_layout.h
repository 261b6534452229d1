// The last stage of compiling a plan: lifetimes, memory and views.
#ifndef MILLSTREAM_CORE_PLAN_PLAN_LAYOUT_H_
#define MILLSTREAM_CORE_PLAN_PLAN_LAYOUT_H_

#include "core/plan/plan.h"
#include "framework/status.h"

namespace millstream {

// Finds the last reader of each root, specializes kernels, shares buffers in place where kernels
// allow it, assigns places in the slab, numbers slots and views, and sets Call::after. Errors name
// the node. REQUIRES: the roots, instructions (with inputs, outputs and outputs_used), calls and
// fetches of the plan are complete.
Status LayOutPlan(Plan* plan);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_PLAN_LAYOUT_H_
