// Products of a self-adjoint matrix with a vector, which read half of the matrix.
#ifndef MILLSTREAM_KERNELS_LINALG_SELF_ADJOINT_PRODUCT_H_
#define MILLSTREAM_KERNELS_LINALG_SELF_ADJOINT_PRODUCT_H_

#include <cstdint>

#include "kernels/linalg/row_arithmetic.h"

namespace millstream::kernels {

// Rows [begin, end) of `a`, conj(A), of n columns, whose rows are `stride` elements apart. Elements
// before the diagonal are not used. `begin` is a multiple of kProductRows.
template <typename T>
struct UpperRows {
  int64_t begin;
  int64_t end;
  int64_t n;
  int64_t stride;
  const T* a;
};

inline constexpr int64_t kProductRows = 8;

// Adds what these elements, and their mirror images, have in A x to y, of n elements.
void AddSelfAdjointProduct(const UpperRows<double>& rows, const double* x, double* y);
void AddSelfAdjointProduct(const UpperRows<Complex>& rows, const Complex* x, Complex* y);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_SELF_ADJOINT_PRODUCT_H_
