// Ragged tensors: rows of different lengths, as their values and the splits that begin and end
// rows.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// ---- RaggedRange ----

Status RangeShape(ShapeContext* context) {
  int64_t rows = kUnknownDim;
  bool all_known = true;
  bool has_vector = false;
  for (int i = 0; i < 3; ++i) {
    MS_ASSIGN_OR_RETURN(const PartialShape shape, context->WithRankAtMost(i, 1));
    all_known = all_known && shape.known_rank();
    if (!shape.known_rank() || shape.rank() == 0) continue;
    has_vector = true;
    const StatusOr<int64_t> merged = context->MergeDim(rows, shape.dim(0));
    if (!merged.ok()) return InputError(*context, i, merged.status());
    rows = *merged;
  }
  if (all_known && !has_vector) rows = 1;
  context->SetOutput(0, PartialShape::Vector(rows == kUnknownDim ? kUnknownDim : rows + 1));
  context->SetOutput(1, PartialShape::Vector(kUnknownDim));
  return absl::OkStatus();
}

MILLSTREAM_OP("RaggedRange")
    .Input("starts: T")
    .Input("limits: T")
    .Input("deltas: T")
    .Output("rt_nested_splits: Tsplits")
    .Output("rt_dense_values: T")
    .Attr("T: {bfloat16, float, double, int32, int64} = int32")
    .Attr(TypeAttr("Tsplits", kIndexTypes, " = int64"))
    .Shape(RangeShape)
    .Doc(R"(Makes a ragged tensor of ranges of numbers.

Row i is starts[i], starts[i] + deltas[i], and so on up to limits[i], which it does not have. A scalar stands
for all rows. INVALID_ARGUMENT for a delta of zero.)");

// ---- RaggedGather ----

Status GatherShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t count, context->Attr<int64_t>("PARAMS_RAGGED_RANK"));
  MS_ASSIGN_OR_RETURN(const int64_t output_rank, context->Attr<int64_t>("OUTPUT_RAGGED_RANK"));
  const int values = static_cast<int>(count);
  for (int i = 0; i < values; ++i) MS_RETURN_IF_ERROR(context->WithRank(i, 1).status());
  MS_ASSIGN_OR_RETURN(PartialShape dense, context->WithRankAtLeast(values, 1));
  const PartialShape& indices = context->input(values + 1);
  if (indices.known_rank() && indices.rank() + count - 1 != output_rank) {
    return InvalidAttr(*context, "OUTPUT_RAGGED_RANK", "expected ", indices.rank() + count - 1,
                       ", the rank of indices plus PARAMS_RAGGED_RANK less 1, got ", output_rank);
  }
  // Graph programs see an unknown number of rows in all dimensions.
  for (int i = 0; i < context->num_outputs() - 1; ++i) {
    context->SetOutput(i, PartialShape::Vector(kUnknownDim));
  }
  if (dense.known_rank()) dense.set_dim(0, kUnknownDim);
  context->SetOutput(context->num_outputs() - 1, std::move(dense));
  return absl::OkStatus();
}

MILLSTREAM_OP("RaggedGather")
    .Input("params_nested_splits: PARAMS_RAGGED_RANK * Tsplits")
    .Input("params_dense_values: Tvalues")
    .Input("indices: Tindices")
    .Output("output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits")
    .Output("output_dense_values: Tvalues")
    .Attr("Tvalues: type")
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr(TypeAttr("Tsplits", kIndexTypes, " = int64"))
    .Attr("PARAMS_RAGGED_RANK: int >= 1")
    .Attr("OUTPUT_RAGGED_RANK: int >= 0")
    .Shape(GatherShape)
    .Doc(R"(Gathers rows of a ragged tensor.

params is a ragged tensor: the splits of its dimensions, outermost first, and its values. INVALID_ARGUMENT for
an index that is out of range, and for splits that are not in order.)");

// ---- RaggedTensorToSparse ----

Status ToSparseShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t ragged, context->Attr<int64_t>("RAGGED_RANK"));
  const int values = static_cast<int>(ragged);
  for (int i = 0; i < values; ++i) MS_RETURN_IF_ERROR(context->WithRank(i, 1).status());
  MS_ASSIGN_OR_RETURN(const PartialShape dense, context->WithRankAtLeast(values, 1));
  const int64_t rank = dense.known_rank() ? ragged + dense.rank() : kUnknownDim;
  context->SetOutput(0, PartialShape::Matrix(dense.num_elements(), rank));
  context->SetOutput(1, PartialShape::Vector(dense.num_elements()));
  context->SetOutput(2, PartialShape::Vector(rank));
  return absl::OkStatus();
}

MILLSTREAM_OP("RaggedTensorToSparse")
    .Input("rt_nested_splits: RAGGED_RANK * Tsplits")
    .Input("rt_dense_values: T")
    .Output("sparse_indices: int64")
    .Output("sparse_values: T")
    .Output("sparse_dense_shape: int64")
    .Attr("RAGGED_RANK: int >= 1")
    .Attr("T: type")
    .Attr(TypeAttr("Tsplits", kIndexTypes, " = int64"))
    .Shape(ToSparseShape)
    .Doc(R"(Makes a sparse tensor of a ragged one.

The ragged tensor is the splits of its dimensions, outermost first, and its values, all of which the sparse
tensor has. INVALID_ARGUMENT for splits that are not in order or do not end at the last row.)");

// ---- RaggedTensorToTensor ----

Status ToTensorShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const std::vector<std::string> types,
                      context->Attr<std::vector<std::string>>("row_partition_types"));
  const int64_t ragged = std::count_if(
      types.begin(), types.end(), [](const std::string& type) { return type != "FIRST_DIM_SIZE"; });
  MS_ASSIGN_OR_RETURN(const PartialShape values, context->WithRankAtLeast(1, 1));
  MS_RETURN_IF_ERROR(context->WithRankAtMost(0, 1).status());
  context->SetOutput(0, PartialShape());
  if (!values.known_rank()) return absl::OkStatus();
  PartialShape found = PartialShape::UnknownOfRank(static_cast<int>(ragged) + values.rank());
  for (int i = 1; i < values.rank(); ++i) {
    found.set_dim(static_cast<int>(ragged) + i, values.dim(i));
  }
  const PartialShape& shape = context->input(0);
  if (shape.known_rank() && shape.rank() == 1) {
    MS_ASSIGN_OR_RETURN(const PartialShape given, context->InputAsShape(0));
    StatusOr<PartialShape> merged = found.MergeWith(given);
    if (!merged.ok()) return InputError(*context, 0, merged.status());
    found = *std::move(merged);
  }
  context->SetOutput(0, std::move(found));
  return absl::OkStatus();
}

MILLSTREAM_OP("RaggedTensorToTensor")
    .Input("shape: Tshape")
    .Input("values: T")
    .Input("default_value: T")
    .Input("row_partition_tensors: num_row_partition_tensors * Tindex")
    .Output("result: T")
    .Attr("T: type")
    .Attr("Tindex: {int64, int32}")
    .Attr("Tshape: {int64, int32}")
    .Attr("num_row_partition_tensors: int >= 1")
    .Attr("row_partition_types: list(string)")
    .Shape(ToTensorShape)
    .Doc(R"(Makes a tensor of a ragged one.

Rows that are longer than shape says are cut off; shorter ones are filled with default_value. -1 in shape
stands for the longest row, and the scalar -1 for that in all dimensions. A partition is ROW_SPLITS, as other
ops have them, or VALUE_ROWIDS, which has the row of each value; before these comes FIRST_DIM_SIZE, how many
rows there are.)");

// ---- RaggedTensorToVariant, RaggedTensorFromVariant ----

Status ToVariantShape(ShapeContext* context) {
  const int values = context->num_inputs() - 1;
  for (int i = 0; i < values; ++i) MS_RETURN_IF_ERROR(context->WithRank(i, 1).status());
  MS_RETURN_IF_ERROR(context->WithRankAtLeast(values, 1).status());
  MS_ASSIGN_OR_RETURN(const bool is_batch, context->Attr<bool>("batched_input"));
  if (!is_batch) return ScalarShape(context);
  const PartialShape& splits = context->input(0);
  const int64_t size = splits.known_rank() ? splits.dim(0) : kUnknownDim;
  context->SetOutput(0, PartialShape::Vector(size > 0 ? size - 1 : kUnknownDim));
  return absl::OkStatus();
}

MILLSTREAM_OP("RaggedTensorToVariant")
    .Input("rt_nested_splits: RAGGED_RANK * Tsplits")
    .Input("rt_dense_values: Tvalues")
    .Output("encoded_ragged: variant")
    .Attr("RAGGED_RANK: int >= 1")
    .Attr("Tvalues: type")
    .Attr(TypeAttr("Tsplits", kIndexTypes))
    .Attr("batched_input: bool")
    .Shape(ToVariantShape)
    .Doc(R"(Puts a ragged tensor into a variant, or with batched_input each of its rows into one.

The ragged tensor is the splits of its dimensions, outermost first, and its values. INVALID_ARGUMENT for
splits that are not in order or do not end at the last row.)");

Status FromVariantShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t inner, context->Attr<int64_t>("input_ragged_rank"));
  MS_ASSIGN_OR_RETURN(const int64_t found, context->Attr<int64_t>("output_ragged_rank"));
  const PartialShape& encoded = context->input(0);
  if (encoded.known_rank() &&
      (inner >= 0 ? inner + encoded.rank() != found : encoded.rank() > found)) {
    return InvalidAttr(*context, "output_ragged_rank", "expected input_ragged_rank plus the rank ",
                       "of encoded_ragged, ", inner, " + ", encoded.rank(), ", got ", found);
  }
  for (int i = 0; i + 1 < context->num_outputs(); ++i) {
    context->SetOutput(i, PartialShape::Vector(kUnknownDim));
  }
  context->SetOutput(context->num_outputs() - 1, PartialShape());
  return absl::OkStatus();
}

MILLSTREAM_OP("RaggedTensorFromVariant")
    .Input("encoded_ragged: variant")
    .Output("output_nested_splits: output_ragged_rank * Tsplits")
    .Output("output_dense_values: Tvalues")
    .Attr("input_ragged_rank: int >= -1")
    .Attr("output_ragged_rank: int >= 1")
    .Attr("Tvalues: type")
    .Attr(TypeAttr("Tsplits", kIndexTypes))
    .Shape(FromVariantShape)
    .Doc(R"(Gives the ragged tensor of variants, the reverse of RaggedTensorToVariant.

Each element has input_ragged_rank splits; -1 stands for what follows from output_ragged_rank. The dimensions
of encoded_ragged come before those of the elements. INVALID_ARGUMENT for elements of another type or rank.)");

}  // namespace
}  // namespace millstream
