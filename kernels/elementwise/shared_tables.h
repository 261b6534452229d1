// Loops that several families run.
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_SHARED_TABLES_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_SHARED_TABLES_H_

#include "kernels/elementwise/binary.h"

namespace millstream::kernels {

// x + y, x - y and x * y of all numbers. Integers wrap. Defined in arithmetic.cc.
extern const BinaryTable kSumTable;
extern const BinaryTable kDifferenceTable;
extern const BinaryTable kProductTable;
// The larger and the smaller one of two ordered numbers; a NaN on either side is the result.
extern const BinaryTable kMaximumTable;
extern const BinaryTable kMinimumTable;
// x / y of all numbers, of integers without the fraction. Defined in division.cc.
extern const BinaryTable kQuotientTable;

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_SHARED_TABLES_H_
