// Gradients of conditionals. The gradient goes into the branch that was taken, so that of a Merge
// is a Switch; the gradient of what enters a branch comes from there, so that of a Switch is a
// Merge. Dead tensors need no care: the gradient of a branch that was not taken is dead.
#include "core/gradients/control_flow.h"

#include <utility>
#include <vector>

namespace millstream {
namespace {

Status MergeAlone(GradientContext* context) { return MergeGradient(context, std::nullopt); }

MILLSTREAM_GRADIENT("Switch", SwitchGradient);
// The walk finds the branches of the inputs. Without them there is no gradient.
MILLSTREAM_GRADIENT("Merge", MergeAlone);
MILLSTREAM_NOT_DIFFERENTIABLE("FakeParam");
MILLSTREAM_NOT_DIFFERENTIABLE("LoopCond");

// Both outputs of a Switch, for each tensor of a gradient.
std::vector<Gradient> Divided(GraphBuilder* builder, const Gradient& gradient,
                              const Output& predicate) {
  std::vector<Gradient> parts(2);
  const auto divide = [&](const Output& tensor, Output Gradient::*member) {
    if (!tensor) return;
    const Output first = builder->Op("Switch", {tensor, predicate});
    if (!first) return;
    for (int k = 0; k < 2; ++k) parts[k].*member = first.node->output(k);
  };
  divide(gradient.values, &Gradient::values);
  divide(gradient.indices, &Gradient::indices);
  divide(gradient.dense_shape, &Gradient::dense_shape);
  return parts;
}

Output Merged(GraphBuilder* builder, const Output& first, const Output& second) {
  const Node* const node = builder->Variadic("Merge", {{first, second}});
  return node == nullptr ? Output() : node->output(0);
}

// Zeros that are live if output k of the Switch is: of its shape, or that of the variable.
Output ZerosOf(GradientContext* context, int k, DataType dtype) {
  GraphBuilder* const builder = context->builder();
  const Output output = context->output(k);
  if (output.dtype() != DataType::kResource) return builder->Op("ZerosLike", {output});
  const Output shape = builder->Op("VariableShape", {output});
  return builder->Op("Fill", {shape, builder->ScalarOf(dtype, 0)});
}

}  // namespace

Status MergeGradient(GradientContext* context, const std::optional<Branch>& choice) {
  if (!context->has_dy(0)) return absl::OkStatus();
  if (!choice.has_value()) {
    return errors::Unimplemented(
        "expected a Merge of the two branches of one predicate, got inputs that do not depend on "
        "different outputs of Switches with the same predicate");
  }
  const std::vector<Gradient> parts =
      Divided(context->builder(), context->raw_dy(0), choice->predicate);
  context->SetDx(0, parts[choice->taken]);
  context->SetDx(1, parts[1 - choice->taken]);
  return absl::OkStatus();
}

Status SwitchGradient(GradientContext* context) {
  GraphBuilder* const builder = context->builder();
  const Gradient& first = context->raw_dy(0);
  const Gradient& second = context->raw_dy(1);
  if (first.is_none() && second.is_none()) return absl::OkStatus();
  if (first.is_slices() && second.is_slices() && first.indices.dtype() == second.indices.dtype()) {
    context->SetDx(0, Gradient{Merged(builder, first.values, second.values),
                               Merged(builder, first.indices, second.indices),
                               Merged(builder, first.dense_shape, second.dense_shape)});
    return absl::OkStatus();
  }
  const DataType dtype = (first.is_none() ? second : first).values.dtype();
  const auto dense = [&](const Gradient& gradient, int k) {
    return gradient.is_none() ? ZerosOf(context, k, dtype) : DenseGradient(builder, gradient);
  };
  context->SetDx(0, Merged(builder, dense(first, 0), dense(second, 1)));
  return absl::OkStatus();
}

}  // namespace millstream
