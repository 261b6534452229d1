// Gradients of functions of one tensor that the C library computes, element by element.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/math_helpers.h"

namespace millstream {
namespace {

// The conjugate of the op's argument, of its result.
Output X(GradientContext* context) { return Conjugate(context, context->input(0)); }
Output Y(GradientContext* context) { return Conjugate(context, context->output(0)); }

// 1 + x and 1 - x.
Output OneWith(GradientContext* context, const char* op, Output x) {
  GraphBuilder* builder = context->builder();
  return builder->Op(op, {builder->ScalarOf(x.dtype(), 1), x});
}

Status SetSlope(GradientContext* context, Output slope) {
  context->SetDx(0, Mul(context, context->dy(0), slope));
  return absl::OkStatus();
}

Status SinGradient(GradientContext* context) {
  return SetSlope(context, context->builder()->Op("Cos", {X(context)}));
}

Status CosGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  return SetSlope(context, builder->Op("Neg", {builder->Op("Sin", {X(context)})}));
}

// dx = dy / cos(x)^2
Status TanGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output secant = builder->Op("Reciprocal", {builder->Op("Cos", {X(context)})});
  return SetSlope(context, builder->Op("Square", {secant}));
}

// 1 / sqrt(1 - x^2)
Output AsinSlope(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output square = builder->Op("Square", {X(context)});
  const Output root = builder->Op("Sqrt", {OneWith(context, "Sub", square)});
  return builder->Op("Reciprocal", {root});
}

Status AsinGradient(GradientContext* context) { return SetSlope(context, AsinSlope(context)); }

Status AcosGradient(GradientContext* context) {
  return SetSlope(context, context->builder()->Op("Neg", {AsinSlope(context)}));
}

// dx = dy / (1 + x^2)
Status AtanGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output square = builder->Op("Square", {X(context)});
  return SetSlope(context, builder->Op("Reciprocal", {OneWith(context, "Add", square)}));
}

Status SinhGradient(GradientContext* context) {
  return SetSlope(context, context->builder()->Op("Cosh", {X(context)}));
}

Status CoshGradient(GradientContext* context) {
  return SetSlope(context, context->builder()->Op("Sinh", {X(context)}));
}

// dx = dy / cosh(y)
Status AsinhGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  context->SetDx(0, builder->Op("RealDiv", {context->dy(0), builder->Op("Cosh", {Y(context)})}));
  return absl::OkStatus();
}

// dx = dy / sinh(y)
Status AcoshGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  context->SetDx(0, builder->Op("RealDiv", {context->dy(0), builder->Op("Sinh", {Y(context)})}));
  return absl::OkStatus();
}

// dx = dy / (1 - x^2)
Status AtanhGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output square = builder->Op("Square", {X(context)});
  return SetSlope(context, builder->Op("Reciprocal", {OneWith(context, "Sub", square)}));
}

Status Log1pGradient(GradientContext* context) {
  const Output sum = OneWith(context, "Add", X(context));
  return SetSlope(context, context->builder()->Op("Reciprocal", {sum}));
}

Status Expm1Gradient(GradientContext* context) {
  return SetSlope(context, context->builder()->Op("Exp", {X(context)}));
}

// dx = dy * sign * 2 / sqrt(pi) * exp(-x^2)
Status SetErrorFunctionDx(GradientContext* context, double sign) {
  constexpr double kTwoOverRootOfPi = 1.1283791670955125738961589031215;
  GraphBuilder* builder = context->builder();
  const Output square = builder->Op("Square", {context->input(0)});
  const Output bell = builder->Op("Exp", {builder->Op("Neg", {square})});
  return SetSlope(context, Scaled(context, bell, sign * kTwoOverRootOfPi));
}
Status ErfGradient(GradientContext* context) { return SetErrorFunctionDx(context, 1); }
Status ErfcGradient(GradientContext* context) { return SetErrorFunctionDx(context, -1); }

MILLSTREAM_GRADIENT("Sin", SinGradient);
MILLSTREAM_GRADIENT("Cos", CosGradient);
MILLSTREAM_GRADIENT("Tan", TanGradient);
MILLSTREAM_GRADIENT("Asin", AsinGradient);
MILLSTREAM_GRADIENT("Acos", AcosGradient);
MILLSTREAM_GRADIENT("Atan", AtanGradient);
MILLSTREAM_GRADIENT("Sinh", SinhGradient);
MILLSTREAM_GRADIENT("Cosh", CoshGradient);
MILLSTREAM_GRADIENT("Asinh", AsinhGradient);
MILLSTREAM_GRADIENT("Acosh", AcoshGradient);
MILLSTREAM_GRADIENT("Atanh", AtanhGradient);
MILLSTREAM_GRADIENT("Log1p", Log1pGradient);
MILLSTREAM_GRADIENT("Expm1", Expm1Gradient);
MILLSTREAM_GRADIENT("Erf", ErfGradient);
MILLSTREAM_GRADIENT("Erfc", ErfcGradient);

}  // namespace
}  // namespace millstream
