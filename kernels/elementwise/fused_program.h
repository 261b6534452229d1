// What a _FusedElementwise node computes, as read from its attributes.
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_FUSED_PROGRAM_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_FUSED_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/elementwise/float_loops.h"
#include "kernels/elementwise/step_recipes.h"

namespace millstream::kernels {

// Values are numbered: first come the inputs, then what each step gives.
struct FusedStep {
  const FloatLoops* loops;
  StepRecipe recipe;  // null: machine code is not made of it
  uint32_t x;
  uint32_t y;  // x for an op of one operand
};

struct FusedProgram {
  uint32_t num_inputs = 0;
  std::vector<FusedStep> steps;   // each reads values of lower numbers than its own
  std::vector<uint32_t> results;  // the value of each output
  bool compile = false;           // whether machine code may be made of steps

  uint32_t num_values() const { return num_inputs + static_cast<uint32_t>(steps.size()); }
};

// INVALID_ARGUMENT, naming the attribute, for what is no program over the node's inputs and
// outputs.
ms::Status ReadFusedProgram(const ms::KernelInfo& info, FusedProgram* program);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_FUSED_PROGRAM_H_
