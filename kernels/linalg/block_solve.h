// Systems of equations with the small triangles on the diagonals of large matrices.
#ifndef MILLSTREAM_KERNELS_LINALG_BLOCK_SOLVE_H_
#define MILLSTREAM_KERNELS_LINALG_BLOCK_SOLVE_H_

#include <cstdint>

#include "kernels/linalg/row_arithmetic.h"

namespace millstream::kernels {

inline constexpr int64_t kMostSolvedRows = 32;

// A X = C, where A is lower triangular and has at most kMostSolvedRows rows. An element of A is at
// a[row * a_row_step + column * a_column_step], a row of C at c + row * c_step. Steps may be
// negative: an upper triangle is a lower one whose last row and column come first. T is double or
// Complex.
template <typename T>
struct BlockSystem {
  int64_t rows;
  const T* a;
  int64_t a_row_step;
  int64_t a_column_step;
  bool has_unit_diagonal;  // of ones, which A does not contain
  T* c;
  int64_t c_step;
  bool conjugate_a = false;
};

// Replaces columns [begin, end) of C by those of X. The bits of a column do not depend on which
// others are computed with it.
void SolveBlock(const BlockSystem<double>& system, int64_t begin, int64_t end);
void SolveBlock(const BlockSystem<Complex>& system, int64_t begin, int64_t end);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_BLOCK_SOLVE_H_
