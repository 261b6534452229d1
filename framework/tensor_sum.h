// Sums of tensors, for the runtime's own code. Kernels of plugins have faster ones.
#ifndef MILLSTREAM_FRAMEWORK_TENSOR_SUM_H_
#define MILLSTREAM_FRAMEWORK_TENSOR_SUM_H_

#include <cstdint>

#include "framework/tensor.h"

namespace millstream {

// Adds the elements of `more` to those of `sum`. 16-bit floating-point sums are rounded once;
// integers wrap around. False, and nothing done, for dtypes without sums: strings, booleans,
// handles and variants. REQUIRES: both have one dtype and shape, and nobody else holds the memory
// of `sum`.
bool AddElements(const Tensor& more, const Tensor& sum);

// Divides the elements by a number. 16-bit floating-point numbers are rounded once; quotients of
// integers are cut off. False, and nothing done, for the dtypes that AddElements does not know.
// REQUIRES: divisor > 0, and nobody else holds the memory.
bool DivideElements(const Tensor& numbers, int64_t divisor);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_TENSOR_SUM_H_
