// Gradients of the ops of neural networks.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// An op with the attributes of the forward node that are named.
Output OpWithAttrsOf(GradientContext* context, const char* op, const std::vector<Output>& inputs,
                     const std::vector<const char*>& names) {
  return context->builder()->OpWithAttrs(op, inputs, context->attrs(), names);
}

// A vector's element for every row of a matrix: [n] becomes [n, 1].
Output AsColumn(GradientContext* context, Output vector) {
  GraphBuilder* builder = context->builder();
  return builder->Op("ExpandDims", {vector, builder->Int32(-1)});
}

Output SumOverClasses(GradientContext* context, Output tensor) {
  GraphBuilder* builder = context->builder();
  return builder->Op("Sum", {tensor, builder->Int32Vector({-1})}, {{"keep_dims", true}});
}

// ---- Activations ----

constexpr const char* kReluGrad = "ReluGrad";
constexpr const char* kRelu6Grad = "Relu6Grad";
constexpr const char* kEluGrad = "EluGrad";
constexpr const char* kSeluGrad = "SeluGrad";
constexpr const char* kSoftplusGrad = "SoftplusGrad";
constexpr const char* kSoftsignGrad = "SoftsignGrad";

// For functions whose gradient is an op of (dy, y).
template <const char* const* kOp>
Status GradientFromOutput(GradientContext* context) {
  context->SetDx(0, context->builder()->Op(*kOp, {context->dy(0), context->output(0)}));
  return absl::OkStatus();
}

// For those whose gradient is an op of (dy, x).
template <const char* const* kOp>
Status GradientFromInput(GradientContext* context) {
  context->SetDx(0, context->builder()->Op(*kOp, {context->dy(0), context->input(0)}));
  return absl::OkStatus();
}

// z = g where x is within bounds, and 0 elsewhere: constant in x but for the bounds.
template <const char* const* kOp>
Status GradientOfBoundedGrad(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output features = context->input(1);
  context->SetDx(0, builder->Op(*kOp, {context->dy(0), features}));
  context->SetDx(1, builder->Op("ZerosLike", {features}));
  return absl::OkStatus();
}

// z = g * (y + constant) where y < 0, and g * constant elsewhere
template <const char* const* kOp>
Status GradientOfExponentialGrad(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dz = context->dy(0);
  const Output y = context->input(1);
  context->SetDx(0, builder->Op(*kOp, {dz, y}));
  const Output negative = builder->Op("Less", {y, builder->ScalarOf(y.dtype(), 0)});
  const Output slope = builder->Op("Mul", {dz, context->input(0)});
  const Output zeros = builder->Op("ZerosLike", {y});
  context->SetDx(1, builder->Op("Select", {negative, slope, zeros}));
  return absl::OkStatus();
}

// z = g * s with s = sigmoid(x), so that dz/dx = g * s * (1 - s)
Status SoftplusGradGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dz = context->dy(0);
  const Output x = context->input(1);
  context->SetDx(0, builder->Op("SoftplusGrad", {dz, x}));
  const Output product = builder->Op("Mul", {dz, context->input(0)});
  const Output sigmoid = builder->Op("Sigmoid", {x});
  context->SetDx(1, builder->Op("SigmoidGrad", {sigmoid, product}));
  return absl::OkStatus();
}

// z = g / (1 + |x|)^2, so that dz/dx = -2 sign(x) z / (1 + |x|)
Status SoftsignGradGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dz = context->dy(0);
  const Output x = context->input(1);
  context->SetDx(0, builder->Op("SoftsignGrad", {dz, x}));
  const Output one = builder->ScalarOf(x.dtype(), 1);
  const Output size = builder->Op("Add", {builder->Op("Abs", {x}), one});
  const Output sign =
      builder->Op("Mul", {builder->Op("Sign", {x}), builder->ScalarOf(x.dtype(), -2)});
  const Output slope = builder->Op("RealDiv", {sign, size});
  const Output product = builder->Op("Mul", {dz, context->output(0)});
  context->SetDx(1, builder->Op("Mul", {product, slope}));
  return absl::OkStatus();
}

Output LeakyReluGrad(GradientContext* context, Output features) {
  return OpWithAttrsOf(context, "LeakyReluGrad", {context->dy(0), features}, {"alpha"});
}

Status LeakyReluGradient(GradientContext* context) {
  context->SetDx(0, LeakyReluGrad(context, context->input(0)));
  return absl::OkStatus();
}

// Constant in x but for 0.
Status LeakyReluGradGradient(GradientContext* context) {
  const Output features = context->input(1);
  context->SetDx(0, LeakyReluGrad(context, features));
  context->SetDx(1, context->builder()->Op("ZerosLike", {features}));
  return absl::OkStatus();
}

Status BiasAddGradient(GradientContext* context) {
  context->SetDx(0, context->dy(0));
  context->SetDx(1, OpWithAttrsOf(context, "BiasAddGrad", {context->dy(0)}, {"data_format"}));
  return absl::OkStatus();
}

// BiasAddV1 has no data_format: channels are last.
Status BiasAddV1Gradient(GradientContext* context) {
  context->SetDx(0, context->dy(0));
  context->SetDx(1, context->builder()->Op("BiasAddGrad", {context->dy(0)}));
  return absl::OkStatus();
}

// The sum over all but the channels repeats a gradient of one number a channel.
Status BiasAddGradGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output zeros = builder->Op("ZerosLike", {context->input(0)});
  context->SetDx(0, OpWithAttrsOf(context, "BiasAdd", {zeros, context->dy(0)}, {"data_format"}));
  return absl::OkStatus();
}

// dx = (dy - sum(dy * y)) * y
Status SoftmaxGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output y = context->output(0);
  const Output mean = SumOverClasses(context, builder->Op("Mul", {dy, y}));
  context->SetDx(0, builder->Op("Mul", {builder->Op("Sub", {dy, mean}), y}));
  return absl::OkStatus();
}

// dx = dy - softmax(x) * sum(dy)
Status LogSoftmaxGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output softmax = builder->Op("Exp", {context->output(0)});
  const Output total = SumOverClasses(context, dy);
  context->SetDx(0, builder->Op("Sub", {dy, builder->Op("Mul", {softmax, total})}));
  return absl::OkStatus();
}

// The op's second output is softmax - labels, the derivative of the loss by the logits. The
// derivative of that output is the derivative of the softmax.
Output LogitsGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output first = builder->Op("Mul", {AsColumn(context, context->dy(0)), context->output(1)});
  if (!context->has_dy(1)) return first;
  const Output g = context->dy(1);
  const Output softmax = builder->Op("Softmax", {context->input(0)});
  const Output mean = SumOverClasses(context, builder->Op("Mul", {g, softmax}));
  const Output second = builder->Op("Mul", {builder->Op("Sub", {g, mean}), softmax});
  return builder->Op("Add", {first, second});
}

Status SoftmaxCrossEntropyGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output logits = context->input(0);
  const Output labels = context->input(1);
  const Output log_softmax = builder->Op("LogSoftmax", {logits});
  const Output dlabels =
      builder->Op("Mul", {AsColumn(context, context->dy(0)), builder->Op("Neg", {log_softmax})});
  context->SetDx(0, SumToShapeOf(builder, LogitsGradient(context), logits, labels));
  context->SetDx(1, SumToShapeOf(builder, dlabels, labels, logits));
  return absl::OkStatus();
}

Status SparseSoftmaxCrossEntropyGradient(GradientContext* context) {
  context->SetDx(0, LogitsGradient(context));
  return absl::OkStatus();
}

// The op's second output is the gradient of each loss for the logits, [time, batch, classes]. It
// has no gradient of its own.
Status CtcLossGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output gradient = builder->Op("PreventGradient", {context->output(1)});
  context->SetDx(0, builder->Op("Mul", {gradient, AsColumn(context, context->dy(0))}));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("Relu", GradientFromOutput<&kReluGrad>);
MILLSTREAM_GRADIENT("ReluGrad", GradientOfBoundedGrad<&kReluGrad>);
MILLSTREAM_GRADIENT("Relu6", GradientFromOutput<&kRelu6Grad>);
MILLSTREAM_GRADIENT("Relu6Grad", GradientOfBoundedGrad<&kRelu6Grad>);
MILLSTREAM_GRADIENT("Elu", GradientFromOutput<&kEluGrad>);
MILLSTREAM_GRADIENT("EluGrad", GradientOfExponentialGrad<&kEluGrad>);
MILLSTREAM_GRADIENT("Selu", GradientFromOutput<&kSeluGrad>);
MILLSTREAM_GRADIENT("SeluGrad", GradientOfExponentialGrad<&kSeluGrad>);
MILLSTREAM_GRADIENT("Softplus", GradientFromInput<&kSoftplusGrad>);
MILLSTREAM_GRADIENT("SoftplusGrad", SoftplusGradGradient);
MILLSTREAM_GRADIENT("Softsign", GradientFromInput<&kSoftsignGrad>);
MILLSTREAM_GRADIENT("SoftsignGrad", SoftsignGradGradient);
MILLSTREAM_GRADIENT("LeakyRelu", LeakyReluGradient);
MILLSTREAM_GRADIENT("LeakyReluGrad", LeakyReluGradGradient);
MILLSTREAM_GRADIENT("BiasAdd", BiasAddGradient);
MILLSTREAM_GRADIENT("BiasAddV1", BiasAddV1Gradient);
MILLSTREAM_GRADIENT("BiasAddGrad", BiasAddGradGradient);
MILLSTREAM_GRADIENT("Softmax", SoftmaxGradient);
MILLSTREAM_GRADIENT("LogSoftmax", LogSoftmaxGradient);
MILLSTREAM_GRADIENT("SoftmaxCrossEntropyWithLogits", SoftmaxCrossEntropyGradient);
MILLSTREAM_GRADIENT("SparseSoftmaxCrossEntropyWithLogits", SparseSoftmaxCrossEntropyGradient);
MILLSTREAM_GRADIENT("CTCLoss", CtcLossGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("CTCGreedyDecoder");
MILLSTREAM_NOT_DIFFERENTIABLE("CTCBeamSearchDecoder");

}  // namespace
}  // namespace millstream
