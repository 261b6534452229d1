// Singular values and vectors of small bidiagonal matrices, and values alone of large ones.
#ifndef MILLSTREAM_KERNELS_LINALG_BIDIAGONAL_STEPS_H_
#define MILLSTREAM_KERNELS_LINALG_BIDIAGONAL_STEPS_H_

#include <cstdint>

#include "kernels/linalg/stop.h"

namespace millstream::kernels {

// Vectors that are rotated along, one a row; null for none.
struct VectorRows {
  double* elements;
  int64_t size;
  int64_t stride;
};

// An upper bidiagonal matrix of n rows, and as many columns or one more: then e has n elements that
// count, else n - 1.
struct BidiagonalRows {
  int64_t n;
  bool has_more_columns;
  double* d;
  double* e;
};

// Replaces d by the singular values, in no order, and destroys e. What makes row i of the matrix
// value i rotates rows of `u` from the left and rows of `v` from the right, of which there is one
// for each column. False if the iteration does not end.
bool DiagonalizeBidiagonal(const BidiagonalRows& matrix, const VectorRows& u, const VectorRows& v,
                           Stop* stop);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_BIDIAGONAL_STEPS_H_
