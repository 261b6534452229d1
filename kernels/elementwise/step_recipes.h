// What steps of a fused program are as arithmetic on vectors, for those that are short enough for
// machine code to be made of them (kernels/codegen).
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_STEP_RECIPES_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_STEP_RECIPES_H_

#include <string_view>

#include "kernels/codegen/vector_program.h"

namespace millstream::kernels {

// Appends the op's instructions and returns its result, which has the bits of the op's loop
// (float_loops.h) for the same operands. An op of one operand is given it twice.
using StepRecipe = VectorProgram::Value (*)(VectorProgram& p, VectorProgram::Value x,
                                            VectorProgram::Value y);

// Null when the op has none. Valid for ever.
StepRecipe FindStepRecipe(std::string_view op);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_STEP_RECIPES_H_
