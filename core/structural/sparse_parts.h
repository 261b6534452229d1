// Sparse tensors as kernels take them apart and join them.
#ifndef MILLSTREAM_CORE_STRUCTURAL_SPARSE_PARTS_H_
#define MILLSTREAM_CORE_STRUCTURAL_SPARSE_PARTS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/structural/structural.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// Three tensors that fit together.
struct SparseParts {
  Tensor indices;  // int64 [count, rank]
  Tensor values;   // [count]
  Tensor shape;    // int64 [rank]

  int64_t count() const { return indices.shape().dim(0); }
  int64_t rank() const { return indices.shape().dim(1); }
};

// INVALID_ARGUMENT if the shapes of the tensors do not fit.
Status CheckSparseParts(const SparseParts& parts);

// The sparse tensor of inputs 0 to 2, which lives until the kernel returns. INVALID_ARGUMENT, which
// names the input, if they do not fit or the shape has no valid sizes. Indices are not checked.
StatusOr<SparseParts> SparseInput(const StructuralFrame& frame);

// How many rows a sparse tensor has. INVALID_ARGUMENT if it has less than two dimensions.
StatusOr<int64_t> SparseRowCount(const SparseParts& all);

// Calls `function` for each row in turn, a sparse tensor without the first index, in memory of its
// own. INVALID_ARGUMENT if an index is no row; else the first error of `function`. REQUIRES:
// SparseRowCount gives no error.
Status ForEachSparseRow(const SparseParts& all,
                        absl::FunctionRef<Status(int64_t row, SparseParts parts)> function);

// Sets outputs 0 to 2 to one sparse tensor: its first dimensions are `outer`, and element i of
// these is sparse tensor i, in row-major order. Other sizes are the largest. REQUIRES: as many
// sparse tensors as `outer` has elements, at least one, all of the rank of the first.
Status SetJoined(StructuralFrame* frame, const Shape& outer, const std::vector<SparseParts>& all);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_SPARSE_PARTS_H_
