// The singular values and vectors of a bidiagonal matrix from those of the parts above and below
// one of its rows.
#ifndef MILLSTREAM_KERNELS_LINALG_BIDIAGONAL_MERGE_H_
#define MILLSTREAM_KERNELS_LINALG_BIDIAGONAL_MERGE_H_

#include <cstdint>

#include "kernels/linalg/part_merge.h"
#include "kernels/linalg/stop.h"

namespace millstream::kernels {

// Matrices of n * n numbers and arrays of n. Merges of different parts of the matrix use different
// elements, and may run at the same time.
struct BidiagonalWork {
  int64_t n;
  double* d;  // singular values, in no order; of rows that are not merged, the diagonal
  double* e;  // the other diagonal
  double* u;  // row i is the left vector of d[i]: zeros but for the part that is decomposed
  double* v;  // likewise, the right vectors
  double* packed_u;
  double* packed_v;
  double* weights_u;
  double* weights_v;
  MergeArrays arrays;
};

// Rows [begin, end) of the matrix, whose rows [begin, middle) and [middle + 1, end) are decomposed
// without row `middle`. These rows have one more column than rows, unless they end with the matrix:
// the one more row of `v` is the vector that they make zero.
struct BidiagonalPart {
  int64_t begin;
  int64_t middle;
  int64_t end;
};

void MergeRows(const BidiagonalPart& part, const BidiagonalWork& work, Stop* stop);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_BIDIAGONAL_MERGE_H_
