// Gradients of ops on ragged tensors, by their values. Splits and indices have none.
#include <cstdint>
#include <string>
#include <vector>

#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

Output Part(GraphBuilder* builder, Output vector, int begin, int end, bool to_end) {
  return builder->Op("StridedSlice",
                     {vector, builder->Int32Vector({begin}), builder->Int32Vector({end}),
                      builder->Int32Vector({1})},
                     {{"end_mask", to_end ? 1 : 0}});
}

Output Gather(GraphBuilder* builder, Output params, Output indices) {
  return builder->Op("GatherV2", {params, indices, builder->Int32(0)});
}

// The values of row i of params are those from splits[i] to splits[i + 1], where the splits of all
// dimensions are taken together. The gradient is rows at those places.
Status GatherGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  MS_ASSIGN_OR_RETURN(const int64_t count, context->Attr<int64_t>("PARAMS_RAGGED_RANK"));
  const int values = static_cast<int>(count);
  Output splits = context->input(0);
  for (int i = 1; i < values; ++i) splits = Gather(builder, context->input(i), splits);
  const Output rows =
      builder->Op("Reshape", {context->input(values + 1), builder->Int32Vector({-1})});
  const Output begins = Gather(builder, Part(builder, splits, 0, -1, false), rows);
  const Output ends = Gather(builder, Part(builder, splits, 1, 0, true), rows);
  const Node* ranges =
      builder->NodeOf("RaggedRange", {begins, ends, builder->ScalarOf(splits.dtype(), 1)});
  if (ranges == nullptr) return absl::OkStatus();
  context->SetDx(values, Gradient{context->dy(context->num_outputs() - 1), ranges->output(1),
                                  ShapeVector(builder, context->input(values))});
  return absl::OkStatus();
}

Status ToSparseGradient(GradientContext* context) {
  const int values = context->num_inputs() - 1;
  context->SetDx(values, ReshapeLike(context->builder(), context->dy(1), context->input(values)));
  return absl::OkStatus();
}

// The numbers of values, in the places of the values, say which value each row of dy belongs to,
// and -1 that it belongs to the default.
Status ToTensorGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  MS_ASSIGN_OR_RETURN(const std::vector<std::string> types,
                      context->Attr<std::vector<std::string>>("row_partition_types"));
  int ragged = 0;
  for (const std::string& type : types) ragged += type == "FIRST_DIM_SIZE" ? 0 : 1;
  const Output values = context->input(1);
  const Output filler = context->input(2);
  const Output sizes = ShapeVector(builder, values);
  const Output count =
      builder->Op("Reshape", {ElementOf(builder, sizes, 0), builder->Int32Vector({})});
  const Output inner = Part(builder, sizes, 1, 0, true);

  std::vector<Output> partitions;
  for (int i = 3; i < context->num_inputs(); ++i) partitions.push_back(context->input(i));
  const Output shape =
      Part(builder, ShapeVector(builder, context->output(0)), 0, ragged + 1, false);
  const Output numbers = builder->Op("Range", {builder->Int32(0), count, builder->Int32(1)});
  const Node* placed = builder->Variadic("RaggedTensorToTensor",
                                         {{shape}, {numbers}, {builder->Int32(-1)}, partitions},
                                         {{"row_partition_types", types}});
  if (placed == nullptr) return absl::OkStatus();
  const Output flat = builder->Op("Reshape", {placed->output(0), builder->Int32Vector({-1})});
  const Output rows = builder->Op(
      "Reshape", {context->dy(0), ConcatVectors(builder, {builder->Op("Shape", {flat}), inner})});
  context->SetDx(1, builder->Op("UnsortedSegmentSum", {rows, flat, count}));
  const Output is_value = builder->Op("GreaterEqual", {flat, builder->Int32(0)});
  const Output segment =
      builder->Op("Neg", {builder->Op("Cast", {is_value}, {{"DstT", DataType::kInt32}})});
  const Output sums = builder->Op("UnsortedSegmentSum", {rows, segment, builder->Int32(1)});
  const Output of_default = builder->Op("Reshape", {sums, inner});
  context->SetDx(2, SumToShapeOf(builder, of_default, filler, of_default));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("RaggedGather", GatherGradient);
MILLSTREAM_GRADIENT("RaggedTensorToSparse", ToSparseGradient);
MILLSTREAM_GRADIENT("RaggedTensorToTensor", ToTensorGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("RaggedRange");
MILLSTREAM_NOT_DIFFERENTIABLE("RaggedTensorFromVariant");
MILLSTREAM_NOT_DIFFERENTIABLE("RaggedTensorToVariant");

}  // namespace
}  // namespace millstream
