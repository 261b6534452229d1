// Gradients of ops that move elements.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

Status PassOn(GradientContext* context) {
  for (int i = 0; i < context->node().num_outputs(); ++i) {
    if (context->has_dy(i)) context->SetDx(i, context->raw_dy(i));
  }
  return absl::OkStatus();
}

// Reshape, ExpandDims, Squeeze: the same elements in the input's shape.
Status ShapeBack(GradientContext* context) {
  context->SetDx(0, ReshapeLike(context->builder(), context->dy(0), context->input(0)));
  return absl::OkStatus();
}

Status TransposeGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output inverse = builder->Op("InvertPermutation", {context->input(1)});
  context->SetDx(0, builder->Op("Transpose", {context->dy(0), inverse}));
  return absl::OkStatus();
}

std::vector<Output> InputsBetween(const GradientContext& context, int begin, int end) {
  return std::vector<Output>(context.node().inputs().begin() + begin,
                             context.node().inputs().begin() + end);
}

// The axis is the last input; each part gets its slice.
Status ConcatGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const int count = context->num_inputs() - 1;
  const Output dy = context->dy(0);
  if (count == 1) {
    context->SetDx(0, dy);
    return absl::OkStatus();
  }
  const Output axis = context->input(count);
  const Node* shapes = builder->Variadic("ShapeN", {InputsBetween(*context, 0, count)});
  if (shapes == nullptr) return builder->status();
  std::vector<Output> sizes;
  for (int i = 0; i < count; ++i) sizes.push_back(shapes->output(i));
  const Output axis32 = axis.dtype() == DataType::kInt32
                            ? axis
                            : builder->Op("Cast", {axis}, {{"DstT", DataType::kInt32}});
  const Node* offsets = builder->Variadic("ConcatOffset", {{axis32}, sizes});
  if (offsets == nullptr) return builder->status();
  for (int i = 0; i < count; ++i) {
    context->SetDx(i, builder->Op("Slice", {dy, offsets->output(i), sizes[i]}));
  }
  return absl::OkStatus();
}

std::vector<Output> AllDy(GradientContext* context) {
  std::vector<Output> all;
  for (int i = 0; i < context->node().num_outputs(); ++i) all.push_back(context->dy(i));
  return all;
}

Output Concat(GradientContext* context, const std::vector<Output>& parts, Output axis) {
  const Node* node = context->builder()->Variadic("ConcatV2", {parts, {axis}});
  return node == nullptr ? Output() : node->output(0);
}

Status SplitGradient(GradientContext* context) {
  const std::vector<Output> parts = AllDy(context);
  context->SetDx(1, parts.size() == 1 ? parts[0] : Concat(context, parts, context->input(0)));
  return absl::OkStatus();
}

Status SplitVGradient(GradientContext* context) {
  const std::vector<Output> parts = AllDy(context);
  context->SetDx(0, parts.size() == 1 ? parts[0] : Concat(context, parts, context->input(2)));
  return absl::OkStatus();
}

Status PackGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  MS_ASSIGN_OR_RETURN(const int64_t axis, context->Attr<int64_t>("axis"));
  const int64_t count = context->num_inputs();
  const Node* parts = builder->NodeOf("Unpack", {context->dy(0)}, {{"num", count}, {"axis", axis}});
  if (parts == nullptr) return builder->status();
  for (int i = 0; i < count; ++i) context->SetDx(i, parts->output(i));
  return absl::OkStatus();
}

Status UnpackGradient(GradientContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t axis, context->Attr<int64_t>("axis"));
  const Node* packed = context->builder()->Variadic("Pack", {AllDy(context)}, {{"axis", axis}});
  if (packed != nullptr) context->SetDx(0, packed->output(0));
  return absl::OkStatus();
}

// A slice is a strided slice with strides of one.
Status SliceGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output begin = context->input(1);
  const bool wide = begin.dtype() == DataType::kInt64;
  const auto shape_of = [&](Output tensor) {
    return wide ? builder->Op("Shape", {tensor}, {{"out_type", DataType::kInt64}})
                : builder->Op("Shape", {tensor});
  };
  const Output end = builder->Op("Add", {begin, shape_of(context->output(0))});
  const Output strides = builder->Op("OnesLike", {begin});
  context->SetDx(0, builder->Op("StridedSliceGrad", {shape_of(context->input(0)), begin, end,
                                                     strides, context->dy(0)}));
  return absl::OkStatus();
}

const std::vector<const char*>& MaskAttrs() {
  static const auto* const names = new std::vector<const char*>{
      "begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"};
  return *names;
}

Status StridedSliceGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const DataType index = context->input(1).dtype();
  const Output shape = builder->Op("Shape", {context->input(0)}, {{"out_type", index}});
  context->SetDx(0, builder->OpWithAttrs("StridedSliceGrad",
                                         {shape, context->input(1), context->input(2),
                                          context->input(3), context->dy(0)},
                                         context->node().attrs(), MaskAttrs()));
  return absl::OkStatus();
}

Status StridedSliceGradGradient(GradientContext* context) {
  context->SetDx(4, context->builder()->OpWithAttrs(
                        "StridedSlice",
                        {context->dy(0), context->input(1), context->input(2), context->input(3)},
                        context->node().attrs(), MaskAttrs()));
  return absl::OkStatus();
}

// The inner part: it begins after the padding before it.
Status PadGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output paddings = context->input(1);
  const DataType index = paddings.dtype();
  const Output column = builder->Op("StridedSlice",
                                    {paddings, builder->Int32Vector({0, 0}),
                                     builder->Int32Vector({0, 1}), builder->Int32Vector({1, 1})},
                                    {{"begin_mask", 1}, {"end_mask", 1}, {"shrink_axis_mask", 2}});
  const Output size = builder->Op("Shape", {context->input(0)}, {{"out_type", index}});
  context->SetDx(0, builder->Op("Slice", {context->dy(0), column, size}));
  return absl::OkStatus();
}

// A tiled dimension of size d, n times, is [n, d]: the sum runs over the n.
Status TileGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const PartialShape input = builder->ShapeOf(context->input(0));
  if (!input.known_rank()) return errors::Unimplemented("the input's rank must be known");
  if (input.rank() == 0) {
    context->SetDx(0, context->dy(0));
    return absl::OkStatus();
  }
  const DataType index = context->input(1).dtype();
  const Output shape = builder->Op("Shape", {context->input(0)}, {{"out_type", index}});
  std::vector<Output> sizes;
  std::vector<int32_t> axes;
  for (int i = 0; i < input.rank(); ++i) {
    sizes.push_back(ElementOf(builder, context->input(1), i));
    sizes.push_back(ElementOf(builder, shape, i));
    axes.push_back(2 * i);
  }
  const Output split = builder->Op("Reshape", {context->dy(0), ConcatVectors(builder, sizes)});
  context->SetDx(0, builder->Op("Sum", {split, builder->Int32Vector(axes)}));
  return absl::OkStatus();
}

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

Output AsScalar(GraphBuilder* builder, Output tensor) {
  return builder->Op("Reshape", {tensor, builder->Const(Tensor::Vector<int32_t>({}))});
}

// Batches one after the other: the rows of batch k begin at k * rows. Gives the indices counted
// from there, and in `*rows` how many rows there are in all.
Output IndicesOverBatches(GradientContext* context, Output shape, int batch, int axes_of_indices,
                          Output* rows) {
  GraphBuilder* builder = context->builder();
  const Output indices = context->input(1);
  const Output batch_shape =
      builder->Op("Slice", {shape, builder->Int32Vector({0}), builder->Int32Vector({batch})});
  const Output batches = builder->Op("Prod", {batch_shape, builder->Int32Vector({0})});
  const Output numbers = builder->Op("Range", {builder->Int32(0), batches, builder->Int32(1)});
  const Output starts =
      builder->Op("Cast", {builder->Op("Mul", {numbers, *rows})}, {{"DstT", indices.dtype()}});
  *rows = builder->Op("Mul", {batches, *rows});
  const Output ones = builder->Int32Vector(std::vector<int32_t>(axes_of_indices, 1));
  const Output spread = ConcatVectors(builder, {batch_shape, ones});
  return builder->Op("Add", {indices, builder->Op("Reshape", {starts, spread})});
}

// The gathered axes go to the front (behind those of the batch), rows are added up there, and go
// back.
void SetGatherGradient(GradientContext* context, int params_rank, int indices_rank, int batch,
                       int axis) {
  GraphBuilder* builder = context->builder();
  const int gathered = indices_rank - batch;
  const int out_rank = params_rank - 1 + gathered;
  const Output front = builder->Op(
      "Transpose", {context->dy(0), FrontPermutation(builder, out_rank, batch, axis, gathered)});
  const Output shape = ShapeVector(builder, context->input(0));
  const Output order = FrontPermutation(builder, params_rank, batch, axis, 1);
  Output rows = AsScalar(builder, ElementOf(builder, shape, axis));
  Output indices = context->input(1);
  if (batch > 0) indices = IndicesOverBatches(context, shape, batch, gathered, &rows);
  Output sums = builder->Op("UnsortedSegmentSum", {front, indices, rows});
  if (batch > 0) {
    const Output ordered = builder->Op("GatherV2", {shape, order, builder->Int32(0)});
    sums = builder->Op("Reshape", {sums, ordered});
  }
  context->SetDx(0, builder->Op("Transpose", {sums, builder->Op("InvertPermutation", {order})}));
}

Status GatherGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  MS_ASSIGN_OR_RETURN(int64_t batch_dims, context->Attr<int64_t>("batch_dims"));
  const Tensor* axis_value = Graph::ConstantValue(context->input(2));
  if (axis_value == nullptr) return errors::Unimplemented("'axis' must be a constant");
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, IntegerValues(*axis_value));
  if (axes[0] == 0 && batch_dims == 0) {
    SetRowGradient(context);
    return absl::OkStatus();
  }
  const PartialShape params = builder->ShapeOf(context->input(0));
  const PartialShape indices = builder->ShapeOf(context->input(1));
  if (!params.known_rank() || !indices.known_rank()) {
    return errors::Unimplemented("the ranks of 'params' and 'indices' must be known");
  }
  MS_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axes[0], params.rank()));
  if (batch_dims < 0) batch_dims += indices.rank();
  SetGatherGradient(context, params.rank(), indices.rank(), static_cast<int>(batch_dims), axis);
  return absl::OkStatus();
}

// Each row gets the gradient of its segment; rows of negative segments, which are left out, get
// none.
Status UnsortedSegmentSumGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output ids = context->input(1);
  const PartialShape data = builder->ShapeOf(context->input(0));
  const PartialShape ids_shape = builder->ShapeOf(ids);
  if (!data.known_rank() || !ids_shape.known_rank()) {
    return errors::Unimplemented("the ranks of 'data' and 'segment_ids' must be known");
  }
  const Output zero = builder->ScalarOf(ids.dtype(), 0);
  const Output rows = builder->Op(
      "GatherV2", {context->dy(0), builder->Op("Maximum", {ids, zero}), builder->Int32(0)});
  Output taken = builder->Op("Cast", {builder->Op("GreaterEqual", {ids, zero})},
                             {{"DstT", context->input(0).dtype()}});
  for (int i = ids_shape.rank(); i < data.rank(); ++i) {
    taken = builder->Op("ExpandDims", {taken, builder->Int32(-1)});
  }
  context->SetDx(0, builder->Op("Mul", {rows, taken}));
  return absl::OkStatus();
}

Status FillGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output axes =
      builder->Op("Range", {builder->Int32(0), builder->Op("Rank", {dy}), builder->Int32(1)});
  context->SetDx(1, builder->Op("Sum", {dy, axes}));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("Identity", PassOn);
MILLSTREAM_GRADIENT("IdentityN", PassOn);
MILLSTREAM_GRADIENT("PlaceholderWithDefault", PassOn);
MILLSTREAM_GRADIENT("Reshape", ShapeBack);
MILLSTREAM_GRADIENT("ExpandDims", ShapeBack);
MILLSTREAM_GRADIENT("Squeeze", ShapeBack);
MILLSTREAM_GRADIENT("Transpose", TransposeGradient);
MILLSTREAM_GRADIENT("ConcatV2", ConcatGradient);
MILLSTREAM_GRADIENT("Split", SplitGradient);
MILLSTREAM_GRADIENT("SplitV", SplitVGradient);
MILLSTREAM_GRADIENT("Pack", PackGradient);
MILLSTREAM_GRADIENT("Unpack", UnpackGradient);
MILLSTREAM_GRADIENT("Slice", SliceGradient);
MILLSTREAM_GRADIENT("StridedSlice", StridedSliceGradient);
MILLSTREAM_GRADIENT("StridedSliceGrad", StridedSliceGradGradient);
MILLSTREAM_GRADIENT("Pad", PadGradient);
MILLSTREAM_GRADIENT("Tile", TileGradient);
MILLSTREAM_GRADIENT("GatherV2", GatherGradient);
MILLSTREAM_GRADIENT("UnsortedSegmentSum", UnsortedSegmentSumGradient);
MILLSTREAM_GRADIENT("Fill", FillGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("Const");
MILLSTREAM_NOT_DIFFERENTIABLE("Placeholder");
MILLSTREAM_NOT_DIFFERENTIABLE("StopGradient");
MILLSTREAM_NOT_DIFFERENTIABLE("Shape");
MILLSTREAM_NOT_DIFFERENTIABLE("ShapeN");
MILLSTREAM_NOT_DIFFERENTIABLE("Rank");
MILLSTREAM_NOT_DIFFERENTIABLE("Size");
MILLSTREAM_NOT_DIFFERENTIABLE("BroadcastGradientArgs");
MILLSTREAM_NOT_DIFFERENTIABLE("ConcatOffset");
MILLSTREAM_NOT_DIFFERENTIABLE("ZerosLike");
MILLSTREAM_NOT_DIFFERENTIABLE("OnesLike");
MILLSTREAM_NOT_DIFFERENTIABLE("Range");
MILLSTREAM_NOT_DIFFERENTIABLE("InvertPermutation");
MILLSTREAM_NOT_DIFFERENTIABLE("OneHot");
MILLSTREAM_NOT_DIFFERENTIABLE("RandomUniform");
MILLSTREAM_NOT_DIFFERENTIABLE("RandomUniformInt");
MILLSTREAM_NOT_DIFFERENTIABLE("RandomStandardNormal");
MILLSTREAM_NOT_DIFFERENTIABLE("TruncatedNormal");
MILLSTREAM_NOT_DIFFERENTIABLE("ScalarSummary");
MILLSTREAM_NOT_DIFFERENTIABLE("MergeSummary");

}  // namespace
}  // namespace millstream
