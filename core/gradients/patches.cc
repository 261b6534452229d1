// Gradients of ExtractImagePatches and ExtractVolumePatches.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// The patches of an image that holds the positions of its pixels say which pixel each element of a
// patch comes from; zeros, outside of the image, become -1. The gradients of the elements are added
// up by these positions.
Status PatchesGradient(GradientContext* context, const char* op, int spatial_rank) {
  GraphBuilder* builder = context->builder();
  const Output shape = ShapeVector(builder, context->input(0));
  const Output sizes = builder->Op(
      "Slice", {shape, builder->Int32Vector({1}), builder->Int32Vector({spatial_rank})});
  const Output pixels = builder->Op("Prod", {sizes, builder->Int32Vector({0})});
  const Output one = builder->Int32(1);
  const Output counted = builder->Op("Range", {one, builder->Op("Add", {pixels, one}), one});
  const Output single = builder->Int32Vector({1});
  const Output image =
      builder->Op("Reshape", {counted, ConcatVectors(builder, {single, sizes, single})});
  const Output patches = builder->OpWithAttrs(op, {image}, context->attrs(),
                                              {"ksizes", "strides", "rates", "padding"});
  const Output places =
      builder->Op("Reshape", {builder->Op("Sub", {patches, one}), builder->Int32Vector({-1})});

  const Output batch = ElementOf(builder, shape, 0);
  const Output channels = ElementOf(builder, shape, spatial_rank + 1);
  const Output elements = ConcatVectors(builder, {batch, builder->Op("Shape", {places}), channels});
  const Output swap = builder->Int32Vector({1, 0, 2});
  const Output dy =
      builder->Op("Transpose", {builder->Op("Reshape", {context->dy(0), elements}), swap});
  const Output sums = builder->Op("UnsortedSegmentSum", {dy, places, pixels});
  context->SetDx(0, builder->Op("Reshape", {builder->Op("Transpose", {sums, swap}), shape}));
  return absl::OkStatus();
}

Status ImagePatchesGradient(GradientContext* context) {
  return PatchesGradient(context, "ExtractImagePatches", 2);
}

Status VolumePatchesGradient(GradientContext* context) {
  return PatchesGradient(context, "ExtractVolumePatches", 3);
}

MILLSTREAM_GRADIENT("ExtractImagePatches", ImagePatchesGradient);
MILLSTREAM_GRADIENT("ExtractVolumePatches", VolumePatchesGradient);

}  // namespace
}  // namespace millstream
