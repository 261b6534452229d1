// Gradients of ops that take slices by index vectors, or change them.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

Output Gathered(GradientContext* context, Output indices) {
  return context->builder()->Op("GatherNd", {context->dy(0), indices});
}

Status GatherNdGradient(GradientContext* context) {
  const Output indices = context->input(1);
  const Output shape =
      context->builder()->Op("Shape", {context->input(0)}, {{"out_type", indices.dtype()}});
  SetSlicesGradient(context, context->dy(0), indices, shape);
  return absl::OkStatus();
}

Status ScatterNdGradient(GradientContext* context) {
  context->SetDx(1, Gathered(context, context->input(0)));
  return absl::OkStatus();
}

// What was replaced has no influence. Of several updates of a slice the last one counts, yet each
// gets the gradient, as graph programs know it.
Status TensorScatterUpdateGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output zeros = builder->Op("ZerosLike", {context->input(2)});
  context->SetDx(0, builder->Op("TensorScatterUpdate", {context->dy(0), context->input(1), zeros}));
  context->SetDx(2, Gathered(context, context->input(1)));
  return absl::OkStatus();
}

Status TensorScatterAddGradient(GradientContext* context) {
  context->SetDx(0, context->dy(0));
  context->SetDx(2, Gathered(context, context->input(1)));
  return absl::OkStatus();
}

Status TensorScatterSubGradient(GradientContext* context) {
  context->SetDx(0, context->dy(0));
  context->SetDx(2, context->builder()->Op("Neg", {Gathered(context, context->input(1))}));
  return absl::OkStatus();
}

// The default value is in all places but those of the values. Of several values of one place each
// gets the gradient, as graph programs know it.
Status SparseToDenseGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  Output indices = context->input(0);
  const PartialShape shape = builder->ShapeOf(indices);
  if (shape.rank() == 0 || shape.rank() == 1) {
    indices = builder->Op("Reshape", {indices, builder->Int32Vector({-1, 1})});
  }
  const Output of_places = Gathered(context, indices);
  context->SetDx(2, SumToShapeOf(builder, of_places, context->input(2), of_places));
  context->SetDx(
      3, builder->Op("Sub", {SumOfAll(builder, context->dy(0)), SumOfAll(builder, of_places)}));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("GatherNd", GatherNdGradient);
MILLSTREAM_GRADIENT("ScatterNd", ScatterNdGradient);
MILLSTREAM_GRADIENT("ScatterNdNonAliasingAdd", TensorScatterAddGradient);
MILLSTREAM_GRADIENT("SparseToDense", SparseToDenseGradient);
MILLSTREAM_GRADIENT("TensorScatterAdd", TensorScatterAddGradient);
MILLSTREAM_GRADIENT("TensorScatterSub", TensorScatterSubGradient);
MILLSTREAM_GRADIENT("TensorScatterUpdate", TensorScatterUpdateGradient);

}  // namespace
}  // namespace millstream
