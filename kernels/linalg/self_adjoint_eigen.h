// Eigenvalues and eigenvectors of self-adjoint matrices.
#ifndef MILLSTREAM_KERNELS_LINALG_SELF_ADJOINT_EIGEN_H_
#define MILLSTREAM_KERNELS_LINALG_SELF_ADJOINT_EIGEN_H_

#include <cstdint>

#include "kernels/linalg/lu.h"

namespace millstream::kernels {

// The elements of T that the computation takes besides the matrix.
constexpr int64_t SelfAdjointEigenNumbers(int64_t n) { return n * n + 3 * n; }

// Decomposes a matrix whose lower triangle is read: A = V diag(values) V^H, values ascending.
// Replaces `matrix` by V if `vectors` is true, else destroys it. False if the iteration does not
// end or an element is not finite.
template <typename T>
bool DecomposeSelfAdjoint(int64_t n, bool vectors, T* matrix, double* values, T* memory,
                          Stop* stop);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_SELF_ADJOINT_EIGEN_H_
