// Gradients of elementwise functions. Those of functions of the C library are in math_functions.cc.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/math_helpers.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// ---- One argument ----

// The gradient is checked like the value.
Status CheckNumericsGradient(GradientContext* context) {
  context->SetDx(0, context->builder()->OpWithAttrs("CheckNumerics", {context->dy(0)},
                                                    context->attrs(), {"message"}));
  return absl::OkStatus();
}

Status NegGradient(GradientContext* context) {
  context->SetDx(0, context->builder()->Op("Neg", {context->dy(0)}));
  return absl::OkStatus();
}

Status AbsGradient(GradientContext* context) {
  const Output sign = context->builder()->Op("Sign", {context->input(0)});
  context->SetDx(0, Mul(context, context->dy(0), sign));
  return absl::OkStatus();
}

Status SquareGradient(GradientContext* context) {
  const Output x = Conjugate(context, context->input(0));
  context->SetDx(0, Mul(context, context->dy(0), Scaled(context, x, 2)));
  return absl::OkStatus();
}

Status ExpGradient(GradientContext* context) {
  context->SetDx(0, Mul(context, context->dy(0), Conjugate(context, context->output(0))));
  return absl::OkStatus();
}

Status LogGradient(GradientContext* context) {
  const Output inverse =
      context->builder()->Op("Reciprocal", {Conjugate(context, context->input(0))});
  context->SetDx(0, Mul(context, context->dy(0), inverse));
  return absl::OkStatus();
}

// For functions whose gradient is an op of (y, dy) that conjugates y itself.
template <const char* const* kOp>
Status GradientFromOutput(GradientContext* context) {
  context->SetDx(0, context->builder()->Op(*kOp, {context->output(0), context->dy(0)}));
  return absl::OkStatus();
}
// For those that want it conjugate.
template <const char* const* kOp>
Status GradientFromConjugateOutput(GradientContext* context) {
  const Output y = Conjugate(context, context->output(0));
  context->SetDx(0, context->builder()->Op(*kOp, {y, context->dy(0)}));
  return absl::OkStatus();
}
constexpr const char* kTanhGrad = "TanhGrad";
constexpr const char* kSigmoidGrad = "SigmoidGrad";
constexpr const char* kSqrtGrad = "SqrtGrad";
constexpr const char* kRsqrtGrad = "RsqrtGrad";
constexpr const char* kReciprocalGrad = "ReciprocalGrad";

Status ConjGradient(GradientContext* context) {
  context->SetDx(0, context->builder()->Op("Conj", {context->dy(0)}));
  return absl::OkStatus();
}

// The sign is constant almost everywhere.
Status SignGradient(GradientContext* context) {
  context->SetDx(0, context->builder()->Op("ZerosLike", {context->input(0)}));
  return absl::OkStatus();
}

Status CastGradient(GradientContext* context) {
  const DataType from = context->input(0).dtype();
  const DataType to = context->output(0).dtype();
  const auto has_gradients = [](DataType dtype) { return IsFloating(dtype) || IsComplex(dtype); };
  if (!has_gradients(from) || !has_gradients(to)) return absl::OkStatus();
  context->SetDx(0, context->builder()->Op("Cast", {context->dy(0)}, {{"DstT", from}}));
  return absl::OkStatus();
}

// ---- Second derivatives: g is the gradient of z = f'(y) * dy, or of z = f'(conj(y)) * dy; in the
// latter y's gradient is conj(g) times the derivative by conj(y) ----

// z = dy * (1 - y^2)
Status TanhGradGradient(GradientContext* context) {
  const Output g = context->dy(0);
  const Output y = Conjugate(context, context->input(0));
  const Output dy = Conjugate(context, context->input(1));
  context->SetDx(0, Scaled(context, Mul(context, Mul(context, g, dy), y), -2));
  context->SetDx(1, context->builder()->Op("TanhGrad", {y, g}));
  return absl::OkStatus();
}

// z = dy * y * (1 - y)
Status SigmoidGradGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output g = context->dy(0);
  const Output y = Conjugate(context, context->input(0));
  const Output dy = Conjugate(context, context->input(1));
  const Output one = builder->ScalarOf(y.dtype(), 1);
  const Output slope = builder->Op("Sub", {one, Scaled(context, y, 2)});
  context->SetDx(0, Mul(context, Mul(context, g, dy), slope));
  context->SetDx(1, builder->Op("SigmoidGrad", {y, g}));
  return absl::OkStatus();
}

// z = dy / (2 conj(y))
Status SqrtGradGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output g_over_y = builder->Op("RealDiv", {context->dy(0), context->input(0)});
  const Output z = context->output(0);
  context->SetDx(0, builder->Op("Neg", {Mul(context, Conjugate(context, g_over_y), z)}));
  context->SetDx(1, Scaled(context, g_over_y, 0.5));
  return absl::OkStatus();
}

// z = -dy * conj(y)^3 / 2
Status RsqrtGradGradient(GradientContext* context) {
  const Output g = context->dy(0);
  const Output y = Conjugate(context, context->input(0));
  const Output y_squared = context->builder()->Op("Square", {y});
  const Output g_dy = Mul(context, Conjugate(context, g), context->input(1));
  const Output product = Mul(context, g_dy, y_squared);
  context->SetDx(0, Scaled(context, product, -1.5));
  context->SetDx(1, context->builder()->Op("RsqrtGrad", {y, g}));
  return absl::OkStatus();
}

// z = -dy * conj(y)^2
Status ReciprocalGradGradient(GradientContext* context) {
  const Output g = context->dy(0);
  const Output y = Conjugate(context, context->input(0));
  const Output g_dy = Mul(context, Conjugate(context, g), context->input(1));
  context->SetDx(0, Scaled(context, Mul(context, g_dy, y), -2));
  context->SetDx(1, context->builder()->Op("ReciprocalGrad", {y, g}));
  return absl::OkStatus();
}

// ---- Two arguments ----

Status AddGradient(GradientContext* context) {
  SetBroadcastDx(context, context->dy(0), context->dy(0));
  return absl::OkStatus();
}

Status SubGradient(GradientContext* context) {
  const Output dy = context->dy(0);
  SetBroadcastDx(context, dy, context->builder()->Op("Neg", {dy}));
  return absl::OkStatus();
}

Status MulGradient(GradientContext* context) {
  const Output dy = context->dy(0);
  const Output x0 = Conjugate(context, context->input(0));
  const Output x1 = Conjugate(context, context->input(1));
  SetBroadcastDx(context, Mul(context, dy, x1), Mul(context, x0, dy));
  return absl::OkStatus();
}

// d(a/b) = da/b - a/b^2 db
Status DivGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output a = Conjugate(context, context->input(0));
  const Output b = Conjugate(context, context->input(1));
  const Output minus_a_over_b = builder->Op("RealDiv", {builder->Op("Neg", {a}), b});
  const Output slope = builder->Op("RealDiv", {minus_a_over_b, b});
  SetBroadcastDx(context, builder->Op("RealDiv", {dy, b}), Mul(context, dy, slope));
  return absl::OkStatus();
}

// a rem b = a - b trunc(a/b)
Status TruncateModGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output multiple = builder->Op("Sub", {context->output(0), context->input(0)});
  const Output slope = builder->Op("Rint", {builder->Op("RealDiv", {multiple, context->input(1)})});
  SetBroadcastDx(context, dy, Mul(context, dy, slope));
  return absl::OkStatus();
}

// a mod b = a - b floor(a/b)
Status FloorModGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output floor = builder->Op("FloorDiv", {context->input(0), context->input(1)});
  SetBroadcastDx(context, dy, Mul(context, dy, builder->Op("Neg", {floor})));
  return absl::OkStatus();
}

// Of complex numbers it is real, and dy counts as real.
Status SquaredDifferenceGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output difference = builder->Op("Sub", {context->input(0), context->input(1)});
  const Output dx = Mul(context, Scaled(context, context->dy(0), 2), difference);
  SetBroadcastDx(context, dx, builder->Op("Neg", {dx}));
  return absl::OkStatus();
}

// The gradient goes to the argument that was taken; to the first where they are equal.
Status SelectingGradient(GradientContext* context, const char* first_taken) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output zeros = builder->Op("ZerosLike", {dy});
  const Output mask = builder->Op(first_taken, {context->input(0), context->input(1)});
  SetBroadcastDx(context, builder->Op("Select", {mask, dy, zeros}),
                 builder->Op("Select", {mask, zeros, dy}));
  return absl::OkStatus();
}
Status MaximumGradient(GradientContext* context) {
  return SelectingGradient(context, "GreaterEqual");
}
Status MinimumGradient(GradientContext* context) { return SelectingGradient(context, "LessEqual"); }

// d(a^b) = b a^(b-1) da + log(a) a^b db; the second is 0 where a^b is not differentiable in b:
// where a <= 0 or, for complex numbers, a = 0. dy comes first in each
// product: where it is 0, power * log alone may overflow, and 0 * inf is NaN.
Status PowGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output a = Conjugate(context, context->input(0));
  const Output b = Conjugate(context, context->input(1));
  const Output power = Conjugate(context, context->output(0));
  const Output less_one = builder->Op("Sub", {b, builder->ScalarOf(b.dtype(), 1)});
  const Output da = Mul(context, Mul(context, dy, b), builder->Op("Pow", {a, less_one}));
  const Output has_log = builder->Op(IsComplex(a.dtype()) ? "NotEqual" : "Greater",
                                     {a, builder->ScalarOf(a.dtype(), 0)});
  const Output safe = builder->Op("Select", {has_log, a, builder->Op("OnesLike", {a})});
  const Output log =
      builder->Op("Select", {has_log, builder->Op("Log", {safe}), builder->Op("ZerosLike", {a})});
  const Output db = Mul(context, Mul(context, dy, power), log);
  SetBroadcastDx(context, da, db);
  return absl::OkStatus();
}

// d(a/b) as above, where b is not 0. Everywhere else it is 0.
Status DivNoNanGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output a = Conjugate(context, context->input(0));
  const Output b = Conjugate(context, context->input(1));
  const Output minus_a_over_b = builder->Op("DivNoNan", {builder->Op("Neg", {a}), b});
  const Output slope = builder->Op("DivNoNan", {minus_a_over_b, b});
  SetBroadcastDx(context, builder->Op("DivNoNan", {dy, b}), Mul(context, dy, slope));
  return absl::OkStatus();
}

// As in the 1.15 API, complex numbers are not conjugated in this gradient, nor in those of Xlogy
// and Xdivy.
Status MulNoNanGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output db = builder->Op("MulNoNan", {context->input(0), dy});
  SetBroadcastDx(context, builder->Op("MulNoNan", {dy, context->input(1)}), db);
  return absl::OkStatus();
}

// 1 where x is not 0, and 0 where it is.
Output IsNotZero(GradientContext* context, Output x) {
  GraphBuilder* builder = context->builder();
  const Output not_zero = builder->Op("NotEqual", {x, builder->ScalarOf(x.dtype(), 0)});
  return builder->Op("Cast", {not_zero}, {{"DstT", x.dtype()}});
}

// d(x log y) = log y dx + x/y dy where x is not 0
Status XlogyGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dz = context->dy(0);
  const Output x = context->input(0);
  const Output y = context->input(1);
  const Output dx = builder->Op("Xlogy", {IsNotZero(context, x), y});
  const Output dy = builder->Op("Xdivy", {x, y});
  SetBroadcastDx(context, Mul(context, dz, dx), Mul(context, dz, dy));
  return absl::OkStatus();
}

// d(x/y) = dx/y - x/y^2 dy where x is not 0
Status XdivyGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dz = context->dy(0);
  const Output x = context->input(0);
  const Output y = context->input(1);
  const Output dx = builder->Op("Xdivy", {IsNotZero(context, x), y});
  const Output dy = builder->Op("Xdivy", {builder->Op("Neg", {x}), builder->Op("Square", {y})});
  SetBroadcastDx(context, Mul(context, dz, dx), Mul(context, dz, dy));
  return absl::OkStatus();
}

// d atan(y/x) = (x dy - y dx) / (x^2 + y^2)
Status Atan2Gradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output y = context->input(0);
  const Output x = context->input(1);
  const Output size = builder->Op("Add", {builder->Op("Square", {x}), builder->Op("Square", {y})});
  const Output scaled = builder->Op("RealDiv", {context->dy(0), size});
  SetBroadcastDx(context, Mul(context, x, scaled), Mul(context, builder->Op("Neg", {y}), scaled));
  return absl::OkStatus();
}

// It goes along with the first argument.
Status NextAfterGradient(GradientContext* context) {
  const Output dy = context->dy(0);
  SetBroadcastDx(context, dy, context->builder()->Op("ZerosLike", {dy}));
  return absl::OkStatus();
}

// The gradient goes to what was taken: t, or the bound that it is beyond.
Status ClipByValueGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output t = context->input(0);
  const Output zeros = builder->Op("ZerosLike", {dy});
  const Output below = builder->Op("Less", {t, context->input(1)});
  const Output above = builder->Op("Greater", {t, context->input(2)});
  const Output beyond = builder->Op("LogicalOr", {below, above});
  const Output low = builder->Op("Select", {below, dy, zeros});
  const Output high = builder->Op("Select", {above, dy, zeros});
  context->SetDx(0, builder->Op("Select", {beyond, zeros, dy}));
  context->SetDx(1, SumToShapeOf(builder, low, context->input(1), t));
  context->SetDx(2, SumToShapeOf(builder, high, context->input(2), t));
  return absl::OkStatus();
}

Status AddNGradient(GradientContext* context) {
  for (int i = 0; i < context->num_inputs(); ++i) context->SetDx(i, context->dy(0));
  return absl::OkStatus();
}

// With a condition of rank 1 whole rows are chosen, and so are the gradient's. The zeros of
// variants have the structure of what the input holds.
Status SelectGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const bool of_variants = dy.dtype() == DataType::kVariant;
  const Output no_t = builder->Op("ZerosLike", {of_variants ? context->input(1) : dy});
  const Output no_e = of_variants ? builder->Op("ZerosLike", {context->input(2)}) : no_t;
  context->SetDx(1, builder->Op("Select", {context->input(0), dy, no_t}));
  context->SetDx(2, builder->Op("Select", {context->input(0), no_e, dy}));
  return absl::OkStatus();
}

Status SelectV2Gradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const bool of_variants = dy.dtype() == DataType::kVariant;
  const Output no_t = of_variants ? builder->Op("ZerosLike", {context->input(1)})
                                  : builder->ScalarOf(dy.dtype(), 0);
  const Output no_e = of_variants ? builder->Op("ZerosLike", {context->input(2)}) : no_t;
  const Output whole = context->output(0);
  const Output dt = builder->Op("SelectV2", {context->input(0), dy, no_t});
  const Output de = builder->Op("SelectV2", {context->input(0), no_e, dy});
  context->SetDx(1, SumToShapeOf(builder, dt, context->input(1), whole));
  context->SetDx(2, SumToShapeOf(builder, de, context->input(2), whole));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("CheckNumerics", CheckNumericsGradient);
MILLSTREAM_GRADIENT("Neg", NegGradient);
MILLSTREAM_GRADIENT("Abs", AbsGradient);
MILLSTREAM_GRADIENT("Sign", SignGradient);
MILLSTREAM_GRADIENT("Square", SquareGradient);
MILLSTREAM_GRADIENT("Sqrt", GradientFromOutput<&kSqrtGrad>);
MILLSTREAM_GRADIENT("Rsqrt", GradientFromOutput<&kRsqrtGrad>);
MILLSTREAM_GRADIENT("Reciprocal", GradientFromOutput<&kReciprocalGrad>);
MILLSTREAM_GRADIENT("Inv", GradientFromOutput<&kReciprocalGrad>);
MILLSTREAM_GRADIENT("Exp", ExpGradient);
MILLSTREAM_GRADIENT("Log", LogGradient);
MILLSTREAM_GRADIENT("Tanh", GradientFromConjugateOutput<&kTanhGrad>);
MILLSTREAM_GRADIENT("Sigmoid", GradientFromConjugateOutput<&kSigmoidGrad>);
MILLSTREAM_GRADIENT("Conj", ConjGradient);
MILLSTREAM_GRADIENT("Cast", CastGradient);
MILLSTREAM_GRADIENT("TanhGrad", TanhGradGradient);
MILLSTREAM_GRADIENT("SigmoidGrad", SigmoidGradGradient);
MILLSTREAM_GRADIENT("SqrtGrad", SqrtGradGradient);
MILLSTREAM_GRADIENT("RsqrtGrad", RsqrtGradGradient);
MILLSTREAM_GRADIENT("ReciprocalGrad", ReciprocalGradGradient);
MILLSTREAM_GRADIENT("InvGrad", ReciprocalGradGradient);
MILLSTREAM_GRADIENT("Add", AddGradient);
MILLSTREAM_GRADIENT("AddV2", AddGradient);
MILLSTREAM_GRADIENT("Sub", SubGradient);
MILLSTREAM_GRADIENT("Mul", MulGradient);
MILLSTREAM_GRADIENT("Div", DivGradient);
MILLSTREAM_GRADIENT("RealDiv", DivGradient);
MILLSTREAM_GRADIENT("ClipByValue", ClipByValueGradient);
MILLSTREAM_GRADIENT("DivNoNan", DivNoNanGradient);
MILLSTREAM_GRADIENT("MulNoNan", MulNoNanGradient);
MILLSTREAM_GRADIENT("Xlogy", XlogyGradient);
MILLSTREAM_GRADIENT("Xdivy", XdivyGradient);
MILLSTREAM_GRADIENT("Atan2", Atan2Gradient);
MILLSTREAM_GRADIENT("NextAfter", NextAfterGradient);
MILLSTREAM_GRADIENT("FloorMod", FloorModGradient);
MILLSTREAM_GRADIENT("Mod", TruncateModGradient);
MILLSTREAM_GRADIENT("TruncateMod", TruncateModGradient);
MILLSTREAM_GRADIENT("SquaredDifference", SquaredDifferenceGradient);
MILLSTREAM_GRADIENT("Maximum", MaximumGradient);
MILLSTREAM_GRADIENT("Minimum", MinimumGradient);
MILLSTREAM_GRADIENT("Pow", PowGradient);
MILLSTREAM_GRADIENT("AddN", AddNGradient);
MILLSTREAM_GRADIENT("AccumulateNV2", AddNGradient);
MILLSTREAM_GRADIENT("Select", SelectGradient);
MILLSTREAM_GRADIENT("SelectV2", SelectV2Gradient);
MILLSTREAM_NOT_DIFFERENTIABLE("Floor");
MILLSTREAM_NOT_DIFFERENTIABLE("Ceil");
MILLSTREAM_NOT_DIFFERENTIABLE("Rint");
MILLSTREAM_NOT_DIFFERENTIABLE("Round");
MILLSTREAM_NOT_DIFFERENTIABLE("IsNan");
MILLSTREAM_NOT_DIFFERENTIABLE("IsInf");
MILLSTREAM_NOT_DIFFERENTIABLE("IsFinite");
MILLSTREAM_NOT_DIFFERENTIABLE("FloorDiv");
MILLSTREAM_NOT_DIFFERENTIABLE("TruncateDiv");
MILLSTREAM_NOT_DIFFERENTIABLE("ApproximateEqual");
MILLSTREAM_NOT_DIFFERENTIABLE("Equal");
MILLSTREAM_NOT_DIFFERENTIABLE("NotEqual");
MILLSTREAM_NOT_DIFFERENTIABLE("Less");
MILLSTREAM_NOT_DIFFERENTIABLE("LessEqual");
MILLSTREAM_NOT_DIFFERENTIABLE("Greater");
MILLSTREAM_NOT_DIFFERENTIABLE("GreaterEqual");
MILLSTREAM_NOT_DIFFERENTIABLE("LogicalAnd");
MILLSTREAM_NOT_DIFFERENTIABLE("LogicalOr");
MILLSTREAM_NOT_DIFFERENTIABLE("LogicalNot");
MILLSTREAM_NOT_DIFFERENTIABLE("BitwiseAnd");
MILLSTREAM_NOT_DIFFERENTIABLE("BitwiseOr");
MILLSTREAM_NOT_DIFFERENTIABLE("BitwiseXor");
MILLSTREAM_NOT_DIFFERENTIABLE("Invert");
MILLSTREAM_NOT_DIFFERENTIABLE("LeftShift");
MILLSTREAM_NOT_DIFFERENTIABLE("RightShift");
MILLSTREAM_NOT_DIFFERENTIABLE("PopulationCount");

}  // namespace
}  // namespace millstream
