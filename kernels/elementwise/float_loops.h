// The table of elementwise ops that compute floats from floats, and the loops of each: what
// _FusedElementwise is made of. The registration of an op's float32 kernel (unary.h, binary.h) puts
// it into the table.
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_FLOAT_LOOPS_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_FLOAT_LOOPS_H_

#include <cstdint>
#include <string_view>

namespace millstream::kernels {

// Computes `elements` elements. The output may be the memory of an operand that runs. An op of one
// operand does not look at y.
using FloatLoop = void (*)(const float* x, const float* y, float* out, int64_t elements);

struct FloatLoops {
  int operands = 0;  // 1 or 2
  // All operands run.
  FloatLoop all = nullptr;
  // One operand runs and the other one stands still. Null for an op of one operand.
  FloatLoop only_x = nullptr;
  FloatLoop only_y = nullptr;
  int64_t picoseconds = 0;  // what an element costs, read from memory and written there
};

// For registrations: `op` is a literal.
void AddFloatLoops(const char* op, const FloatLoops& loops);

// Null when the op has no such loops. Valid for ever.
const FloatLoops* FindFloatLoops(std::string_view op);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_FLOAT_LOOPS_H_
