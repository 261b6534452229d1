// Gradients of the parts of complex numbers; see math_helpers.h for what a gradient of one is.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/math_helpers.h"

namespace millstream {
namespace {

Output Part(GradientContext* context, const char* op, Output complex, DataType part) {
  return context->builder()->Op(op, {complex}, {{"Tout", part}});
}

Output Complex(GradientContext* context, Output real, Output imag, DataType whole) {
  return context->builder()->Op("Complex", {real, imag}, {{"Tout", whole}});
}

Output Zero(GradientContext* context, Output like) {
  return context->builder()->ScalarOf(like.dtype(), 0);
}

Status RealGradient(GradientContext* context) {
  const Output dy = context->dy(0);
  context->SetDx(0, Complex(context, dy, Zero(context, dy), context->input(0).dtype()));
  return absl::OkStatus();
}

Status ImagGradient(GradientContext* context) {
  const Output dy = context->dy(0);
  context->SetDx(0, Complex(context, Zero(context, dy), dy, context->input(0).dtype()));
  return absl::OkStatus();
}

Status ComplexGradient(GradientContext* context) {
  const Output dz = context->dy(0);
  const DataType part = context->input(0).dtype();
  SetBroadcastDx(context, Part(context, "Real", dz, part), Part(context, "Imag", dz, part));
  return absl::OkStatus();
}

// dx = dy * x / |x|, and 0 where x is
Status ComplexAbsGradient(GradientContext* context) {
  const Output x = context->input(0);
  const Output dy = context->dy(0);
  const Output zero = Zero(context, dy);
  const Output product = Mul(context, Complex(context, dy, zero, x.dtype()), x);
  const Output size = Complex(context, context->output(0), zero, x.dtype());
  context->SetDx(0, context->builder()->Op("DivNoNan", {product, size}));
  return absl::OkStatus();
}

// dx = dy * i x / |x|^2 = -dy / (Im x + i Re x)
Status AngleGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output x = context->input(0);
  const Output dy = context->dy(0);
  const Output real = Part(context, "Real", x, dy.dtype());
  const Output imag = Part(context, "Imag", x, dy.dtype());
  const Output inverse = builder->Op("Reciprocal", {Complex(context, imag, real, x.dtype())});
  const Output whole = Complex(context, builder->Op("Neg", {dy}), Zero(context, dy), x.dtype());
  context->SetDx(0, Mul(context, whole, inverse));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("Real", RealGradient);
MILLSTREAM_GRADIENT("Imag", ImagGradient);
MILLSTREAM_GRADIENT("Complex", ComplexGradient);
MILLSTREAM_GRADIENT("ComplexAbs", ComplexAbsGradient);
MILLSTREAM_GRADIENT("Angle", AngleGradient);

}  // namespace
}  // namespace millstream
