// Sparse tensors as inputs and outputs of ops: indices, values and shape, one after the other.
#ifndef MILLSTREAM_FRAMEWORK_OPS_SPARSE_INPUTS_H_
#define MILLSTREAM_FRAMEWORK_OPS_SPARSE_INPUTS_H_

#include <cstdint>

#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

// What is known of the shape of the sparse tensor whose indices are input `first`: its sizes as
// far as they follow, else its rank if that is known. INVALID_ARGUMENT, naming the input, when the
// three do not fit.
StatusOr<PartialShape> SparseInputShape(const ShapeContext& context, int first);

// The same of three inputs that do not follow each other.
StatusOr<PartialShape> SparsePartsShape(const ShapeContext& context, int indices, int values,
                                        int shape);

// Outputs from `first` on: a sparse tensor of `rank`, which may be unknown, with `count` elements.
void SetSparseOutput(ShapeContext* context, int first, int64_t rank, int64_t count = kUnknownDim);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_SPARSE_INPUTS_H_
