// Eigenvalues and eigenvectors of real symmetric tridiagonal matrices.
#ifndef MILLSTREAM_KERNELS_LINALG_TRIDIAGONAL_EIGEN_H_
#define MILLSTREAM_KERNELS_LINALG_TRIDIAGONAL_EIGEN_H_

#include <cstdint>

#include "kernels/linalg/stop.h"

namespace millstream::kernels {

// The numbers that the computation of vectors takes.
constexpr int64_t TridiagonalEigenNumbers(int64_t n) { return 3 * n * n + 8 * n; }

// The vector, a row of `rows`, that belongs to place i of `order`.
struct TridiagonalVectors {
  const double* rows;
  const int64_t* order;
};

// Replaces d, the diagonal, by the eigenvalues in ascending order. The other diagonal is e, which
// has n elements and is destroyed. The size of the largest element of the matrix is about one. If
// `vectors` is not null, row vectors->order[i], in `memory`, becomes the vector of value i. False
// if the iteration does not end.
bool DecomposeTridiagonal(int64_t n, double* d, double* e, double* memory,
                          TridiagonalVectors* vectors, Stop* stop);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_TRIDIAGONAL_EIGEN_H_
