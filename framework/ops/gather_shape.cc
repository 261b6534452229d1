#include "framework/ops/gather_shape.h"

#include <cstdint>
#include <limits>

#include "framework/ops/op_errors.h"

namespace millstream {

StatusOr<std::optional<int>> GatherBatchDims(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(int64_t batch_dims, context.Attr<int64_t>("batch_dims"));
  const PartialShape& indices = context.input(1);
  if (!indices.known_rank()) {
    const bool is_dimension = batch_dims >= 0 && batch_dims <= std::numeric_limits<int>::max();
    return is_dimension ? static_cast<int>(batch_dims) : std::optional<int>();
  }
  if (batch_dims < -indices.rank() || batch_dims > indices.rank()) {
    return InvalidAttr(context, "batch_dims", "got ", batch_dims, ", but indices have shape ",
                       indices.ToString());
  }
  return static_cast<int>(batch_dims < 0 ? batch_dims + indices.rank() : batch_dims);
}

StatusOr<PartialShape> GatheredShape(const ShapeContext& context, const PartialShape& params,
                                     const PartialShape& indices, int axis, int batch_dims) {
  if (batch_dims > axis) {
    return InvalidAttr(context, "batch_dims", "must not be above axis ", axis, ", got ",
                       batch_dims);
  }
  PartialShape output = PartialShape::Scalar();
  for (int i = 0; i < axis; ++i) {
    int64_t size = params.dim(i);
    if (i < batch_dims) {
      const StatusOr<int64_t> merged = context.MergeDim(size, indices.dim(i));
      if (!merged.ok()) return InputError(context, 1, merged.status());
      size = *merged;
    }
    output.AddDim(size);
  }
  for (int i = batch_dims; i < indices.rank(); ++i) output.AddDim(indices.dim(i));
  for (int i = axis + 1; i < params.rank(); ++i) output.AddDim(params.dim(i));
  return output;
}

StatusOr<PartialShape> SlicesShape(const ShapeContext& context, const PartialShape& whole,
                                   int indices) {
  MS_ASSIGN_OR_RETURN(PartialShape places, context.WithRankAtLeast(indices, 1));
  if (!places.known_rank() || !whole.known_rank()) return PartialShape();
  const int last = places.rank() - 1;
  const int64_t depth = places.dim(last);
  if (depth == kUnknownDim) return PartialShape();
  if (depth > whole.rank()) {
    return InvalidInput(context, indices, "its last dimension, ", depth,
                        ", must be at most the rank of the shape that it indexes, ",
                        whole.ToString());
  }
  PartialShape slices = PartialShape::Scalar();
  for (int i = 0; i < last; ++i) slices.AddDim(places.dim(i));
  for (int i = static_cast<int>(depth); i < whole.rank(); ++i) slices.AddDim(whole.dim(i));
  return slices;
}

Status CheckSlices(const ShapeContext& context, const PartialShape& whole, int indices,
                   int updates) {
  MS_ASSIGN_OR_RETURN(const PartialShape slices, SlicesShape(context, whole, indices));
  if (slices.IsCompatibleWith(context.input(updates))) return absl::OkStatus();
  return InvalidInput(context, updates, "expected the shape ", slices.ToString(), ", a slice of ",
                      whole.ToString(), " for each index, got ", context.input(updates).ToString());
}

}  // namespace millstream
