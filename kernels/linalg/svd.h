// Singular value decompositions.
#ifndef MILLSTREAM_KERNELS_LINALG_SVD_H_
#define MILLSTREAM_KERNELS_LINALG_SVD_H_

#include <cstdint>

#include "kernels/linalg/lu.h"
#include "kernels/linalg/rotations.h"

namespace millstream::kernels {

// A matrix of rows >= columns, and what is asked of its decomposition A = U diag(values) V^H.
struct SvdSizes {
  int64_t rows;
  int64_t columns;
  // The vectors of U that are made: `rows`, `columns`, or 0 for neither U nor V.
  int64_t of_u;

  // The elements of T that the computation takes besides the matrix.
  int64_t numbers() const {
    const int64_t of_rotations =
        of_u > 0
            ? static_cast<int64_t>(2 * MostRotations(columns) * sizeof(Rotation) / sizeof(double))
            : 0;
    const int64_t of_all = of_u > columns ? of_u * rows : 0;
    return of_u * rows + columns * columns + Rotations<double>::PackedNumbers(columns, columns) +
           Rotations<double>::PackedNumbers(columns, rows) + 6 * columns + of_rotations + of_all;
  }
};

// The results lie in the memory of the computation. Values descend; row i of `u` and `v` is the
// vector of value i, a column of U or V.
template <typename T>
struct SvdResult {
  const double* values;
  T* u;
  T* v;
};

// Destroys the matrix. False if the iteration does not end or an element is not finite.
template <typename T>
bool DecomposeSingular(const SvdSizes& sizes, T* matrix, T* memory, SvdResult<T>* result,
                       Stop* stop);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_SVD_H_
