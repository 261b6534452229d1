// Ops on sets, the last dimension of tensors.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/sparse_inputs.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

constexpr absl::string_view kMemberTypes = "T: {int8, int16, int32, int64, uint8, uint16, string}";

// The shape of a dense operand, input i, or of a sparse one that begins there.
StatusOr<PartialShape> OperandShape(const ShapeContext& context, int i, bool is_sparse) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape,
                      is_sparse ? SparseInputShape(context, i) : context.WithRankAtLeast(i, 2));
  if (is_sparse && shape.known_rank() && shape.rank() < 2) {
    return InvalidInput(context, i + 2, "expected at least 2 dimensions, got ", shape.ToString());
  }
  return shape;
}

// All but the last dimension; nothing is known of an unknown rank.
PartialShape SetsOf(const PartialShape& shape) {
  if (!shape.known_rank()) return PartialShape();
  return PartialShape(shape.dims().subspan(0, shape.rank() - 1));
}

Status SetOperationShape(ShapeContext* context, bool first_is_sparse, bool second_is_sparse) {
  const int second = first_is_sparse ? 3 : 1;
  MS_ASSIGN_OR_RETURN(const PartialShape a, OperandShape(*context, 0, first_is_sparse));
  MS_ASSIGN_OR_RETURN(const PartialShape b, OperandShape(*context, second, second_is_sparse));
  const StatusOr<PartialShape> sets = SetsOf(a).MergeWith(SetsOf(b));
  if (!sets.ok()) {
    return InvalidInput(*context, second + (second_is_sparse ? 2 : 0),
                        "expected the sizes of the first operand ", a.ToString(),
                        " in all but the last dimension, got ", b.ToString());
  }
  SetSparseOutput(context, 0, sets->known_rank() ? sets->rank() + 1 : kUnknownDim);
  return absl::OkStatus();
}

Status DenseToDenseShape(ShapeContext* context) { return SetOperationShape(context, false, false); }
Status DenseToSparseShape(ShapeContext* context) { return SetOperationShape(context, false, true); }
Status SparseToSparseShape(ShapeContext* context) { return SetOperationShape(context, true, true); }

// Known if the shape is a constant.
Status SetSizeShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, OperandShape(*context, 0, true));
  context->SetOutput(0, shape.IsFullyKnown() ? SetsOf(shape) : PartialShape());
  return absl::OkStatus();
}

void SetResult(OpSpec* spec) {
  (*spec)
      .Output("result_indices: int64")
      .Output("result_values: T")
      .Output("result_shape: int64")
      .Attr("set_operation: string")
      .Attr("validate_indices: bool = true")
      .Attr(kMemberTypes);
}

MILLSTREAM_OP("DenseToDenseSetOperation")
    .Input("set1: T")
    .Input("set2: T")
    .With(SetResult)
    .Shape(DenseToDenseShape)
    .Doc(R"(Combines the sets in the last dimension of two tensors.

All other dimensions are equal. set_operation is "a-b", "b-a", "intersection" or "union". The result is
a sparse tensor; members of a set are sorted, and each comes once.)");

MILLSTREAM_OP("DenseToSparseSetOperation")
    .Input("set1: T")
    .Input("set2_indices: int64")
    .Input("set2_values: T")
    .Input("set2_shape: int64")
    .With(SetResult)
    .Shape(DenseToSparseShape)
    .Doc(R"(Combines the sets in the last dimension of a tensor and a sparse tensor.

As DenseToDenseSetOperation. With validate_indices, indices of the sparse tensor must be in order, and
each come once.)");

MILLSTREAM_OP("SparseToSparseSetOperation")
    .Input("set1_indices: int64")
    .Input("set1_values: T")
    .Input("set1_shape: int64")
    .Input("set2_indices: int64")
    .Input("set2_values: T")
    .Input("set2_shape: int64")
    .With(SetResult)
    .Shape(SparseToSparseShape)
    .Doc(R"(Combines the sets in the last dimension of two sparse tensors.

As DenseToDenseSetOperation. With validate_indices, indices of both must be in order, and each come
once.)");

MILLSTREAM_OP("SetSize")
    .Input("set_indices: int64")
    .Input("set_values: T")
    .Input("set_shape: int64")
    .Output("size: int32")
    .Attr("validate_indices: bool = true")
    .Attr(kMemberTypes)
    .Shape(SetSizeShape)
    .Doc(R"(Counts the members of the sets in the last dimension of a sparse tensor.

A member that comes several times counts once. With validate_indices, indices must be in order, and each
come once.)");

}  // namespace
}  // namespace millstream
