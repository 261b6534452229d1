// Loops that several families run.
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_SHARED_TABLES_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_SHARED_TABLES_H_

#include "kernels/elementwise/binary.h"

namespace millstream::kernels {

// x + y and x - y of all numbers. Integers wrap. Defined in arithmetic.cc.
extern const BinaryTable kSumTable;
extern const BinaryTable kDifferenceTable;

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_SHARED_TABLES_H_
