// Arithmetic on single elements of tensors whose type is known when a kernel is made.
#ifndef MILLSTREAM_KERNELS_SPARSE_ELEMENT_MATH_H_
#define MILLSTREAM_KERNELS_SPARSE_ELEMENT_MATH_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// out[k] = a[i] op b[j].
using ElementFunction = void (*)(const void* a, int64_t i, const void* b, int64_t j, void* out,
                                 int64_t k);

// Integers wrap; 16-bit floating-point numbers are rounded. An integer divided by zero is 0.
struct ElementMath {
  MS_DType dtype;
  ElementFunction add;
  ElementFunction multiply;
  ElementFunction divide;
  // The larger one; NaN if either is. Null for complex numbers, as the next.
  ElementFunction maximum;
  ElementFunction minimum;
  bool (*is_zero)(const void* a, int64_t i);
  // Whether |a[i]| < limit[0]: `limit` is of the type of the parts of a complex number.
  bool (*is_below)(const void* a, int64_t i, const void* limit);
};

// Null for a type that is not computed in. Signed integers have entries of their own.
const ElementMath* FindElementMath(MS_DType dtype);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SPARSE_ELEMENT_MATH_H_
