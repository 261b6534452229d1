// Runs of calls of a fused plan that become one: machine code that goes over a tile once, and keeps
// in registers what one call passes to the next.
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_COMPILED_CALLS_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_COMPILED_CALLS_H_

#include <vector>

#include "kernels/codegen/vector_code.h"
#include "kernels/elementwise/fused_plan.h"
#include "kernels/elementwise/step_recipes.h"

namespace millstream::kernels {

// What the compiler must know of a plan besides.
struct CallsToCompile {
  std::vector<StepRecipe> recipes;  // of each of plan->calls; null: it stays as it is
  std::vector<bool> runs;           // of each input: along a tile; else it is one element
};

// Replaces such runs in plan->calls and keeps their code in plan->code. Returns, of each call that
// was there, whether it became part of one; of none when no code can be made.
std::vector<bool> CompileCalls(const CallsToCompile& calls, VectorSet set, FusedPlan* plan);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_COMPILED_CALLS_H_
