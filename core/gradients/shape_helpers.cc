#include "core/gradients/shape_helpers.h"

#include <algorithm>

namespace millstream {
namespace {

// The axes of the broadcast along which `input` was repeated, when both shapes are known.
std::vector<int32_t> RepeatedAxes(const PartialShape& input, int rank, const PartialShape& other) {
  std::vector<int32_t> axes;
  for (int i = 0; i < rank; ++i) {
    const int own = i - (rank - input.rank());
    const int others = i - (rank - other.rank());
    const int64_t own_dim = own < 0 ? 1 : input.dim(own);
    const int64_t other_dim = others < 0 ? 1 : other.dim(others);
    if (own < 0 || (own_dim == 1 && other_dim != 1)) axes.push_back(i);
  }
  return axes;
}

// True when each dimension of the two is known, or follows from the rule of broadcasting: a known
// dimension other than 1 is never repeated, whatever the other shape has.
bool RepeatsAreKnown(const PartialShape& input, const PartialShape& other) {
  if (!input.known_rank() || !other.known_rank()) return false;
  const int rank = std::max(input.rank(), other.rank());
  for (int i = 0; i < rank; ++i) {
    const int own = i - (rank - input.rank());
    const int others = i - (rank - other.rank());
    if (own < 0) continue;
    const int64_t own_dim = input.dim(own);
    const int64_t other_dim = others < 0 ? 1 : other.dim(others);
    if (own_dim == kUnknownDim && other_dim != 1) return false;
    if (own_dim == 1 && other_dim == kUnknownDim) return false;
  }
  return true;
}

// The shape, or the vector, without its last `count` elements.
PartialShape WithoutLast(const PartialShape& shape, int count) {
  if (!shape.known_rank()) return shape;
  return PartialShape(shape.dims().subspan(0, shape.rank() - count));
}
Output WithoutLast(GraphBuilder* builder, Output vector, int count) {
  if (count == 0) return vector;
  return builder->Op("StridedSlice", {vector, builder->Int32Vector({0}),
                                      builder->Int32Vector({-count}), builder->Int32Vector({1})});
}

}  // namespace

Output ShapeVector(GraphBuilder* builder, Output tensor) {
  const PartialShape shape = builder->ShapeOf(tensor);
  if (!shape.IsFullyKnown()) return builder->Op("Shape", {tensor});
  std::vector<int32_t> dims;
  for (int64_t dim : shape.dims()) {
    if (dim > INT32_MAX) return builder->Op("Shape", {tensor}, {{"out_type", DataType::kInt64}});
    dims.push_back(static_cast<int32_t>(dim));
  }
  return builder->Int32Vector(dims);
}

Output ReshapeLike(GraphBuilder* builder, Output tensor, Output like) {
  const PartialShape from = builder->ShapeOf(tensor);
  const PartialShape to = builder->ShapeOf(like);
  if (from.IsFullyKnown() && from == to) return tensor;
  return builder->Op("Reshape", {tensor, ShapeVector(builder, like)});
}

Output SumToShapeOf(GraphBuilder* builder, Output gradient, Output input, Output other,
                    int own_dims) {
  if (input == other) return gradient;
  const PartialShape shape = WithoutLast(builder->ShapeOf(input), own_dims);
  const PartialShape other_shape = WithoutLast(builder->ShapeOf(other), own_dims);
  if (RepeatsAreKnown(shape, other_shape)) {
    const int rank = std::max(shape.rank(), other_shape.rank());
    const std::vector<int32_t> axes = RepeatedAxes(shape, rank, other_shape);
    if (axes.empty()) return gradient;
    const Output sum = builder->Op("Sum", {gradient, builder->Int32Vector(axes)});
    return static_cast<int>(axes.size()) == rank - shape.rank()
               ? sum
               : builder->Op("Reshape", {sum, ShapeVector(builder, input)});
  }
  const Output input_shape = ShapeVector(builder, input);
  const Output axes = builder->Op("BroadcastGradientArgs",
                                  {WithoutLast(builder, input_shape, own_dims),
                                   WithoutLast(builder, ShapeVector(builder, other), own_dims)});
  return builder->Op("Reshape", {builder->Op("Sum", {gradient, axes}), input_shape});
}

Output ElementOf(GraphBuilder* builder, Output vector, int begin) {
  return builder->Op("Slice", {vector, builder->Int32Vector({begin}), builder->Int32Vector({1})});
}

Output OnesVector(GraphBuilder* builder, Output count) {
  const Output size = builder->Op("Reshape", {count, builder->Int32Vector({1})});
  return builder->Op("Fill", {size, builder->Int32(1)});
}

Output ConcatVectors(GraphBuilder* builder, const std::vector<Output>& vectors) {
  if (vectors.size() == 1) return vectors[0];
  const Node* node = builder->Variadic("ConcatV2", {vectors, {builder->Int32(0)}});
  return node == nullptr ? Output() : node->output(0);
}

Output SumOfAll(GraphBuilder* builder, Output tensor) {
  const Output axes =
      builder->Op("Range", {builder->Int32(0), builder->Op("Rank", {tensor}), builder->Int32(1)});
  return builder->Op("Sum", {tensor, axes});
}

void SetFillerGradient(GradientContext* context, int i, Output taken) {
  GraphBuilder* builder = context->builder();
  context->SetDx(i,
                 builder->Op("Sub", {SumOfAll(builder, context->dy(0)), SumOfAll(builder, taken)}));
}

void SetSlicesGradient(GradientContext* context, Output dy, Output indices, Output shape) {
  GraphBuilder* builder = context->builder();
  const PartialShape places = builder->ShapeOf(indices);
  if (places.rank() != 2 || places.dim(1) != 1) {
    context->SetDx(0, builder->Op("ScatterNd", {indices, dy, shape}));
    return;
  }
  const Output rows = builder->Op("Reshape", {indices, builder->Int32Vector({-1})});
  context->SetDx(0, Gradient{dy, rows, shape});
}

}  // namespace millstream
