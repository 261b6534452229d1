// Gradients of conditionals, which are Switches and Merges of one predicate.
//
// The gradient of a Merge goes to the branch that was taken: it is a Switch. The gradient of a
// Switch comes from the branch that was taken: it is a Merge. Nodes in between read a dead gradient
// in the other branch, so they do not run there. Gradients of loops are not implemented.
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/gradients/gradient_registry.h"
#include "core/graph/control_flow.h"

namespace millstream {
namespace {

// What a predicate is a copy of: a conditional's pivots take the predicate as it is given, and what
// enters its branches a copy.
Output SourceOf(Output predicate) {
  while (predicate.node->op().name == "Identity") predicate = predicate.node->input(0);
  return predicate;
}

// The Switches that decide whether a tensor is live: their predicates, in the order in which a
// search from the tensor back meets them, and which of their outputs it depends on.
struct Guards {
  std::vector<Output> predicates;
  absl::flat_hash_map<Output, int> outputs;  // by the source of the predicate; bit k: output k

  void Add(const Output& predicate, int output) {
    const auto [found, is_new] = outputs.try_emplace(SourceOf(predicate), 0);
    if (is_new) predicates.push_back(predicate);
    found->second |= 1 << output;
  }
};

Guards GuardsOf(const Output& tensor) {
  Guards guards;
  std::vector<Output> waiting = {tensor};
  absl::flat_hash_set<Output> seen;
  for (size_t i = 0; i < waiting.size(); ++i) {
    const Output output = waiting[i];
    const Node* const node = output.node;
    const auto visit = [&](const Output& input) {
      if (seen.insert(input).second) waiting.push_back(input);
    };
    if (KindOf(*node) == ControlFlowKind::kSwitch) {
      guards.Add(node->input(1), output.index);
      visit(node->input(0));  // not the predicate, whose own branch is that of the data
      continue;
    }
    for (const Output& input : node->inputs()) visit(input);
    for (const Node* const control : node->control_inputs()) {
      if (KindOf(*control) != ControlFlowKind::kSwitch) visit(Output{control, 0});
    }
  }
  return guards;
}

struct Choice {
  Output predicate;
  int first_output = 0;  // of a Switch on the predicate: the branch of the Merge's first input
};

// What a Merge of two branches depends on: its inputs need different outputs of such Switches.
std::optional<Choice> ChoiceOf(const Output& first, const Output& second) {
  const Guards of_first = GuardsOf(first);
  const Guards of_second = GuardsOf(second);
  for (const Output& predicate : of_first.predicates) {
    const Output source = SourceOf(predicate);
    const int bits = of_first.outputs.at(source);
    const auto other = of_second.outputs.find(source);
    if (other == of_second.outputs.end() || bits == 3 || other->second != 3 - bits) continue;
    return Choice{predicate, bits == 2 ? 1 : 0};
  }
  return std::nullopt;
}

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

Status MergeGradient(GradientContext* context) {
  if (!context->has_dy(0)) return absl::OkStatus();
  for (int i = 0; i < context->num_inputs(); ++i) {
    if (KindOf(*context->input(i).node) != ControlFlowKind::kNextIteration) continue;
    return errors::Unimplemented("a loop has no gradient yet");
  }
  std::optional<Choice> choice;
  if (context->num_inputs() == 2) choice = ChoiceOf(context->input(0), context->input(1));
  if (!choice.has_value()) {
    return errors::Unimplemented(
        "expected a Merge of the two branches of one predicate, got inputs that do not depend on "
        "different outputs of Switches with the same predicate");
  }
  const std::vector<Gradient> parts =
      Divided(context->builder(), context->raw_dy(0), choice->predicate);
  context->SetDx(0, parts[choice->first_output]);
  context->SetDx(1, parts[1 - choice->first_output]);
  return absl::OkStatus();
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

MILLSTREAM_GRADIENT("Merge", MergeGradient);
MILLSTREAM_GRADIENT("Switch", SwitchGradient);

}  // namespace
}  // namespace millstream
