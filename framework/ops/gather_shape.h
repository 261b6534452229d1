// Shapes of ops that take slices by index, or change them.
#ifndef MILLSTREAM_FRAMEWORK_OPS_GATHER_SHAPE_H_
#define MILLSTREAM_FRAMEWORK_OPS_GATHER_SHAPE_H_

#include <optional>

#include "framework/shape.h"
#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

// The attribute batch_dims counted from the front of input 1, the indices; nullopt when it is
// negative and their rank unknown. INVALID_ARGUMENT when they have no such dimensions.
StatusOr<std::optional<int>> GatherBatchDims(const ShapeContext& context);

// Input 0 is gathered along `axis` by input 1: dimension `axis` of `params` is replaced by those of
// `indices` after the first `batch_dims`, which both have. REQUIRES: both ranks are known, and axis
// is one of params. INVALID_ARGUMENT when batch dimensions differ or go beyond the axis.
StatusOr<PartialShape> GatheredShape(const ShapeContext& context, const PartialShape& params,
                                     const PartialShape& indices, int axis, int batch_dims);

// The shape of the slices that index vectors, the last dimension of input `indices`, name in a
// tensor of shape `whole`: their leading dimensions are those of the indices. Unknown if not enough
// is known. INVALID_ARGUMENT when the indices are a scalar, or their vectors have more elements
// than `whole` has dimensions.
StatusOr<PartialShape> SlicesShape(const ShapeContext& context, const PartialShape& whole,
                                   int indices);

// INVALID_ARGUMENT unless input `updates` has a slice of `whole` for each index vector of input
// `indices`.
Status CheckSlices(const ShapeContext& context, const PartialShape& whole, int indices,
                   int updates);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_GATHER_SHAPE_H_
