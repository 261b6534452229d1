// Ops that distribute rows to partitions by number, and merge rows by number.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The shape of one row of input `data`, whose leading dimensions are those of input `numbers`:
// unknown when one of the ranks is.
StatusOr<PartialShape> RowShape(const ShapeContext& context, int data, int numbers) {
  const PartialShape& whole = context.input(data);
  const PartialShape& leading = context.input(numbers);
  if (!whole.known_rank() || !leading.known_rank()) return PartialShape();
  if (leading.rank() > whole.rank()) {
    return InvalidInput(context, data, "expected a shape that begins with that of '",
                        context.InputName(numbers), "', ", leading.ToString(), ", got ",
                        whole.ToString());
  }
  for (int i = 0; i < leading.rank(); ++i) {
    const StatusOr<int64_t> merged = context.MergeDim(whole.dim(i), leading.dim(i));
    if (!merged.ok()) return InputError(context, data, merged.status());
  }
  PartialShape row = PartialShape::Scalar();
  for (int i = leading.rank(); i < whole.rank(); ++i) row.AddDim(whole.dim(i));
  return row;
}

PartialShape RowsOf(int64_t count, const PartialShape& row) {
  if (!row.known_rank()) return PartialShape();
  PartialShape rows = PartialShape::Vector(count);
  for (int i = 0; i < row.rank(); ++i) rows.AddDim(row.dim(i));
  return rows;
}

// ---- DynamicPartition ----

Status PartitionShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape row, RowShape(*context, 0, 1));
  for (int i = 0; i < context->num_outputs(); ++i) {
    context->SetOutput(i, RowsOf(kUnknownDim, row));
  }
  return absl::OkStatus();
}

// ---- DynamicStitch ----

// The elements of int32 input i, in flat order, when all are known. Those of an empty input are not
// known from its shape alone: graph programs see an unknown number of rows there.
std::optional<std::vector<int64_t>> KnownIndices(const ShapeContext& context, int i) {
  const Tensor* constant = context.constant(i);
  if (constant == nullptr) {
    std::optional<std::vector<int64_t>> elements = KnownIndexElements(context, i);
    if (elements.has_value() && elements->empty()) elements.reset();
    return elements;
  }
  const int32_t* values = constant->data<int32_t>();
  return std::vector<int64_t>(values, values + constant->num_elements());
}

// One more than the largest index of all; unknown when some index is.
StatusOr<int64_t> StitchedRows(const ShapeContext& context, int count) {
  int64_t rows = 0;
  for (int i = 0; i < count; ++i) {
    const std::optional<std::vector<int64_t>> indices = KnownIndices(context, i);
    if (!indices.has_value()) return kUnknownDim;
    for (const int64_t index : *indices) {
      if (index < 0) return InvalidInput(context, i, "must not be negative, got ", index);
      rows = std::max(rows, index + 1);
    }
  }
  return rows;
}

Status StitchShape(ShapeContext* context) {
  const int count = context->num_inputs() / 2;
  PartialShape row;
  for (int i = 0; i < count; ++i) {
    MS_ASSIGN_OR_RETURN(PartialShape next, RowShape(*context, count + i, i));
    StatusOr<PartialShape> merged = row.MergeWith(next);
    if (!merged.ok()) {
      return InvalidInput(*context, count + i, "expected rows of shape ", row.ToString(),
                          " as before, got ", next.ToString());
    }
    row = *std::move(merged);
  }
  MS_ASSIGN_OR_RETURN(int64_t rows, StitchedRows(*context, count));
  context->SetOutput(0, RowsOf(rows, row));
  return absl::OkStatus();
}

// Places elements of scalars and vectors.
void StitchValue(ShapeContext* context) {
  const PartialShape& output = context->output(0);
  if (output.rank() != 1 || !output.IsFullyKnown() || output.dim(0) > kMaxFollowedElements) return;
  PartialValue stitched(output.dim(0));
  const int count = context->num_inputs() / 2;
  for (int i = 0; i < count; ++i) {
    const std::optional<std::vector<int64_t>> indices = KnownIndices(*context, i);
    const std::optional<PartialValue> data = IndexElements(*context, count + i);
    if (!indices.has_value() || !data.has_value() || indices->size() != data->size()) return;
    for (size_t k = 0; k < indices->size(); ++k) stitched[(*indices)[k]] = (*data)[k];
  }
  SetIndexValue(context, 0, std::move(stitched));
}

// ---- Definitions ----

MILLSTREAM_OP("DynamicPartition")
    .Input("data: T")
    .Input("partitions: int32")
    .Output("outputs: num_partitions * T")
    .Attr("num_partitions: int >= 1")
    .Attr("T: type")
    .KeepsFinite()
    .Shape(PartitionShape)
    .Doc(R"(Deals the rows of a tensor out to num_partitions outputs.

The shape of partitions is that of the leading dimensions of data; what is left is a row.
Output i holds the rows whose partition is i, in their order. INVALID_ARGUMENT for a partition
outside 0 to num_partitions exclusive.)")
    .Example(R"(
>>> parts = tf.dynamic_partition([1, 2, 3, 4], [0, 1, 0, 1], 2)
>>> [part.eval().tolist() for part in parts]
[[1, 3], [2, 4]])");

void Stitched(OpSpec* spec) {
  spec->Input("indices: N * int32")
      .Input("data: N * T")
      .Output("merged: T")
      .Attr("N: int >= 1")
      .Attr("T: type")
      .KeepsFinite()
      .Shape(StitchShape)
      .Value(StitchValue);
}

MILLSTREAM_OP("ParallelDynamicStitch")
    .With(Stitched)
    .Doc(R"(Puts rows of several tensors at given places of one, as DynamicStitch does.

A program that uses it does not care which row counts where an index comes more than once. Here it
is the last one.)");

MILLSTREAM_OP("DynamicStitch")
    .With(Stitched)
    .Doc(R"(Puts rows of several tensors at given places of one.

The shape of indices[i] is that of the leading dimensions of data[i]; what is left is a row, of
one shape in all of data. Row indices[i][k] of the output is row k of data[i]; where an index
comes more than once, the last one counts. The output has as many rows as the largest index
says; rows that no index names are zero. INVALID_ARGUMENT for a negative index.)")
    .Example(R"(
>>> tf.dynamic_stitch([[0, 2], [1]], [[1, 3], [2]]).eval()
array([1, 2, 3], dtype=int32))");

}  // namespace
}  // namespace millstream
