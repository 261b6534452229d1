// Eigenvalues and eigenvectors of self-adjoint matrices.
#ifndef MILLSTREAM_KERNELS_LINALG_SELF_ADJOINT_EIGEN_H_
#define MILLSTREAM_KERNELS_LINALG_SELF_ADJOINT_EIGEN_H_

#include <cstdint>
#include <type_traits>

#include "kernels/linalg/block_reflector.h"
#include "kernels/linalg/tridiagonal_eigen.h"

namespace millstream::kernels {

// Of a large matrix with a vector, which threads share.
inline constexpr int64_t kProductParts = 4;

// The elements of T that the computation takes besides the matrix.
template <typename T>
constexpr int64_t SelfAdjointEigenNumbers(int64_t n, bool vectors) {
  constexpr int64_t kNumbers = std::is_same_v<T, double> ? 1 : 2;  // of an element
  const int64_t of_tridiagonal = n + (vectors ? TridiagonalEigenNumbers(n) : 0);
  return n * n + (kMostReflectors + kProductParts + 1) * n + TriangleNumbers(kMostReflectors) +
         (of_tridiagonal + kNumbers - 1) / kNumbers;
}

// Decomposes a matrix whose lower triangle is read: A = V diag(values) V^H, values ascending.
// Replaces `matrix` by V if `vectors` is true, else destroys it. False if the iteration does not
// end or an element is not finite.
template <typename T>
bool DecomposeSelfAdjoint(int64_t n, bool vectors, T* matrix, double* values, T* memory,
                          Stop* stop);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_SELF_ADJOINT_EIGEN_H_
