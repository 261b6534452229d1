// Singular values and vectors of real upper bidiagonal matrices.
#ifndef MILLSTREAM_KERNELS_LINALG_BIDIAGONAL_SINGULAR_H_
#define MILLSTREAM_KERNELS_LINALG_BIDIAGONAL_SINGULAR_H_

#include <cstdint>

#include "kernels/linalg/stop.h"

namespace millstream::kernels {

// The numbers that the computation of vectors takes.
constexpr int64_t BidiagonalSingularNumbers(int64_t n) { return 6 * n * n + 8 * n; }

// The vectors, one a row, that belong to place i of `order`.
struct BidiagonalVectors {
  const double* u;
  const double* v;
  const int64_t* order;
};

// Replaces d, the diagonal, by the singular values in descending order. The diagonal above is e,
// which has n elements and is destroyed. The size of the largest element of the matrix is about
// one. If `vectors` is not null, the vectors of value i become rows vectors->order[i] of u and v,
// in `memory`. False if the iteration does not end.
bool DecomposeBidiagonal(int64_t n, double* d, double* e, double* memory,
                         BidiagonalVectors* vectors, Stop* stop);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_BIDIAGONAL_SINGULAR_H_
