// Gradients of ops that move elements.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

Status PassOn(GradientContext* context) {
  for (int i = 0; i < context->num_outputs(); ++i) {
    if (context->has_dy(i)) context->SetDx(i, context->raw_dy(i));
  }
  return absl::OkStatus();
}

// Reshape, ExpandDims, Squeeze: the same elements in the input's shape.
Status ShapeBack(GradientContext* context) {
  context->SetDx(0, ReshapeLike(context->builder(), context->dy(0), context->input(0)));
  return absl::OkStatus();
}

Status TransposeBack(GradientContext* context, const char* op) {
  GraphBuilder* builder = context->builder();
  const Output inverse = builder->Op("InvertPermutation", {context->input(1)});
  context->SetDx(0, builder->Op(op, {context->dy(0), inverse}));
  return absl::OkStatus();
}
Status TransposeGradient(GradientContext* context) { return TransposeBack(context, "Transpose"); }
Status ConjugateTransposeGradient(GradientContext* context) {
  return TransposeBack(context, "ConjugateTranspose");
}

// What is reversed twice is as it was.
Status ReverseGradient(GradientContext* context) {
  const std::string& op = context->call().op->name;
  context->SetDx(0, context->builder()->Op(op, {context->dy(0), context->input(1)}));
  return absl::OkStatus();
}

Status ReverseSequenceGradient(GradientContext* context) {
  context->SetDx(
      0, context->builder()->OpWithAttrs("ReverseSequence", {context->dy(0), context->input(1)},
                                         context->attrs(), {"seq_dim", "batch_dim"}));
  return absl::OkStatus();
}

std::vector<Output> InputsBetween(const GradientContext& context, int begin, int end) {
  std::vector<Output> inputs;
  for (int i = begin; i < end; ++i) inputs.push_back(context.input(i));
  return inputs;
}

// The parts are inputs from `begin` on; each gets its slice.
Status SliceToParts(GradientContext* context, int begin, Output axis) {
  GraphBuilder* builder = context->builder();
  const int count = context->num_inputs() - 1;
  const Output dy = context->dy(0);
  if (count == 1) {
    context->SetDx(begin, dy);
    return absl::OkStatus();
  }
  const Node* shapes = builder->Variadic("ShapeN", {InputsBetween(*context, begin, begin + count)});
  if (shapes == nullptr) return builder->status();
  std::vector<Output> sizes;
  for (int i = 0; i < count; ++i) sizes.push_back(shapes->output(i));
  const Output axis32 = axis.dtype() == DataType::kInt32
                            ? axis
                            : builder->Op("Cast", {axis}, {{"DstT", DataType::kInt32}});
  const Node* offsets = builder->Variadic("ConcatOffset", {{axis32}, sizes});
  if (offsets == nullptr) return builder->status();
  for (int i = 0; i < count; ++i) {
    context->SetDx(begin + i, builder->Op("Slice", {dy, offsets->output(i), sizes[i]}));
  }
  return absl::OkStatus();
}
Status ConcatGradient(GradientContext* context) {
  return SliceToParts(context, 1, context->input(0));
}
Status ConcatV2Gradient(GradientContext* context) {
  return SliceToParts(context, 0, context->input(context->num_inputs() - 1));
}

// Each part is a row.
Status ParallelConcatGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const int64_t count = context->num_inputs();
  const Node* rows =
      builder->NodeOf("Split", {builder->Int32(0), context->dy(0)}, {{"num_split", count}});
  if (rows == nullptr) return builder->status();
  for (int i = 0; i < count; ++i) context->SetDx(i, rows->output(i));
  return absl::OkStatus();
}

std::vector<Output> AllDy(GradientContext* context) {
  std::vector<Output> all;
  for (int i = 0; i < context->num_outputs(); ++i) all.push_back(context->dy(i));
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

const std::vector<const char*>& MaskAttrs() {
  static const auto* const names = new std::vector<const char*>{
      "begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"};
  return *names;
}

// The gradient of a strided slice from `begin` to `end`: dy in its place, and zeros elsewhere. The
// zeros of variants have the structure of what these hold, which is not known from their shape.
Output SliceInZeros(GradientContext* context, Output begin, Output end, Output strides) {
  GraphBuilder* builder = context->builder();
  const Output x = context->input(0);
  if (x.dtype() == DataType::kVariant) {
    const Output zeros = builder->Op("ZerosLike", {x});
    return builder->OpWithAttrs("TensorStridedSliceUpdate",
                                {zeros, begin, end, strides, context->dy(0)}, context->attrs(),
                                MaskAttrs());
  }
  const Output shape = builder->Op("Shape", {x}, {{"out_type", begin.dtype()}});
  return builder->OpWithAttrs("StridedSliceGrad", {shape, begin, end, strides, context->dy(0)},
                              context->attrs(), MaskAttrs());
}

// A slice is a strided slice with strides of one.
Status SliceGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output begin = context->input(1);
  const Output size = builder->Op("Shape", {context->output(0)}, {{"out_type", begin.dtype()}});
  const Output end = builder->Op("Add", {begin, size});
  const Output strides = builder->Op("OnesLike", {begin});
  context->SetDx(0, SliceInZeros(context, begin, end, strides));
  return absl::OkStatus();
}

Status StridedSliceGradient(GradientContext* context) {
  context->SetDx(0, SliceInZeros(context, context->input(1), context->input(2), context->input(3)));
  return absl::OkStatus();
}

Status StridedSliceGradGradient(GradientContext* context) {
  context->SetDx(4, context->builder()->OpWithAttrs(
                        "StridedSlice",
                        {context->dy(0), context->input(1), context->input(2), context->input(3)},
                        context->attrs(), MaskAttrs()));
  return absl::OkStatus();
}

// What was replaced has no influence. Its zeros have the shape of the value; those of variants have
// the structure of what was replaced.
Status TensorStridedSliceUpdateGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const auto of_slice = [&](const char* op, const Output& of, std::vector<Output> more) {
    std::vector<Output> inputs = {of, context->input(1), context->input(2), context->input(3)};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return builder->OpWithAttrs(op, inputs, context->attrs(), MaskAttrs());
  };
  const Output replaced = dy.dtype() == DataType::kVariant
                              ? of_slice("StridedSlice", context->input(0), {})
                              : context->input(4);
  const Output zeros = builder->Op("ZerosLike", {replaced});
  context->SetDx(0, of_slice("TensorStridedSliceUpdate", dy, {zeros}));
  context->SetDx(4, of_slice("StridedSlice", dy, {}));
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

// The margin's value gets what is left of the whole.
Status PadV2Gradient(GradientContext* context) {
  MS_RETURN_IF_ERROR(PadGradient(context));
  SetFillerGradient(context, 2, context->dx()[0].values);
  return absl::OkStatus();
}

Status MirrorPadGradient(GradientContext* context) {
  context->SetDx(
      0, context->builder()->OpWithAttrs("MirrorPadGrad", {context->dy(0), context->input(1)},
                                         context->attrs(), {"mode"}));
  return absl::OkStatus();
}

Status MirrorPadGradGradient(GradientContext* context) {
  context->SetDx(0,
                 context->builder()->OpWithAttrs("MirrorPad", {context->dy(0), context->input(1)},
                                                 context->attrs(), {"mode"}));
  return absl::OkStatus();
}

Status RollGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output back = builder->Op("Neg", {context->input(1)});
  context->SetDx(0, builder->Op("Roll", {context->dy(0), back, context->input(2)}));
  return absl::OkStatus();
}

// The shape in which every dimension is split in (its multiple, its size), and in `*axes` the
// places of the multiples. Where the rank is known, one dimension after the other, so that shape
// inference can follow them.
Output SplitTiles(GradientContext* context, Output* axes) {
  GraphBuilder* builder = context->builder();
  const PartialShape input = builder->ShapeOf(context->input(0));
  const Output multiples = context->input(1);
  const Output shape = builder->Op("Shape", {context->input(0)}, {{"out_type", multiples.dtype()}});
  if (!input.known_rank()) {
    const Node* pairs = builder->Variadic("Pack", {{multiples, shape}}, {{"axis", 1}});
    if (pairs == nullptr) return Output();
    const Output split = builder->Op("Reshape", {pairs->output(0), builder->Int32Vector({-1})});
    *axes =
        builder->Op("Range", {builder->Int32(0), builder->Op("Size", {split}), builder->Int32(2)});
    return split;
  }
  std::vector<Output> sizes;
  std::vector<int32_t> places;
  for (int i = 0; i < input.rank(); ++i) {
    sizes.push_back(ElementOf(builder, multiples, i));
    sizes.push_back(ElementOf(builder, shape, i));
    places.push_back(2 * i);
  }
  *axes = builder->Int32Vector(places);
  return ConcatVectors(builder, sizes);
}

// A tiled dimension of size d, n times, is [n, d]: the sum runs over the n.
Status TileGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  if (builder->ShapeOf(context->input(0)).rank() == 0) {
    context->SetDx(0, context->dy(0));
    return absl::OkStatus();
  }
  Output axes;
  const Output shape = SplitTiles(context, &axes);
  if (!builder->ok()) return builder->status();
  context->SetDx(0, builder->Op("Sum", {builder->Op("Reshape", {context->dy(0), shape}), axes}));
  return absl::OkStatus();
}

Status BroadcastToGradient(GradientContext* context) {
  context->SetDx(
      0, SumToShapeOf(context->builder(), context->dy(0), context->input(0), context->output(0)));
  return absl::OkStatus();
}

// The positions of the rows go the same way as the rows, and tell where each gradient belongs.
Status DynamicPartitionGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output partitions = context->input(1);
  const Output numbers = builder->Op(
      "Range", {builder->Int32(0), builder->Op("Size", {partitions}), builder->Int32(1)});
  const Output positions = ReshapeLike(builder, numbers, partitions);
  const std::vector<Output> dy = AllDy(context);
  const Node* dealt = builder->NodeOf("DynamicPartition", {positions, partitions},
                                      {{"num_partitions", static_cast<int64_t>(dy.size())}});
  if (dealt == nullptr) return builder->status();
  std::vector<Output> places;
  for (int i = 0; i < dealt->num_outputs(); ++i) places.push_back(dealt->output(i));
  const Node* stitched = builder->Variadic("DynamicStitch", {places, dy});
  if (stitched == nullptr) return builder->status();
  context->SetDx(0, ReshapeLike(builder, stitched->output(0), context->input(0)));
  return absl::OkStatus();
}

// Each row gets the gradient of its place. Graph programs know no exception for rows that a later
// one of the same place replaced.
Status DynamicStitchGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const int count = context->num_inputs() / 2;
  for (int i = 0; i < count; ++i) {
    context->SetDx(count + i,
                   builder->Op("GatherV2", {context->dy(0), context->input(i), builder->Int32(0)}));
  }
  return absl::OkStatus();
}

Status FillGradient(GradientContext* context) {
  context->SetDx(1, SumOfAll(context->builder(), context->dy(0)));
  return absl::OkStatus();
}

// Number i is start + (stop - start) w[i], where w goes from 0 to 1.
Status LinSpaceGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output weights = builder->Op(
      "LinSpace",
      {builder->ScalarOf(dy.dtype(), 0), builder->ScalarOf(dy.dtype(), 1), context->input(2)});
  const Output of_stop = SumOfAll(builder, builder->Op("Mul", {dy, weights}));
  context->SetDx(0, builder->Op("Sub", {SumOfAll(builder, dy), of_stop}));
  context->SetDx(1, of_stop);
  return absl::OkStatus();
}

// The weight of a number that is left out gets the zero behind dy.
Status BincountGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output zero =
      builder->Op("ExpandDims", {builder->ScalarOf(dy.dtype(), 0), builder->Int32(0)});
  const Output longer = Concat(context, {dy, zero}, builder->Int32(0));
  const Output place = builder->Op("Minimum", {context->input(0), context->input(1)});
  context->SetDx(2, builder->Op("GatherV2", {longer, place, builder->Int32(0)}));
  return absl::OkStatus();
}

// The rows of dy that the rows of v went to.
Output RowsOfValue(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output count = builder->Op(
      "Reshape", {builder->Op("StridedSlice",
                              {ShapeVector(builder, context->input(0)), builder->Int32Vector({0}),
                               builder->Int32Vector({1}), builder->Int32Vector({1})}),
                  builder->Int32Vector({})});
  const Output count32 = count.dtype() == DataType::kInt32
                             ? count
                             : builder->Op("Cast", {count}, {{"DstT", DataType::kInt32}});
  const Output rows = builder->Op("FloorMod", {context->input(1), count32});
  return builder->Op("GatherV2", {context->dy(0), rows, builder->Int32(0)});
}

Status InplaceAddGradient(GradientContext* context) {
  context->SetDx(0, context->dy(0));
  context->SetDx(2, RowsOfValue(context));
  return absl::OkStatus();
}

Status InplaceSubGradient(GradientContext* context) {
  context->SetDx(0, context->dy(0));
  context->SetDx(2, context->builder()->Op("Neg", {RowsOfValue(context)}));
  return absl::OkStatus();
}

// What was replaced has no influence. As with DynamicStitch, rows that a later one of the same
// place replaced are not told from it.
Status InplaceUpdateGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output zeros = builder->Op("ZerosLike", {context->input(2)});
  context->SetDx(0, builder->Op("InplaceUpdate", {context->dy(0), context->input(1), zeros}));
  context->SetDx(2, RowsOfValue(context));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("Identity", PassOn);
MILLSTREAM_GRADIENT("IdentityN", PassOn);
MILLSTREAM_GRADIENT("PlaceholderWithDefault", PassOn);
MILLSTREAM_GRADIENT("Print", PassOn);
MILLSTREAM_GRADIENT("EnsureShape", PassOn);
MILLSTREAM_GRADIENT("Snapshot", PassOn);
MILLSTREAM_GRADIENT("GuaranteeConst", PassOn);
MILLSTREAM_GRADIENT("DeepCopy", PassOn);
MILLSTREAM_GRADIENT("Copy", PassOn);
MILLSTREAM_GRADIENT("CopyHost", PassOn);
MILLSTREAM_GRADIENT("Reshape", ShapeBack);
MILLSTREAM_GRADIENT("ExpandDims", ShapeBack);
MILLSTREAM_GRADIENT("Squeeze", ShapeBack);
MILLSTREAM_GRADIENT("Transpose", TransposeGradient);
MILLSTREAM_GRADIENT("Reverse", ReverseGradient);
MILLSTREAM_GRADIENT("ReverseV2", ReverseGradient);
MILLSTREAM_GRADIENT("ReverseSequence", ReverseSequenceGradient);
MILLSTREAM_GRADIENT("ConjugateTranspose", ConjugateTransposeGradient);
MILLSTREAM_GRADIENT("Concat", ConcatGradient);
MILLSTREAM_GRADIENT("ConcatV2", ConcatV2Gradient);
MILLSTREAM_GRADIENT("ParallelConcat", ParallelConcatGradient);
MILLSTREAM_GRADIENT("Split", SplitGradient);
MILLSTREAM_GRADIENT("SplitV", SplitVGradient);
MILLSTREAM_GRADIENT("Pack", PackGradient);
MILLSTREAM_GRADIENT("Unpack", UnpackGradient);
MILLSTREAM_GRADIENT("Slice", SliceGradient);
MILLSTREAM_GRADIENT("StridedSlice", StridedSliceGradient);
MILLSTREAM_GRADIENT("StridedSliceGrad", StridedSliceGradGradient);
MILLSTREAM_GRADIENT("TensorStridedSliceUpdate", TensorStridedSliceUpdateGradient);
MILLSTREAM_GRADIENT("Pad", PadGradient);
MILLSTREAM_GRADIENT("PadV2", PadV2Gradient);
MILLSTREAM_GRADIENT("MirrorPad", MirrorPadGradient);
MILLSTREAM_GRADIENT("MirrorPadGrad", MirrorPadGradGradient);
MILLSTREAM_GRADIENT("Roll", RollGradient);
MILLSTREAM_GRADIENT("Tile", TileGradient);
MILLSTREAM_GRADIENT("BroadcastTo", BroadcastToGradient);
MILLSTREAM_GRADIENT("DynamicPartition", DynamicPartitionGradient);
MILLSTREAM_GRADIENT("DynamicStitch", DynamicStitchGradient);
MILLSTREAM_GRADIENT("ParallelDynamicStitch", DynamicStitchGradient);
MILLSTREAM_GRADIENT("Fill", FillGradient);
MILLSTREAM_GRADIENT("LinSpace", LinSpaceGradient);
MILLSTREAM_GRADIENT("Bincount", BincountGradient);
MILLSTREAM_GRADIENT("InplaceUpdate", InplaceUpdateGradient);
MILLSTREAM_GRADIENT("InplaceAdd", InplaceAddGradient);
MILLSTREAM_GRADIENT("InplaceSub", InplaceSubGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("Assert");
MILLSTREAM_NOT_DIFFERENTIABLE("Const");
MILLSTREAM_NOT_DIFFERENTIABLE("PrintV2");
MILLSTREAM_NOT_DIFFERENTIABLE("PyFunc");
MILLSTREAM_NOT_DIFFERENTIABLE("PyFuncStateless");
MILLSTREAM_NOT_DIFFERENTIABLE("Placeholder");
MILLSTREAM_NOT_DIFFERENTIABLE("PlaceholderV2");
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
MILLSTREAM_NOT_DIFFERENTIABLE("Unique");
MILLSTREAM_NOT_DIFFERENTIABLE("UniqueV2");
MILLSTREAM_NOT_DIFFERENTIABLE("UniqueWithCounts");
MILLSTREAM_NOT_DIFFERENTIABLE("UniqueWithCountsV2");
MILLSTREAM_NOT_DIFFERENTIABLE("ListDiff");
MILLSTREAM_NOT_DIFFERENTIABLE("Where");
MILLSTREAM_NOT_DIFFERENTIABLE("Bitcast");
MILLSTREAM_NOT_DIFFERENTIABLE("Empty");
MILLSTREAM_NOT_DIFFERENTIABLE("UnravelIndex");
MILLSTREAM_NOT_DIFFERENTIABLE("BroadcastArgs");
MILLSTREAM_NOT_DIFFERENTIABLE("LowerBound");
MILLSTREAM_NOT_DIFFERENTIABLE("UpperBound");
MILLSTREAM_NOT_DIFFERENTIABLE("Bucketize");
MILLSTREAM_NOT_DIFFERENTIABLE("HistogramFixedWidth");
MILLSTREAM_NOT_DIFFERENTIABLE("ScalarSummary");
MILLSTREAM_NOT_DIFFERENTIABLE("MergeSummary");

}  // namespace
}  // namespace millstream
