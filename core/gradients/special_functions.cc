// Gradients of the gamma function's logarithm, its derivatives, the zeta function, incomplete gamma
// and beta functions, and modified Bessel functions.
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

// x^(a - 1) e^-x / gamma(a), the derivative of Igamma by x.
Output GammaDensity(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output a = context->input(0);
  const Output x = context->input(1);
  const Output less = builder->Op("Sub", {a, builder->ScalarOf(a.dtype(), 1)});
  const Output power = builder->Op("Sub", {Mul(context, less, builder->Op("Log", {x})), x});
  return builder->Op("Exp", {builder->Op("Sub", {power, builder->Op("Lgamma", {a})})});
}

Status IgammaGradient(GradientContext* context) {
  const Output dy = context->dy(0);
  const Output slope =
      context->builder()->Op("IgammaGradA", {context->input(0), context->input(1)});
  SetBroadcastDx(context, Mul(context, dy, slope), Mul(context, dy, GammaDensity(context)));
  return absl::OkStatus();
}

// Igamma has a density as its derivative by x, whose derivative by a is the density times
// log x - digamma(a). The second derivative by a has no closed form.
Status IgammaGradAGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output log = builder->Op("Log", {context->input(1)});
  const Output difference = builder->Op("Sub", {log, builder->Op("Digamma", {context->input(0)})});
  context->SetNoDx(0);
  return SetSecondDx(context, Mul(context, GammaDensity(context), difference));
}

Status IgammacGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = builder->Op("Neg", {context->dy(0)});
  const Output slope = builder->Op("IgammaGradA", {context->input(0), context->input(1)});
  SetBroadcastDx(context, Mul(context, dy, slope), Mul(context, dy, GammaDensity(context)));
  return absl::OkStatus();
}

// That of x, x^(a - 1) (1 - x)^(b - 1) / beta(a, b); those of a and b have no closed form.
Status BetaincGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output a = context->input(0);
  const Output b = context->input(1);
  const Output x = context->input(2);
  const Output one = builder->ScalarOf(x.dtype(), 1);
  const auto lgamma = [&](Output of) { return builder->Op("Lgamma", {of}); };
  const auto less_one = [&](Output of) { return builder->Op("Sub", {of, one}); };
  const Output log_beta = builder->Op(
      "Sub", {builder->Op("Add", {lgamma(a), lgamma(b)}), lgamma(builder->Op("Add", {a, b}))});
  const Output powers = builder->Op(
      "Add", {Mul(context, less_one(a), builder->Op("Log", {x})),
              Mul(context, less_one(b), builder->Op("Log1p", {builder->Op("Neg", {x})}))});
  const Output slope = builder->Op("Exp", {builder->Op("Sub", {powers, log_beta})});
  const Output dx = Mul(context, context->dy(0), slope);
  context->SetDx(2, SumToShapeOf(builder, dx, x, context->output(0)));
  return absl::OkStatus();
}

// The derivative of e^-|x| f(x) is e^-|x| f'(x) - sign(x) e^-|x| f(x); that of the function of
// order 0 is the one of order 1.
Status BesselI0eGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output x = context->input(0);
  const Output down = Mul(context, builder->Op("Sign", {x}), context->output(0));
  const Output slope = builder->Op("Sub", {builder->Op("BesselI1e", {x}), down});
  context->SetDx(0, Mul(context, context->dy(0), slope));
  return absl::OkStatus();
}

// That of order 1 has the derivative I0(x) - I1(x) / x, which at 0 is 1/2.
Status BesselI1eGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output x = context->input(0);
  const Output y = context->output(0);
  const Output is_zero = builder->Op("Equal", {x, builder->ScalarOf(x.dtype(), 0)});
  const Output half = builder->Op(
      "SelectV2", {is_zero, builder->ScalarOf(x.dtype(), 0.5), builder->Op("DivNoNan", {y, x})});
  const Output down = Mul(context, builder->Op("Sign", {x}), y);
  const Output of_order_0 = builder->Op("Sub", {builder->Op("BesselI0e", {x}), half});
  const Output slope = builder->Op("Sub", {of_order_0, down});
  context->SetDx(0, Mul(context, context->dy(0), slope));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("Igamma", IgammaGradient);
MILLSTREAM_GRADIENT("Igammac", IgammacGradient);
MILLSTREAM_GRADIENT("IgammaGradA", IgammaGradAGradient);
MILLSTREAM_GRADIENT("Betainc", BetaincGradient);
MILLSTREAM_GRADIENT("BesselI0e", BesselI0eGradient);
MILLSTREAM_GRADIENT("BesselI1e", BesselI1eGradient);
MILLSTREAM_GRADIENT("Lgamma", LgammaGradient);
MILLSTREAM_GRADIENT("Digamma", DigammaGradient);
MILLSTREAM_GRADIENT("Polygamma", PolygammaGradient);
MILLSTREAM_GRADIENT("Zeta", ZetaGradient);

}  // namespace
}  // namespace millstream
