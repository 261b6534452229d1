// Gradients of quantization: rounding to levels counts as if it changed nothing (Y. Bengio and
// others: Estimating or Propagating Gradients Through Stochastic Neurons, 2013).
#include "core/gradients/gradient_registry.h"

namespace millstream {
namespace {

Output OfArgs(GradientContext* context, Output gradients, Output inputs) {
  return context->builder()->OpWithAttrs("FakeQuantWithMinMaxArgsGradient", {gradients, inputs},
                                         context->attrs(),
                                         {"min", "max", "num_bits", "narrow_range"});
}

Status FakeQuantArgsGradient(GradientContext* context) {
  context->SetDx(0, OfArgs(context, context->dy(0), context->input(0)));
  return absl::OkStatus();
}

Status GradientOfFakeQuantArgsGradient(GradientContext* context) {
  context->SetDx(0, OfArgs(context, context->dy(0), context->input(1)));
  return absl::OkStatus();
}

constexpr const char* kVars = "FakeQuantWithMinMaxVarsGradient";
constexpr const char* kChannels = "FakeQuantWithMinMaxVarsPerChannelGradient";

// The gradients for the inputs, min and max. The op's own last three inputs are these.
StatusOr<const Node*> OfVars(GradientContext* context, const char* op, Output gradients) {
  MS_ASSIGN_OR_RETURN(const int64_t bits, context->Attr<int64_t>("num_bits"));
  MS_ASSIGN_OR_RETURN(const bool is_narrow, context->Attr<bool>("narrow_range"));
  const int first = context->num_inputs() - 3;
  const Node* node = context->builder()->NodeOf(
      op, {gradients, context->input(first), context->input(first + 1), context->input(first + 2)},
      {{"num_bits", bits}, {"narrow_range", is_narrow}});
  if (node == nullptr) return context->builder()->status();
  return node;
}

template <const char* const* kOp>
Status FakeQuantVarsGradient(GradientContext* context) {
  MS_ASSIGN_OR_RETURN(const Node* const node, OfVars(context, *kOp, context->dy(0)));
  for (int i = 0; i < 3; ++i) context->SetDx(i, node->output(i));
  return absl::OkStatus();
}

// What the op gives is a sum of its gradients: of those inside of the range, below or above it. A
// range has zero in it, so what is outside of it is below where it is negative.
template <const char* const* kOp>
Status GradientOfFakeQuantVarsGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output inputs = context->input(1);
  const Output ones = builder->Op("OnesLike", {inputs});
  MS_ASSIGN_OR_RETURN(const Node* const inside, OfVars(context, *kOp, context->dy(0)));
  MS_ASSIGN_OR_RETURN(const Node* const mask, OfVars(context, *kOp, ones));
  const Output outside = builder->Op("Sub", {ones, mask->output(0)});
  const Output is_below = builder->Op("Less", {inputs, builder->ScalarOf(inputs.dtype(), 0)});
  const Output of_ends = builder->Op("SelectV2", {is_below, context->dy(1), context->dy(2)});
  const Output beyond = builder->Op("Mul", {outside, of_ends});
  context->SetDx(0, builder->Op("Add", {inside->output(0), beyond}));
  return absl::OkStatus();
}

Status StraightThrough(GradientContext* context) {
  context->SetDx(0, context->raw_dy(0));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("FakeQuantWithMinMaxArgs", FakeQuantArgsGradient);
MILLSTREAM_GRADIENT("FakeQuantWithMinMaxArgsGradient", GradientOfFakeQuantArgsGradient);
MILLSTREAM_GRADIENT("FakeQuantWithMinMaxVars", FakeQuantVarsGradient<&kVars>);
MILLSTREAM_GRADIENT("FakeQuantWithMinMaxVarsGradient", GradientOfFakeQuantVarsGradient<&kVars>);
MILLSTREAM_GRADIENT("FakeQuantWithMinMaxVarsPerChannel", FakeQuantVarsGradient<&kChannels>);
MILLSTREAM_GRADIENT("FakeQuantWithMinMaxVarsPerChannelGradient",
                    GradientOfFakeQuantVarsGradient<&kChannels>);
MILLSTREAM_GRADIENT("QuantizeAndDequantize", StraightThrough);
MILLSTREAM_GRADIENT("QuantizeAndDequantizeV2", StraightThrough);
MILLSTREAM_GRADIENT("QuantizeAndDequantizeV3", StraightThrough);

}  // namespace
}  // namespace millstream
