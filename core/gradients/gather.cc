// The gradients of Gather and GatherV2: rows of dy are added at the positions from which they were
// gathered.
#include <cstdint>
#include <vector>

#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// Rows gathered along the first axis: the gradient is those rows.
void SetRowGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output params = context->input(0);
  const Output shape = ShapeVector(builder, params);
  const Output indices = builder->Op("Reshape", {context->input(1), builder->Int32Vector({-1})});
  const Output row = builder->Op(
      "StridedSlice",
      {shape, builder->Int32Vector({1}), builder->Int32Vector({0}), builder->Int32Vector({1})},
      {{"end_mask", 1}});
  const Output count = builder->Op(
      "Reshape", {builder->Op("Size", {context->input(1)}, {{"out_type", shape.dtype()}}),
                  builder->Int32Vector({1})});
  const Output values =
      builder->Op("Reshape", {context->dy(0), ConcatVectors(builder, {count, row})});
  context->SetDx(0, Gradient{values, indices, shape});
}

Output AsScalar(GraphBuilder* builder, Output tensor) {
  return builder->Op("Reshape", {tensor, builder->Int32Vector({})});
}

// What both ways below work with. All but `has_batch` are int32 tensors.
struct GatherAxes {
  Output front_of_dy;      // permutation that brings dy's gathered axes behind those of the batch
  Output front_of_params;  // permutation that brings params' axis behind those of the batch
  Output rows;             // scalar: the size of the axis
  Output batch_rank;       // vector of one
  Output ones;             // as many as dy has gathered axes
  bool has_batch;
};

// Batches one after the other: the rows of batch k begin at k * rows. Gives the indices counted
// from there, and in `*rows` how many rows there are in all.
Output IndicesOverBatches(GradientContext* context, Output shape, const GatherAxes& axes,
                          Output* rows) {
  GraphBuilder* builder = context->builder();
  const Output indices = context->input(1);
  const Output batch_shape =
      builder->Op("Slice", {shape, builder->Int32Vector({0}), axes.batch_rank});
  const Output batches = builder->Op("Prod", {batch_shape, builder->Int32Vector({0})});
  const Output numbers = builder->Op("Range", {builder->Int32(0), batches, builder->Int32(1)});
  const Output starts =
      builder->Op("Cast", {builder->Op("Mul", {numbers, *rows})}, {{"DstT", indices.dtype()}});
  *rows = builder->Op("Mul", {batches, *rows});
  const Output spread = ConcatVectors(builder, {batch_shape, axes.ones});
  return builder->Op("Add", {indices, builder->Op("Reshape", {starts, spread})});
}

// The gathered axes go to the front (behind those of the batch), rows are added up there, and go
// back.
void SetAxisGradient(GradientContext* context, Output shape, const GatherAxes& axes) {
  GraphBuilder* builder = context->builder();
  const Output front = builder->Op("Transpose", {context->dy(0), axes.front_of_dy});
  Output rows = axes.rows;
  Output indices = context->input(1);
  if (axes.has_batch) indices = IndicesOverBatches(context, shape, axes, &rows);
  Output sums = builder->Op("UnsortedSegmentSum", {front, indices, rows});
  if (axes.has_batch) {
    const Output ordered =
        builder->Op("GatherV2", {shape, axes.front_of_params, builder->Int32(0)});
    sums = builder->Op("Reshape", {sums, ordered});
  }
  const Output back = builder->Op("InvertPermutation", {axes.front_of_params});
  context->SetDx(0, builder->Op("Transpose", {sums, back}));
}

// ---- The ranks and the axis are known ----

// The permutation that brings `count` axes that start at `from` behind the first `batch` ones.
Output FrontPermutation(GraphBuilder* builder, int rank, int batch, int from, int count) {
  std::vector<int32_t> order;
  for (int i = 0; i < batch; ++i) order.push_back(i);
  for (int i = 0; i < count; ++i) order.push_back(from + i);
  for (int i = batch; i < rank; ++i) {
    if (i < from || i >= from + count) order.push_back(i);
  }
  return builder->Int32Vector(order);
}

void SetKnownAxisGradient(GradientContext* context, int params_rank, int indices_rank, int batch,
                          int axis) {
  GraphBuilder* builder = context->builder();
  const int gathered = indices_rank - batch;
  const int dy_rank = params_rank - 1 + gathered;
  const Output shape = ShapeVector(builder, context->input(0));
  GatherAxes axes;
  axes.front_of_dy = FrontPermutation(builder, dy_rank, batch, axis, gathered);
  axes.front_of_params = FrontPermutation(builder, params_rank, batch, axis, 1);
  axes.rows = AsScalar(builder, ElementOf(builder, shape, axis));
  axes.batch_rank = builder->Int32Vector({batch});
  axes.ones = builder->Int32Vector(std::vector<int32_t>(gathered, 1));
  axes.has_batch = batch > 0;
  SetAxisGradient(context, shape, axes);
}

// ---- They are computed ----

// As FrontPermutation, of int32 scalars.
Output ComputedPermutation(GraphBuilder* builder, Output rank, Output batch, Output from,
                           Output count) {
  const auto range = [&](Output begin, Output end) {
    return builder->Op("Range", {begin, end, builder->Int32(1)});
  };
  const Output end = builder->Op("Add", {from, count});
  return ConcatVectors(builder, {range(builder->Int32(0), batch), range(from, end),
                                 range(batch, from), range(end, rank)});
}

void SetComputedAxisGradient(GradientContext* context, int64_t batch_dims) {
  GraphBuilder* builder = context->builder();
  const Output rank = builder->Op("Rank", {context->input(0)});
  const Output indices_rank = builder->Op("Rank", {context->input(1)});
  const Output given_axis =
      context->input(2).dtype() == DataType::kInt32
          ? context->input(2)
          : builder->Op("Cast", {context->input(2)}, {{"DstT", DataType::kInt32}});
  const Output axis = builder->Op("FloorMod", {given_axis, rank});
  const Output attr = builder->Int32(static_cast<int32_t>(batch_dims));
  const Output batch = batch_dims < 0 ? builder->Op("Add", {indices_rank, attr}) : attr;
  const Output gathered = builder->Op("Sub", {indices_rank, batch});
  const Output shape = builder->Op("Shape", {context->input(0)});
  GatherAxes axes;
  axes.front_of_dy =
      ComputedPermutation(builder, builder->Op("Rank", {context->dy(0)}), batch, axis, gathered);
  axes.front_of_params = ComputedPermutation(builder, rank, batch, axis, builder->Int32(1));
  axes.rows = builder->Op("GatherV2", {shape, axis, builder->Int32(0)});
  axes.batch_rank = builder->Op("Reshape", {batch, builder->Int32Vector({1})});
  axes.ones = OnesVector(builder, gathered);
  axes.has_batch = batch_dims != 0;
  SetAxisGradient(context, shape, axes);
}

Status GatherGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  MS_ASSIGN_OR_RETURN(int64_t batch_dims, context->Attr<int64_t>("batch_dims"));
  const Tensor* axis_value = Graph::ConstantValue(context->input(2));
  const PartialShape params = builder->ShapeOf(context->input(0));
  const PartialShape indices = builder->ShapeOf(context->input(1));
  if (axis_value == nullptr) {
    SetComputedAxisGradient(context, batch_dims);
    return absl::OkStatus();
  }
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, IntegerValues(*axis_value));
  if (axes[0] == 0 && batch_dims == 0) {
    SetRowGradient(context);
    return absl::OkStatus();
  }
  if (!params.known_rank() || !indices.known_rank()) {
    SetComputedAxisGradient(context, batch_dims);
    return absl::OkStatus();
  }
  MS_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axes[0], params.rank()));
  if (batch_dims < 0) batch_dims += indices.rank();
  SetKnownAxisGradient(context, params.rank(), indices.rank(), static_cast<int>(batch_dims), axis);
  return absl::OkStatus();
}
MILLSTREAM_GRADIENT("GatherV2", GatherGradient);

Status FirstAxisGatherGradient(GradientContext* context) {
  SetRowGradient(context);
  return absl::OkStatus();
}
MILLSTREAM_GRADIENT("Gather", FirstAxisGatherGradient);

}  // namespace
}  // namespace millstream
