// Ops on the places of elements of sparse tensors.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/sparse_inputs.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The number of columns of a matrix of indices, as far as known.
int64_t RankOf(const PartialShape& shape) {
  return shape.known_rank() ? shape.rank() : kUnknownDim;
}

Status ReorderShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(SparseInputShape(*context, 0).status());
  MS_ASSIGN_OR_RETURN(PartialShape indices, context->WithRank(0, 2));
  MS_ASSIGN_OR_RETURN(PartialShape values, context->WithRank(1, 1));
  context->SetOutput(0, std::move(indices));
  context->SetOutput(1, std::move(values));
  return absl::OkStatus();
}

Status ReshapeShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape indices, context->WithRank(0, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape shape, context->WithRank(1, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape target, context->WithRank(2, 1));
  if (!context->MergeDim(indices.dim(1), shape.dim(0)).ok()) {
    return InvalidInput(*context, 1, UnequalDims(indices.dim(1), shape.dim(0)),
                        "expected as many sizes as the rows of 'input_indices' ",
                        indices.ToString(), " have numbers, got ", shape.ToString());
  }
  context->SetOutput(0, PartialShape::Matrix(indices.dim(0), target.dim(0)));
  context->SetOutput(1, PartialShape::Vector(target.dim(0)));
  return absl::OkStatus();
}

// Inputs: N matrices of indices, N vectors of values, N shapes.
Status ConcatShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t axis, context->Attr<int64_t>("concat_dim"));
  const int count = context->num_inputs() / 3;
  int64_t rows = 0;
  int64_t rank = kUnknownDim;
  for (int i = 0; i < count; ++i) {
    MS_ASSIGN_OR_RETURN(const PartialShape shape,
                        SparsePartsShape(*context, i, count + i, 2 * count + i));
    const int64_t own = context->input(i).known_rank() ? context->input(i).dim(0) : kUnknownDim;
    rows = own == kUnknownDim || rows == kUnknownDim ? kUnknownDim : rows + own;
    const StatusOr<int64_t> merged = context->MergeDim(rank, RankOf(shape));
    if (!merged.ok()) {
      return InvalidInput(*context, 2 * count + i, "expected ", rank, " sizes, as before, got ",
                          RankOf(shape));
    }
    rank = *merged;
  }
  if (rank != kUnknownDim) {
    const StatusOr<int> resolved = NormalizeAxis(axis, static_cast<int>(rank));
    if (!resolved.ok()) return AttrError(*context, "concat_dim", resolved.status());
  }
  SetSparseOutput(context, 0, rank, rows);
  return absl::OkStatus();
}

Status SplitShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  MS_ASSIGN_OR_RETURN(const PartialShape shape, SparseInputShape(*context, 1));
  MS_RETURN_IF_ERROR(AxisInput(*context, 0, shape.rank()).status());
  const int parts = context->num_outputs() / 3;
  for (int i = 0; i < parts; ++i) {
    context->SetOutput(i, PartialShape::Matrix(kUnknownDim, RankOf(shape)));
    context->SetOutput(parts + i, PartialShape::Vector(kUnknownDim));
    context->SetOutput(2 * parts + i, PartialShape::Vector(RankOf(shape)));
  }
  return absl::OkStatus();
}

Status SliceShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, SparseInputShape(*context, 0));
  for (int i = 3; i < 5; ++i) {
    MS_ASSIGN_OR_RETURN(const PartialShape bounds, context->WithRank(i, 1));
    if (!context->MergeDim(bounds.dim(0), RankOf(shape)).ok()) {
      return InvalidInput(*context, i, UnequalDims(bounds.dim(0), RankOf(shape)),
                          "expected a number for each dimension");
    }
  }
  SetSparseOutput(context, 0, RankOf(shape));
  return absl::OkStatus();
}

Status SliceGradShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 1).status());
  MS_ASSIGN_OR_RETURN(const PartialShape indices, context->WithRank(1, 2));
  MS_RETURN_IF_ERROR(context->WithRank(2, 1).status());
  MS_RETURN_IF_ERROR(context->WithRank(3, 2).status());
  context->SetOutput(0, PartialShape::Vector(indices.dim(0)));
  return absl::OkStatus();
}

Status FillEmptyRowsShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, SparseInputShape(*context, 0));
  MS_RETURN_IF_ERROR(context->WithRank(3, 0).status());
  MS_ASSIGN_OR_RETURN(const PartialShape indices, context->WithRank(0, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape values, context->WithRank(1, 1));
  MS_ASSIGN_OR_RETURN(const int64_t count, context->MergeDim(indices.dim(0), values.dim(0)));
  if (shape.rank() == 0) return InvalidInput(*context, 2, "expected at least one dimension");
  context->SetOutput(0, PartialShape::Matrix(kUnknownDim, RankOf(shape)));
  context->SetOutput(1, PartialShape::Vector(kUnknownDim));
  context->SetOutput(2, PartialShape::Vector(shape.known_rank() ? shape.dim(0) : kUnknownDim));
  context->SetOutput(3, PartialShape::Vector(count));
  return absl::OkStatus();
}

Status FillEmptyRowsGradShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape map, context->WithRank(0, 1));
  MS_RETURN_IF_ERROR(context->WithRank(1, 1).status());
  context->SetOutput(0, std::move(map));
  context->SetOutput(1, PartialShape::Scalar());
  return absl::OkStatus();
}

// Inputs: indices, values and shapes of N sparse matrices, then dense matrices. All have as many
// rows, and there is one at least.
Status CrossShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t count, context->Attr<int64_t>("N"));
  MS_ASSIGN_OR_RETURN(const DataTypeList types, context->Attr<DataTypeList>("sparse_types"));
  MS_ASSIGN_OR_RETURN(const bool is_hashed, context->Attr<bool>("hashed_output"));
  if (static_cast<int64_t>(types.size()) != count) {
    return InvalidAttr(*context, "sparse_types", "expected N types, ", count, ", got ",
                       types.size());
  }
  if (context->num_inputs() == 0) return InvalidAttr(*context, "N", "there is no input to cross");
  if (is_hashed != (context->output_type(1) == DataType::kInt64)) {
    return InvalidAttr(*context, "out_type", "hashes are int64, and what is not hashed is string");
  }
  const int sparse = static_cast<int>(count);
  for (int i = 0; i < sparse; ++i) {
    MS_ASSIGN_OR_RETURN(const PartialShape shape,
                        SparsePartsShape(*context, i, sparse + i, 2 * sparse + i));
    if (shape.known_rank() && shape.rank() != 2) {
      return InvalidInput(*context, 2 * sparse + i, "expected the shape of a matrix, got ",
                          shape.ToString());
    }
  }
  for (int i = 3 * sparse; i < context->num_inputs(); ++i) {
    MS_RETURN_IF_ERROR(context->WithRank(i, 2).status());
  }
  SetSparseOutput(context, 0, 2);
  return absl::OkStatus();
}

MILLSTREAM_OP("SparseCross")
    .Input("indices: N * int64")
    .Input("values: sparse_types")
    .Input("shapes: N * int64")
    .Input("dense_inputs: dense_types")
    .Output("output_indices: int64")
    .Output("output_values: out_type")
    .Output("output_shape: int64")
    .Attr("N: int >= 0")
    .Attr("hashed_output: bool")
    .Attr("num_buckets: int >= 0")
    .Attr("hash_key: int")
    .Attr("sparse_types: list({int64, string}) >= 0")
    .Attr("dense_types: list({int64, string}) >= 0")
    .Attr("out_type: {int64, string}")
    .Attr("internal_type: {int64, string}")
    .Shape(CrossShape)
    .Doc(R"(Joins the features of each row in all combinations of one of each input.

Inputs are sparse and dense matrices with as many rows, of texts or numbers. Combinations are texts, joined by "_X_",
or with hashed_output hashes of all features from hash_key on, modulo num_buckets unless that is 0. internal_type has
no effect. INVALID_ARGUMENT if the indices of a sparse input are not sorted by rows.)");

MILLSTREAM_OP("SparseReorder")
    .Input("input_indices: int64")
    .Input("input_values: T")
    .Input("input_shape: int64")
    .Output("output_indices: int64")
    .Output("output_values: T")
    .Attr("T: type")
    .Shape(ReorderShape)
    .Doc(R"(Sorts the elements of a sparse tensor, so that their indices are in row-major order.)");

MILLSTREAM_OP("SparseReshape")
    .Input("input_indices: int64")
    .Input("input_shape: int64")
    .Input("new_shape: int64")
    .Output("output_indices: int64")
    .Output("output_shape: int64")
    .Shape(ReshapeShape)
    .Doc(R"(Gives the indices that elements of a sparse tensor have in another shape.

One size of new_shape may be -1, and follows from the others. INVALID_ARGUMENT if the shapes have not as
many elements.)");

MILLSTREAM_OP("SparseConcat")
    .Input("indices: N * int64")
    .Input("values: N * T")
    .Input("shapes: N * int64")
    .Output("output_indices: int64")
    .Output("output_values: T")
    .Output("output_shape: int64")
    .Attr("concat_dim: int")
    .Attr("N: int >= 2")
    .Attr("T: type")
    .Shape(ConcatShape)
    .Doc(R"(Joins sparse tensors along the dimension concat_dim.

The sizes of all other dimensions are equal. The elements of the result are in row-major order.)");

MILLSTREAM_OP("SparseSplit")
    .Input("split_dim: int64")
    .Input("indices: int64")
    .Input("values: T")
    .Input("shape: int64")
    .Output("output_indices: num_split * int64")
    .Output("output_values: num_split * T")
    .Output("output_shape: num_split * int64")
    .Attr("num_split: int >= 1")
    .Attr("T: type")
    .Shape(SplitShape)
    .Doc(R"(Cuts a sparse tensor into parts along a dimension.

Where the size is no multiple of num_split, the first parts are larger by one.)");

MILLSTREAM_OP("SparseSlice")
    .Input("indices: int64")
    .Input("values: T")
    .Input("shape: int64")
    .Input("start: int64")
    .Input("size: int64")
    .Output("output_indices: int64")
    .Output("output_values: T")
    .Output("output_shape: int64")
    .Attr("T: type")
    .Shape(SliceShape)
    .Doc(R"(Takes a part of a sparse tensor: from start on, at most size elements a dimension.)");

MILLSTREAM_OP("SparseSliceGrad")
    .Input("backprop_val_grad: T")
    .Input("input_indices: int64")
    .Input("input_start: int64")
    .Input("output_indices: int64")
    .Output("val_grad: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Shape(SliceGradShape)
    .Doc(R"(Gives the gradient of the values of a sparse tensor from that of a slice's values.

Values that are not in the slice get 0.)");

MILLSTREAM_OP("SparseFillEmptyRows")
    .Input("indices: int64")
    .Input("values: T")
    .Input("dense_shape: int64")
    .Input("default_value: T")
    .Output("output_indices: int64")
    .Output("output_values: T")
    .Output("empty_row_indicator: bool")
    .Output("reverse_index_map: int64")
    .Attr("T: type")
    .Shape(FillEmptyRowsShape)
    .Doc(R"(Gives each row of a sparse tensor that has no element a first one, default_value.

Rows are ordered. empty_row_indicator says which had none, and reverse_index_map has the new place of
each element.)");

MILLSTREAM_OP("SparseFillEmptyRowsGrad")
    .Input("reverse_index_map: int64")
    .Input("grad_values: T")
    .Output("d_values: T")
    .Output("d_default_value: T")
    .Attr("T: type")
    .Shape(FillEmptyRowsGradShape)
    .Doc(R"(Gives the gradients of the inputs of SparseFillEmptyRows.)");

}  // namespace
}  // namespace millstream
