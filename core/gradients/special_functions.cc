// Gradients of the gamma function's logarithm, its derivatives, and the zeta function.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/math_helpers.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

Status LgammaGradient(GradientContext* context) {
  const Output slope = context->builder()->Op("Digamma", {context->input(0)});
  context->SetDx(0, Mul(context, context->dy(0), slope));
  return absl::OkStatus();
}

// Polygamma has no 16-bit types.
Status DigammaGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const DataType dtype = context->input(0).dtype();
  const bool is_narrow = dtype != DataType::kFloat && dtype != DataType::kDouble;
  Output x = context->input(0);
  if (is_narrow) x = builder->Op("Cast", {x}, {{"DstT", DataType::kFloat}});
  Output slope = builder->Op("Polygamma", {builder->ScalarOf(x.dtype(), 1), x});
  if (is_narrow) slope = builder->Op("Cast", {slope}, {{"DstT", dtype}});
  context->SetDx(0, Mul(context, context->dy(0), slope));
  return absl::OkStatus();
}

// The gradient of the second argument; the first one has none.
Status SetSecondDx(GradientContext* context, Output slope) {
  const Output dx = Mul(context, context->dy(0), slope);
  context->SetDx(1, SumToShapeOf(context->builder(), dx, context->input(1), context->input(0)));
  return absl::OkStatus();
}

Output OneMore(GradientContext* context, Output x) {
  GraphBuilder* builder = context->builder();
  return builder->Op("Add", {x, builder->ScalarOf(x.dtype(), 1)});
}

Status PolygammaGradient(GradientContext* context) {
  const Output next = OneMore(context, context->input(0));
  return SetSecondDx(context, context->builder()->Op("Polygamma", {next, context->input(1)}));
}

// The derivative of (q + k)^-x by q is -x (q + k)^-(x + 1).
Status ZetaGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output x = context->input(0);
  const Output next = builder->Op("Zeta", {OneMore(context, x), context->input(1)});
  return SetSecondDx(context, Mul(context, builder->Op("Neg", {x}), next));
}

MILLSTREAM_GRADIENT("Lgamma", LgammaGradient);
MILLSTREAM_GRADIENT("Digamma", DigammaGradient);
MILLSTREAM_GRADIENT("Polygamma", PolygammaGradient);
MILLSTREAM_GRADIENT("Zeta", ZetaGradient);

}  // namespace
}  // namespace millstream
