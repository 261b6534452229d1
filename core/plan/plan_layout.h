// The last part of compiling a plan: lifetimes, memory, views.
#ifndef MILLSTREAM_CORE_PLAN_PLAN_LAYOUT_H_
#define MILLSTREAM_CORE_PLAN_PLAN_LAYOUT_H_

#include "core/plan/plan.h"
#include "framework/status.h"

namespace millstream {

// REQUIRES: roots, instructions (inputs, outputs, outputs_used), calls and fetches stand. Finds
// when each root is last read, specializes kernels, shares buffers in place where kernels allow it,
// lays the slab out, numbers slots and views, and says after which call the executor has more to
// do.
Status LayOutPlan(Plan* plan);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_PLAN_LAYOUT_H_
