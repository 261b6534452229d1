// The output shape of ops that gather slices by index.
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

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_GATHER_SHAPE_H_
