// Factors of positive definite matrices, A = L L^H (G. Golub, C. Van Loan: Matrix Computations, 4th
// edition, section 4.2).
#ifndef MILLSTREAM_KERNELS_LINALG_CHOLESKY_H_
#define MILLSTREAM_KERNELS_LINALG_CHOLESKY_H_

#include <cstdint>

#include "kernels/linalg/lu.h"

namespace millstream::kernels {

// Replaces the lower triangle of the matrix by L and clears the rest. False if the matrix is not
// positive definite. T is double or Complex.
template <typename T>
bool FactorCholesky(int64_t n, T* matrix, Stop* stop);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_CHOLESKY_H_
