// Sums of tensors, for the runtime's own code. Kernels of plugins have faster ones.
#ifndef MILLSTREAM_FRAMEWORK_TENSOR_SUM_H_
#define MILLSTREAM_FRAMEWORK_TENSOR_SUM_H_

#include "framework/tensor.h"

namespace millstream {

// Adds the elements of `more` to those of `sum`. 16-bit floating-point sums are rounded once;
// integers wrap around. False, and nothing done, for dtypes without sums: strings, booleans,
// handles and variants. REQUIRES: both have one dtype and shape, and nobody else holds the memory
// of `sum`.
bool AddElements(const Tensor& more, const Tensor& sum);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_TENSOR_SUM_H_
