// The loops of elementwise kernels, and the table of those that compute floats from floats: what
// _FusedElementwise is made of. The registration of an op's float32 kernel (unary.h, binary.h) puts
// its loops into the table.
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_FLOAT_LOOPS_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_FLOAT_LOOPS_H_

#include <cstdint>
#include <string_view>

#include "kernels/elementwise/broadcast.h"

namespace millstream::kernels {

// Computes elements [begin, end). The output may be the memory of the input.
using UnaryLoop = void (*)(const void* x, void* out, int64_t begin, int64_t end);

// Computes the rows of one block; true when an operand was refused. The output may be the memory of
// an operand that runs along rows.
using BinaryLoop = bool (*)(const void* x, const void* y, void* out, const RowBlock& block,
                            int64_t columns);

// An op of one operand has `unary`; one of two operands has a loop for each way that they may run
// along a row (both do, or the other one stands still), none of which refuses anything.
struct FloatLoops {
  UnaryLoop unary = nullptr;
  BinaryLoop both = nullptr;
  BinaryLoop only_x = nullptr;
  BinaryLoop only_y = nullptr;
  int64_t picoseconds = 0;  // what an element costs, read from memory and written there
};

// For registrations: `op` is a literal.
void AddFloatLoops(const char* op, const FloatLoops& loops);

// Null when the op has no such loops. Valid for ever.
const FloatLoops* FindFloatLoops(std::string_view op);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_FLOAT_LOOPS_H_
