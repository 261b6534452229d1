// The eigenvalues and eigenvectors of a tridiagonal matrix from those of its halves.
#ifndef MILLSTREAM_KERNELS_LINALG_TRIDIAGONAL_MERGE_H_
#define MILLSTREAM_KERNELS_LINALG_TRIDIAGONAL_MERGE_H_

#include <cstdint>

#include "kernels/linalg/part_merge.h"
#include "kernels/linalg/stop.h"

namespace millstream::kernels {

// Matrices of n * n numbers and arrays of n. Merges of different parts of the matrix use different
// elements, and may run at the same time.
struct TridiagonalWork {
  int64_t n;
  double* d;        // eigenvalues, in no order
  double* rows;     // row i is the vector of d[i]: zeros but for the part that is decomposed
  double* packed;   // matrices
  double* weights;  // likewise
  MergeArrays arrays;
};

// Rows and columns [begin, end) of the matrix, whose parts [begin, middle) and [middle, end) are
// decomposed without `coupling`, the element between them, the size of which was subtracted from
// the two elements of the diagonal beside it.
struct TridiagonalPart {
  int64_t begin;
  int64_t middle;
  int64_t end;
  double coupling;
};

void MergeParts(const TridiagonalPart& part, const TridiagonalWork& work, Stop* stop);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_TRIDIAGONAL_MERGE_H_
