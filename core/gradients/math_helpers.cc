#include "core/gradients/math_helpers.h"

#include "core/gradients/shape_helpers.h"

namespace millstream {

Output Scaled(GradientContext* context, Output tensor, double factor) {
  GraphBuilder* builder = context->builder();
  return builder->Op("Mul", {tensor, builder->ScalarOf(tensor.dtype(), factor)});
}

Output Mul(GradientContext* context, Output a, Output b) {
  return context->builder()->Op("Mul", {a, b});
}

Output Conjugate(GradientContext* context, Output tensor) {
  return IsComplex(tensor.dtype()) ? context->builder()->Op("Conj", {tensor}) : tensor;
}

void SetBroadcastDx(GradientContext* context, Output dx0, Output dx1) {
  GraphBuilder* builder = context->builder();
  const Output a = context->input(0);
  const Output b = context->input(1);
  context->SetDx(0, SumToShapeOf(builder, dx0, a, b));
  context->SetDx(1, SumToShapeOf(builder, dx1, b, a));
}

}  // namespace millstream
