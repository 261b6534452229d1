// Systems of equations with triangular matrices. A matrix is n * n numbers, row after row. T is
// double or Complex.
#ifndef MILLSTREAM_KERNELS_LINALG_TRIANGLE_H_
#define MILLSTREAM_KERNELS_LINALG_TRIANGLE_H_

#include <cstdint>

#include "kernels/linalg/stop.h"

namespace millstream::kernels {

struct Triangle {
  bool is_lower;
  bool has_unit_diagonal;  // of ones, which the matrix does not contain
  // Both Y and the matrix are lower triangular: what is known to be zero is left alone.
  bool has_lower_right_side = false;
};

// Solves A X = Y in place, where A is that triangle of the matrix, and Y has `columns` columns. A
// column's bits do not depend on the others, nor on the number of threads.
template <typename T>
void SolveTriangle(int64_t n, int64_t columns, const T* matrix, Triangle triangle, T* y,
                   Stop* stop);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_TRIANGLE_H_
