// Gradients of reductions.
#include <limits>

#include "core/gradients/gradient_registry.h"
#include "core/gradients/math_helpers.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// The shape of the reduction with its axes kept as 1. Only the shape of the Sum is used: a plan
// knows it without running the Sum.
Output KeptShape(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  return ShapeVector(
      builder, builder->Op("Sum", {context->input(0), context->input(1)}, {{"keep_dims", true}}));
}

// `tensor`, of the reduction's shape, with the reduced axes as 1.
Output WithKeptAxes(GradientContext* context, Output tensor) {
  return context->builder()->Op("Reshape", {tensor, KeptShape(context)});
}

// `tensor`, of the reduction's shape, repeated along the reduced axes.
Output Repeated(GradientContext* context, Output tensor) {
  GraphBuilder* builder = context->builder();
  const Output kept = KeptShape(context);
  const Output at_least_one = builder->Op("Maximum", {kept, builder->ScalarOf(kept.dtype(), 1)});
  const Output repeats =
      builder->Op("FloorDiv", {ShapeVector(builder, context->input(0)), at_least_one});
  return builder->Op("Tile", {builder->Op("Reshape", {tensor, kept}), repeats});
}

Status SumGradient(GradientContext* context) {
  context->SetDx(0, Repeated(context, context->dy(0)));
  return absl::OkStatus();
}

// How many elements make one of the output.
Output CountOf(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const DataType dtype = context->input(0).dtype();
  const int64_t inputs = builder->ShapeOf(context->input(0)).num_elements();
  const int64_t outputs = builder->ShapeOf(context->output(0)).num_elements();
  if (inputs != kUnknownDim && outputs > 0) {
    const int64_t count = inputs / outputs;  // exact: each output is made of as many inputs
    return builder->ScalarOf(dtype, static_cast<double>(count));
  }
  const Output size = builder->Op("Size", {context->input(0)});
  const Output of_output =
      builder->Op("Maximum", {builder->Op("Size", {context->output(0)}), builder->Int32(1)});
  return builder->Op("Cast", {builder->Op("FloorDiv", {size, of_output})}, {{"DstT", dtype}});
}

// Dividing before repeating divides fewer elements.
Status MeanGradient(GradientContext* context) {
  const Output share = context->builder()->Op("RealDiv", {context->dy(0), CountOf(context)});
  context->SetDx(0, Repeated(context, share));
  return absl::OkStatus();
}

// Equal extremes share the gradient.
Status ExtremeGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output x = context->input(0);
  const Output equal = builder->Op("Equal", {WithKeptAxes(context, context->output(0)), x});
  const Output indicator = builder->Op("Cast", {equal}, {{"DstT", x.dtype()}});
  const Output count = builder->Op("Sum", {indicator, context->input(1)}, {{"keep_dims", true}});
  const Output share = builder->Op("RealDiv", {indicator, count});
  context->SetDx(0, builder->Op("Mul", {share, WithKeptAxes(context, context->dy(0))}));
  return absl::OkStatus();
}

// dx = dy * x / norm, and 0 where the norm is 0.
Status NormGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const DataType dtype = context->input(0).dtype();
  // DivNoNan does not take bfloat16.
  const DataType divided = dtype == DataType::kBFloat16 ? DataType::kFloat : dtype;
  const auto cast = [&](Output tensor, DataType to) {
    return tensor.dtype() == to ? tensor : builder->Op("Cast", {tensor}, {{"DstT", to}});
  };
  const auto kept = [&](Output tensor) { return cast(WithKeptAxes(context, tensor), divided); };
  const Output share = builder->Op("DivNoNan", {kept(context->dy(0)), kept(context->output(0))});
  context->SetDx(0, builder->Op("Mul", {context->input(0), cast(share, dtype)}));
  return absl::OkStatus();
}

// The derivative by one factor is the product of the others. Without a zero that is product / x;
// with one zero it is the product of the rest there and 0 elsewhere; with more it is 0 everywhere.
// Where it is 0 because one other factor is, it is that factor times the rest: so the gradient of
// the gradient is right, too.
Status ProdGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output x = context->input(0);
  const DataType dtype = x.dtype();
  const auto over_axes = [&](const char* op, Output tensor) {
    return builder->Op(op, {tensor, context->input(1)}, {{"keep_dims", true}});
  };
  const auto as_number = [&](Output condition) {
    return builder->Op("Cast", {condition}, {{"DstT", dtype}});
  };
  const Output zeros = builder->Op("ZerosLike", {x});
  const Output is_zero = builder->Op("Equal", {x, zeros});
  const Output count = over_axes("Sum", as_number(is_zero));
  const Output factors = builder->Op("Select", {is_zero, builder->Op("OnesLike", {x}), x});
  const Output rest = over_axes("Prod", factors);
  // The sum of the zeros, so that a zero less the others is 0 with the others' slopes.
  const Output zero = over_axes("Sum", builder->Op("Select", {is_zero, x, zeros}));
  const Output other_zero = builder->Op("Sub", {zero, x});
  // Times 1 where there are `wanted` zeros, and times `one_more` where there is another one.
  const auto rest_where_count_is = [&](double wanted, Output one_more) {
    const Output matches = builder->Op("Equal", {count, builder->ScalarOf(dtype, wanted)});
    const Output follows = builder->Op("Equal", {count, builder->ScalarOf(dtype, wanted + 1)});
    const Output further = builder->Op("Mul", {as_number(follows), one_more});
    return builder->Op("Mul", {rest, builder->Op("Add", {as_number(matches), further})});
  };
  const Output no_zero = builder->Op("RealDiv", {rest_where_count_is(0, zero), factors});
  const Output at_the_zero = rest_where_count_is(1, other_zero);
  const Output slope = builder->Op("Select", {is_zero, at_the_zero, no_zero});
  const Output dy = WithKeptAxes(context, context->dy(0));
  context->SetDx(0, builder->Op("Mul", {Conjugate(context, slope), dy}));
  return absl::OkStatus();
}

Status L2LossGradient(GradientContext* context) {
  context->SetDx(0, context->builder()->Op("Mul", {context->input(0), context->dy(0)}));
  return absl::OkStatus();
}

// The sum of `tensor` with the forward node's axis and exclusive, from the other end.
StatusOr<Output> SumFromOtherEnd(GradientContext* context, Output tensor) {
  MS_ASSIGN_OR_RETURN(const bool exclusive, context->Attr<bool>("exclusive"));
  MS_ASSIGN_OR_RETURN(const bool reverse, context->Attr<bool>("reverse"));
  return context->builder()->Op("Cumsum", {tensor, context->input(1)},
                                {{"exclusive", exclusive}, {"reverse", !reverse}});
}

// An element is part of the sums from its own place on.
Status CumsumGradient(GradientContext* context) {
  MS_ASSIGN_OR_RETURN(const Output dx, SumFromOtherEnd(context, context->dy(0)));
  context->SetDx(0, dx);
  return absl::OkStatus();
}

// Each product with the element divided out; no number where the element is 0.
Status CumprodGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output products = builder->Op("Mul", {context->output(0), context->dy(0)});
  MS_ASSIGN_OR_RETURN(const Output sum, SumFromOtherEnd(context, products));
  context->SetDx(0, builder->Op("RealDiv", {sum, context->input(0)}));
  return absl::OkStatus();
}

// The gradients of positive elements of `dy` alone: the logarithms of sums of dy exp(x - y), so
// that neither exp overflows.
StatusOr<Output> PositiveLogSumGradient(GradientContext* context, Output dy) {
  GraphBuilder* builder = context->builder();
  MS_ASSIGN_OR_RETURN(const bool exclusive, context->Attr<bool>("exclusive"));
  MS_ASSIGN_OR_RETURN(const bool reverse, context->Attr<bool>("reverse"));
  const DataType dtype = dy.dtype();
  const double least = dtype == DataType::kDouble  ? std::numeric_limits<double>::lowest()
                       : dtype == DataType::kFloat ? std::numeric_limits<float>::lowest()
                                                   : -65504.0;
  const Output is_positive = builder->Op("Greater", {dy, builder->ScalarOf(dtype, 0)});
  const Output positive = builder->Op("SelectV2", {is_positive, dy, builder->ScalarOf(dtype, 1)});
  const Output log = builder->Op(
      "SelectV2", {is_positive, builder->Op("Log", {positive}), builder->ScalarOf(dtype, least)});
  const Output sums = builder->Op(
      "CumulativeLogsumexp", {builder->Op("Sub", {log, context->output(0)}), context->input(1)},
      {{"exclusive", exclusive}, {"reverse", !reverse}});
  return builder->Op("Exp", {builder->Op("Add", {sums, context->input(0)})});
}

Status CumulativeLogsumexpGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  MS_ASSIGN_OR_RETURN(const Output positive, PositiveLogSumGradient(context, dy));
  MS_ASSIGN_OR_RETURN(const Output negative,
                      PositiveLogSumGradient(context, builder->Op("Neg", {dy})));
  context->SetDx(0, builder->Op("Sub", {positive, negative}));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("CumulativeLogsumexp", CumulativeLogsumexpGradient);
MILLSTREAM_GRADIENT("Cumsum", CumsumGradient);
MILLSTREAM_GRADIENT("Cumprod", CumprodGradient);
MILLSTREAM_GRADIENT("Sum", SumGradient);
MILLSTREAM_GRADIENT("Mean", MeanGradient);
MILLSTREAM_GRADIENT("EuclideanNorm", NormGradient);
MILLSTREAM_GRADIENT("Max", ExtremeGradient);
MILLSTREAM_GRADIENT("Min", ExtremeGradient);
MILLSTREAM_GRADIENT("Prod", ProdGradient);
MILLSTREAM_GRADIENT("L2Loss", L2LossGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("All");
MILLSTREAM_NOT_DIFFERENTIABLE("Any");
MILLSTREAM_NOT_DIFFERENTIABLE("ArgMax");
MILLSTREAM_NOT_DIFFERENTIABLE("ArgMin");

}  // namespace
}  // namespace millstream
