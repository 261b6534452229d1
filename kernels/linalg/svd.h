// Singular value decompositions.
#ifndef MILLSTREAM_KERNELS_LINALG_SVD_H_
#define MILLSTREAM_KERNELS_LINALG_SVD_H_

#include <cstdint>
#include <type_traits>

#include "kernels/linalg/bidiagonal_singular.h"
#include "kernels/linalg/block_reflector.h"

namespace millstream::kernels {

// A matrix of rows >= columns, and what is asked of its decomposition A = U diag(values) V^H.
struct SvdSizes {
  int64_t rows;
  int64_t columns;
  // The vectors of U that are made: `rows`, `columns`, or 0 for neither U nor V.
  int64_t of_u;

  // The elements of T that the computation takes besides the matrix.
  template <typename T>
  int64_t numbers() const {
    constexpr int64_t kNumbers = std::is_same_v<T, double> ? 1 : 2;  // of an element
    const int64_t of_bidiagonal = 2 * columns + (of_u > 0 ? BidiagonalSingularNumbers(columns) : 0);
    const int64_t of_vectors = of_u > 0 ? of_u * rows + columns * columns : 0;
    return of_vectors + (rows + columns + 2) * columns + kMostReflectors * (rows + columns) +
           (of_bidiagonal + kNumbers - 1) / kNumbers;
  }
};

// The results lie in the memory of the computation. Values descend. U is a matrix of
// `rows` times `of_u` elements, V of `columns` times `columns`.
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
