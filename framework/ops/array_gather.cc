// Ops that choose elements or slices by index or by condition.
#include <optional>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/gather_shape.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// ---- GatherV2 ----

Status GatherShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape params, context->WithRankAtLeast(0, 1));
  const PartialShape& indices = context->input(1);
  MS_ASSIGN_OR_RETURN(std::optional<int> axis, AxisInput(*context, 2, params.rank()));
  MS_ASSIGN_OR_RETURN(std::optional<int> batch_dims, GatherBatchDims(*context));
  context->SetOutput(0, PartialShape());
  if (!params.known_rank() || !indices.known_rank() || !batch_dims.has_value()) {
    return absl::OkStatus();
  }
  const int rank = params.rank() + indices.rank() - 1 - *batch_dims;
  if (!axis.has_value()) {
    if (rank >= 0) context->SetOutput(0, PartialShape::UnknownOfRank(rank));
    return absl::OkStatus();
  }
  MS_ASSIGN_OR_RETURN(PartialShape output,
                      GatheredShape(*context, params, indices, *axis, *batch_dims));
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

Status FirstAxisGatherShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape params, context->WithRankAtLeast(0, 1));
  const PartialShape& indices = context->input(1);
  context->SetOutput(0, PartialShape());
  if (!params.known_rank() || !indices.known_rank()) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(PartialShape output, GatheredShape(*context, params, indices, 0, 0));
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

Status JoinedGatherShape(ShapeContext* context) {
  const int count = context->num_inputs() / 2;
  PartialShape rows;    // of the indices
  int64_t columns = 0;  // kUnknownDim once those of a matrix are not known
  for (int i = 0; i < count; ++i) {
    MS_ASSIGN_OR_RETURN(const PartialShape params, context->WithRank(i, 2));
    StatusOr<PartialShape> merged = rows.MergeWith(context->input(count + i));
    if (!merged.ok()) return InputError(*context, count + i, merged.status());
    rows = *std::move(merged);
    if (columns == kUnknownDim || params.dim(1) == kUnknownDim ||
        __builtin_add_overflow(columns, params.dim(1), &columns)) {
      columns = kUnknownDim;
    }
  }
  context->SetOutput(0, PartialShape());
  if (!rows.known_rank()) return absl::OkStatus();
  PartialShape output = PartialShape::UnknownOfRank(rows.rank() + 1);
  for (int d = 0; d < rows.rank(); ++d) output.set_dim(d, rows.dim(d));
  output.set_dim(rows.rank(), columns);
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

// Picks elements of a vector.
void GatherValue(ShapeContext* context) {
  const std::optional<PartialValue> params = IndexElements(*context, 0);
  const std::optional<std::vector<int64_t>> indices = KnownIndexElements(*context, 1);
  const StatusOr<std::optional<int>> batch_dims = GatherBatchDims(*context);
  if (!params.has_value() || !indices.has_value()) return;
  if (!batch_dims.ok() || *batch_dims != 0) return;
  PartialValue gathered;
  for (const int64_t index : *indices) {
    if (index < 0 || index >= static_cast<int64_t>(params->size())) return;
    gathered.push_back((*params)[index]);
  }
  SetIndexValue(context, 0, std::move(gathered));
}

// ---- OneHot ----

Status OneHotShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(std::optional<int64_t> depth, IndexScalar(*context, 1));
  if (depth.has_value() && *depth < 0) {
    return InvalidInput(*context, 1, "must not be negative, got ", *depth);
  }
  for (int i = 2; i <= 3; ++i) MS_RETURN_IF_ERROR(context->WithRank(i, 0).status());
  MS_ASSIGN_OR_RETURN(int64_t axis_attr, context->Attr<int64_t>("axis"));
  if (axis_attr < -1) return InvalidAttr(*context, "axis", "must be at least -1, got ", axis_attr);
  const PartialShape& indices = context->input(0);
  context->SetOutput(0, PartialShape());
  if (!indices.known_rank()) return absl::OkStatus();
  const StatusOr<int> axis = NormalizeAxis(axis_attr, indices.rank() + 1);
  if (!axis.ok()) return AttrError(*context, "axis", axis.status());
  PartialShape output = PartialShape::Scalar();
  for (int i = 0; i < indices.rank() + 1; ++i) {
    if (i == *axis) output.AddDim(depth.value_or(kUnknownDim));
    if (i < indices.rank()) output.AddDim(indices.dim(i));
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

// ---- Select ----

// The condition is a scalar, chooses rows, or has the shape of what it chooses from.
Status SelectShape(ShapeContext* context) {
  const PartialShape& condition = context->input(0);
  StatusOr<PartialShape> merged = context->input(1).MergeWith(context->input(2));
  if (!merged.ok()) return InputError(*context, 2, merged.status());
  PartialShape output = *std::move(merged);
  if (condition.rank() == 1 && output.known_rank()) {
    if (output.rank() == 0) {
      return InvalidInput(*context, 0, "expected a scalar to choose between scalars, got ",
                          condition.ToString());
    }
    const StatusOr<int64_t> rows = context->MergeDim(output.dim(0), condition.dim(0));
    if (!rows.ok()) return InputError(*context, 0, rows.status());
    output.set_dim(0, *rows);
  } else if (condition.rank() > 1) {
    StatusOr<PartialShape> whole = output.MergeWith(condition);
    if (!whole.ok()) return InputError(*context, 0, whole.status());
    output = *std::move(whole);
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

// The broadcast of all three.
Status SelectV2Shape(ShapeContext* context) {
  const StatusOr<PartialShape> values = BroadcastShapes(context->input(1), context->input(2));
  if (!values.ok()) return InputError(*context, 2, values.status());
  StatusOr<PartialShape> whole = BroadcastShapes(context->input(0), *values);
  if (!whole.ok()) return InputError(*context, 0, whole.status());
  context->SetOutput(0, *std::move(whole));
  return absl::OkStatus();
}

// ---- Where ----

Status WhereShape(ShapeContext* context) {
  const PartialShape& input = context->input(0);
  const int64_t rank = input.known_rank() ? input.rank() : kUnknownDim;
  context->SetOutput(0, PartialShape({kUnknownDim, rank}));
  return absl::OkStatus();
}

// ---- Definitions ----

MILLSTREAM_OP("Gather")
    .Input("params: Tparams")
    .Input("indices: Tindices")
    .Output("output: Tparams")
    .Attr("validate_indices: bool = true")
    .Attr("Tparams: type")
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .KeepsFinite()
    .Shape(FirstAxisGatherShape)
    .Doc(R"(Takes rows of params in the order of indices, in imported graphs.

As GatherV2 along the first axis. validate_indices counts for nothing: INVALID_ARGUMENT for an index
outside.)");

MILLSTREAM_OP("GatherV2")
    .Input("params: Tparams")
    .Input("indices: Tindices")
    .Input("axis: Taxis")
    .Output("output: Tparams")
    .Attr("batch_dims: int = 0")
    .Attr("Tparams: type")
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr(TypeAttr("Taxis", kIndexTypes))
    .KeepsFinite()
    .Shape(GatherShape)
    .Value(GatherValue)
    .Doc(R"(Takes slices of params along one axis, in the order of indices.

In the output's shape that of indices replaces dimension axis. The first batch_dims
dimensions of params and indices are the same and are gathered one by one; a negative
batch_dims counts from the end of the dimensions of indices. INVALID_ARGUMENT for an index
outside.)");

MILLSTREAM_OP("_JoinedGather")
    .Input("params: N * T")
    .Input("indices: N * Tindices")
    .Output("output: T")
    .Attr("N: int >= 1")
    .Attr(TypeAttr("T", kRealFloatTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .KeepsFinite()
    .Shape(JoinedGatherShape)
    .Doc(R"(Takes rows of several matrices, each by indices of its own, and joins them.

All indices have one shape. The output has it, too, and one more dimension: for each index the row
of params[0], then that of params[1], and so on. INVALID_ARGUMENT for an index outside. Made by the
runtime.)");

MILLSTREAM_OP("OneHot")
    .Input("indices: TI")
    .Input("depth: int32")
    .Input("on_value: T")
    .Input("off_value: T")
    .Output("output: T")
    .Attr("axis: int = -1")
    .Attr("T: type")
    .Attr("TI: {uint8, int32, int64} = int64")
    .KeepsFinite()
    .Shape(OneHotShape)
    .Doc(R"(Turns indices into vectors that mark them.

The output has one more dimension than indices, of size depth, at axis (-1: the last). It
holds on_value where the place along axis is the index, and off_value elsewhere; an index
outside 0 to depth exclusive marks nothing. depth, on_value and off_value are scalars.)");

MILLSTREAM_OP("Select")
    .Input("condition: bool")
    .Input("t: T")
    .Input("e: T")
    .Output("output: T")
    .Attr("T: type")
    .KeepsFinite()
    .Speculatable()
    .Shape(SelectShape)
    .Doc(R"(Takes from t where condition is true, and from e elsewhere.

t and e have one shape, which the output has too. condition has that shape, or is a scalar
that chooses all of one, or a vector that chooses rows.)");

MILLSTREAM_OP("SelectV2")
    .Input("condition: bool")
    .Input("t: T")
    .Input("e: T")
    .Output("output: T")
    .Attr("T: type")
    .KeepsFinite()
    .Speculatable()
    .Shape(SelectV2Shape)
    .Doc(R"(Takes from t where condition is true, and from e elsewhere.

condition, t and e are broadcast to one shape.)")
    .Example(R"(
>>> tf.where_v2([[True], [False]], [1, 2], 0).eval().tolist()
[[1, 2], [0, 0]])");

MILLSTREAM_OP("Where")
    .Input("input: T")
    .Output("index: int64")
    .Attr(TypeAttr("T", kNumbersAndBool, " = bool"))
    .Shape(WhereShape)
    .Doc(R"(Finds the elements that are true, or not zero.

index has a row for each of them, its index, in the order in which they are stored.)")
    .Example(R"(
>>> tf.where([[True, False], [True, True]]).eval().tolist()
[[0, 0], [1, 0], [1, 1]])");

}  // namespace
}  // namespace millstream
