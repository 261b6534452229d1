// Schur decompositions of complex matrices.
#ifndef MILLSTREAM_KERNELS_LINALG_SCHUR_H_
#define MILLSTREAM_KERNELS_LINALG_SCHUR_H_

#include <cstdint>

#include "kernels/linalg/lu.h"

namespace millstream::kernels {

// The elements that the computation takes besides the matrix and its unitary factor.
constexpr int64_t SchurNumbers(int64_t n) { return 2 * n; }

// A = Q T Q^H: replaces the matrix by T, upper triangular, and sets `adjoint` to Q^H. False if the
// iteration does not end or an element is not finite.
bool DecomposeSchur(int64_t n, Complex* matrix, Complex* adjoint, Complex* memory, Stop* stop);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_SCHUR_H_
