// Inputs whose last two dimensions are those of square matrices.
#ifndef MILLSTREAM_FRAMEWORK_OPS_SQUARE_MATRICES_H_
#define MILLSTREAM_FRAMEWORK_OPS_SQUARE_MATRICES_H_

#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {

// The shape of input i, whose last two dimensions are equal. INVALID_ARGUMENT if they are not.
inline StatusOr<PartialShape> SquareMatrices(const ShapeContext& context, int i) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context.WithRankAtLeast(i, 2));
  if (!shape.known_rank()) return shape;
  const int last = shape.rank() - 1;
  const StatusOr<int64_t> size = context.MergeDim(shape.dim(last - 1), shape.dim(last));
  if (!size.ok()) {
    return InvalidInput(context, i, UnequalDims(shape.dim(last - 1), shape.dim(last)),
                        "expected square matrices, got ", shape.ToString());
  }
  shape.set_dim(last - 1, *size);
  shape.set_dim(last, *size);
  return shape;
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_SQUARE_MATRICES_H_
