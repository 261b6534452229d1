// Ops on sparse tensors: the places of elements, their values and the shape of the whole.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// A scalar or a vector of indices holds vectors of one number.
Status SparseToDenseShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape dense, ShapeFromSizes(*context, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape indices, context->WithRankAtMost(0, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape values, context->WithRankAtMost(2, 1));
  MS_RETURN_IF_ERROR(context->WithRank(3, 0).status());
  if (indices.known_rank()) {
    const int64_t depth = indices.rank() > 1 ? indices.dim(1) : 1;
    const int64_t count = indices.rank() > 0 ? indices.dim(0) : 1;
    if (dense.known_rank() && depth != kUnknownDim && depth != dense.rank()) {
      return InvalidInput(*context, 1,
                          "output_shape has incorrect number of elements: ", dense.rank(),
                          " should be: ", depth);
    }
    if (values.rank() == 1 && !context->MergeDim(values.dim(0), count).ok()) {
      return InvalidInput(*context, 2, "sparse_values has incorrect shape ", values.ToString(),
                          ", should be [] or [", count, "]");
    }
  }
  context->SetOutput(0, std::move(dense));
  return absl::OkStatus();
}

MILLSTREAM_OP("SparseToDense")
    .Input("sparse_indices: Tindices")
    .Input("output_shape: Tindices")
    .Input("sparse_values: T")
    .Input("default_value: T")
    .Output("dense: T")
    .Attr("validate_indices: bool = true")
    .Attr("T: type")
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .KeepsFinite()
    .Shape(SparseToDenseShape)
    .Doc(R"(Makes a tensor of which single elements are given.

Each row of sparse_indices is the place of an element, and sparse_values has its value, or one for all.
All other elements are default_value. With validate_indices the places must be in order and each come
once; without it, the last value counts. INVALID_ARGUMENT for a place that is outside.)");

}  // namespace
}  // namespace millstream
