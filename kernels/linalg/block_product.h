// Products of parts of matrices, which factors of large matrices consist of.
#ifndef MILLSTREAM_KERNELS_LINALG_BLOCK_PRODUCT_H_
#define MILLSTREAM_KERNELS_LINALG_BLOCK_PRODUCT_H_

#include <cstdint>

#include "kernels/linalg/row_arithmetic.h"

namespace millstream::kernels {

// C -= A B, where C is m x n and A is m x k. An element of A is at a[row * a_row_step + column *
// a_column_step], so that A may stand transposed; rows of B and C are b_step and c_step apart. A
// and B may not overlap C. T is double or Complex.
template <typename T>
struct BlockProduct {
  int64_t m;
  int64_t n;
  int64_t k;
  const T* a;
  int64_t a_row_step;
  int64_t a_column_step;
  const T* b;
  int64_t b_step;
  T* c;
  int64_t c_step;
  bool conjugate_a = false;
};

// Columns of C that a thread should take at a time.
inline constexpr int64_t kProductColumns = 64;

// Computes columns [begin, end) of C, those of double with the widest vectors that there are. A sum
// is taken over k in order, in pieces whose ends depend on k alone, with multiplications and
// additions in one where the processor can: the bits of a column do not depend on which others are
// computed with it.
void SubtractProduct(const BlockProduct<double>& product, int64_t begin, int64_t end);
void SubtractProduct(const BlockProduct<Complex>& product, int64_t begin, int64_t end);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_BLOCK_PRODUCT_H_
