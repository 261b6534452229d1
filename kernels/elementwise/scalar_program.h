// Programs of elementwise ops on scalars of several types: what _ScalarLoop runs.
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_SCALAR_PROGRAM_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_SCALAR_PROGRAM_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/codegen/scalar_instruction.h"
#include "kernels/elementwise/float_loops.h"

namespace millstream::kernels {

// The place of a value of any of the types, which is in its first bytes.
struct alignas(8) Scalar {
  unsigned char bytes[8];
};

struct ScalarStep;
// Runs a step, then the one behind it, and so on. A row of steps ends with EndOfSteps. Each
// function jumps to the next one, so that the processor learns what follows each step.
using ScalarFunction = void (*)(const ScalarStep* step, Scalar* values);

// Operands and result are indices of places.
struct ScalarStep : ScalarInstruction {
  ScalarFunction run = nullptr;
  FloatLoop loop = nullptr;  // of a step that calls one
};

void EndOfSteps(const ScalarStep* step, Scalar* values);
ScalarStep MoveOf(MS_DType dtype, uint32_t from, uint32_t to);
// In rows of elements of a type, packed: what kTake and kPut are (scalar_instruction.h).
ScalarStep TakeOf(MS_DType dtype, uint32_t address, uint32_t to);
ScalarStep PutOf(MS_DType dtype, uint32_t from, uint32_t address);

// An op on operands of one type; of Select, those to choose from.
struct ScalarOp {
  ScalarFunction run = nullptr;  // null: there is no such op
  ScalarInstruction::Code code = ScalarInstruction::Code::kOther;
  int operands = 0;
  MS_DType result = MS_BOOL;
  FloatLoop loop = nullptr;
};

// Bool, int32, int64, float32 and float64.
bool IsScalarType(MS_DType dtype);
// For these types. The results have the bits of the op's kernel, except
// that an operation on two NaNs may return the other one. Ops that refuse operands are not there.
ScalarOp FindScalarOp(std::string_view op, MS_DType operands);
// `to`: the number that GraphDefs have for the type.
ScalarOp FindScalarCast(MS_DType from, int64_t to);

// The programs of a node. Values are numbered: first come the node's inputs, then what each step
// gives. Places have the same numbers.
struct ScalarProgram {
  std::vector<ScalarStep> steps;  // each reads values of lower numbers than its own
  std::vector<MS_DType> dtypes;   // of each value
};

// Reads attributes steps and operands. INVALID_ARGUMENT, naming the attribute, for what is no
// program over the node's inputs.
ms::Status ReadScalarProgram(const ms::KernelInfo& info, ScalarProgram* program);
// The value that element `index` of attribute `attr` names. INVALID_ARGUMENT if it is not in
// [0, values), or not of dtype.
ms::Status ReadScalarValue(const char* attr, size_t index, int64_t number,
                           const ScalarProgram& program, size_t values, MS_DType dtype,
                           uint32_t* value);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_SCALAR_PROGRAM_H_
