// Gradients of the ops that find elements of rows by their order.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// Places in whole tensors are counted in it.
constexpr DataType kWide = DataType::kInt64;

// The last dimension of a tensor, a scalar.
Output RowSize(GraphBuilder* builder, Output tensor) {
  const Output shape = builder->Op("Shape", {tensor}, {{"out_type", kWide}});
  return builder->Op(
      "StridedSlice",
      {shape, builder->Int32Vector({-1}), builder->Int32Vector({0}), builder->Int32Vector({1})},
      {{"end_mask", 1}, {"shrink_axis_mask", 1}});
}

Output Flat(GraphBuilder* builder, Output tensor) {
  return builder->Op("Reshape", {tensor, builder->Int32Vector({-1})});
}

// Each element of dy belongs to the place in its row that output 1 gives: all are added to a tensor
// of zeros, by their places in the whole of it.
Status TopKGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output input = context->input(0);
  const Output indices = context->output(1);
  const Output zero = builder->ScalarOf(kWide, 0);
  const Output one = builder->ScalarOf(kWide, 1);
  const Output count = builder->Op("Size", {indices}, {{"out_type", kWide}});
  const Output numbers = builder->Op("Range", {zero, count, one});
  // Without elements k may be 0.
  const Output k = builder->Op("Maximum", {RowSize(builder, indices), one});
  const Output rows = builder->Op("FloorDiv", {numbers, k});
  const Output starts = builder->Op("Mul", {rows, RowSize(builder, input)});
  const Output in_rows = builder->Op("Cast", {Flat(builder, indices)}, {{"DstT", kWide}});
  const Output places = builder->Op("Add", {starts, in_rows});
  const Output size = builder->Op("Size", {input}, {{"out_type", kWide}});
  const Output sums =
      builder->Op("UnsortedSegmentSum", {Flat(builder, context->dy(0)), places, size});
  context->SetDx(0, ReshapeLike(builder, sums, input));
  return absl::OkStatus();
}

// Elements that are equal to the result share its gradient evenly.
Status NthElementGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output input = context->input(0);
  const Output last = builder->Int32(-1);
  const Output found = builder->Op("ExpandDims", {context->output(0), last});
  const Output is_found =
      builder->Op("Cast", {builder->Op("Equal", {input, found})}, {{"DstT", input.dtype()}});
  const Output count =
      builder->Op("Sum", {is_found, builder->Int32Vector({-1})}, {{"keep_dims", true}});
  const Output dy = builder->Op("ExpandDims", {context->dy(0), last});
  context->SetDx(0, builder->Op("Mul", {builder->Op("RealDiv", {is_found, count}), dy}));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("TopK", TopKGradient);
MILLSTREAM_GRADIENT("TopKV2", TopKGradient);
MILLSTREAM_GRADIENT("NthElement", NthElementGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("InTopK");
MILLSTREAM_NOT_DIFFERENTIABLE("InTopKV2");

}  // namespace
}  // namespace millstream
