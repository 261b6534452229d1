// Gradients of cells of recurrent networks.
#include <vector>

#include "core/gradients/gradient_registry.h"

namespace millstream {
namespace {

// Output i of the node that `first` is output 0 of; none after an error.
Output Sibling(Output first, int i) { return first ? first.node->output(i) : Output(); }

// The outputs of an LSTM that have gradients.
constexpr int kMemory = 1;
constexpr int kHidden = 6;

std::vector<Output> Inputs(GradientContext* context, int count) {
  std::vector<Output> inputs;
  for (int i = 0; i < count; ++i) inputs.push_back(context->input(i));
  return inputs;
}

constexpr const char* kLstmGrad = "BlockLSTMGrad";
constexpr const char* kLstmGradV2 = "BlockLSTMGradV2";

template <const char* const* kOp>
Status LstmGradient(GradientContext* context) {
  std::vector<Output> inputs = Inputs(context, 9);
  for (int i = 0; i < 7; ++i) inputs.push_back(context->output(i));
  inputs.push_back(context->dy(kMemory));
  inputs.push_back(context->dy(kHidden));
  const Output dx =
      context->builder()->OpWithAttrs(*kOp, inputs, context->attrs(), {"use_peephole"});
  for (int i = 0; i < 8; ++i) context->SetDx(1 + i, Sibling(dx, i));
  return absl::OkStatus();
}

// The gradients of gates = [x, h] * w + b: for x and h, side by side, for w and for b.
struct GatesGradient {
  Output joined;
  Output w;
  Output b;
};
GatesGradient GradientOfGates(GraphBuilder* builder, Output x, Output h, Output w, Output gates) {
  const Node* const concat = builder->Variadic("ConcatV2", {{x, h}, {builder->Int32(1)}});
  const Output joined = concat == nullptr ? Output() : concat->output(0);
  return {builder->Op("MatMul", {gates, w}, {{"transpose_b", true}}),
          builder->Op("MatMul", {joined, gates}, {{"transpose_a", true}}),
          builder->Op("BiasAddGrad", {gates})};
}

// The first columns of a matrix, as many as `like` has.
Output FirstColumns(GraphBuilder* builder, Output matrix, Output like) {
  return builder->Op("Slice", {matrix, builder->Int32Vector({0, 0}), builder->Op("Shape", {like})});
}

// The last columns of a matrix, after as many as `before` has.
Output LastColumns(GraphBuilder* builder, Output matrix, Output before) {
  const Output skipped =
      builder->Op("Mul", {builder->Op("Shape", {before}), builder->Int32Vector({0, 1})});
  return builder->Op("Slice", {matrix, skipped, builder->Int32Vector({-1, -1})});
}

Status LstmCellGradient(GradientContext* context) {
  GraphBuilder* const builder = context->builder();
  std::vector<Output> inputs = Inputs(context, 8);
  for (int i = 0; i < 6; ++i) inputs.push_back(context->output(i));
  inputs.push_back(context->dy(kMemory));
  inputs.push_back(context->dy(kHidden));
  const Output memory =
      builder->OpWithAttrs("LSTMBlockCellGrad", inputs, context->attrs(), {"use_peephole"});
  const Output x = context->input(0);
  const GatesGradient gates =
      GradientOfGates(builder, x, context->input(2), context->input(3), Sibling(memory, 1));
  context->SetDx(0, FirstColumns(builder, gates.joined, x));
  context->SetDx(1, memory);
  context->SetDx(2, LastColumns(builder, gates.joined, x));
  context->SetDx(3, gates.w);
  for (int i = 0; i < 3; ++i) context->SetDx(4 + i, Sibling(memory, 2 + i));
  context->SetDx(7, gates.b);
  return absl::OkStatus();
}
MILLSTREAM_GRADIENT("LSTMBlockCell", LstmCellGradient);
MILLSTREAM_GRADIENT("BlockLSTM", LstmGradient<&kLstmGrad>);
MILLSTREAM_GRADIENT("BlockLSTMV2", LstmGradient<&kLstmGradV2>);

// The gradient for h alone: the gates are there for the gradient.
Status GruCellGradient(GradientContext* context) {
  GraphBuilder* const builder = context->builder();
  std::vector<Output> inputs = Inputs(context, 6);
  for (int i = 0; i < 3; ++i) inputs.push_back(context->output(i));
  inputs.push_back(context->dy(3));
  const Output dx = builder->Op("GRUBlockCellGrad", inputs);
  const Output x = context->input(0);
  const Output h = context->input(1);
  const Output reset = builder->Op("Mul", {h, context->output(0)});
  const GatesGradient gates = GradientOfGates(builder, x, h, context->input(2), Sibling(dx, 3));
  const GatesGradient candidate =
      GradientOfGates(builder, x, reset, context->input(3), Sibling(dx, 2));
  context->SetDx(0, dx);
  context->SetDx(1, Sibling(dx, 1));
  context->SetDx(2, gates.w);
  context->SetDx(3, candidate.w);
  context->SetDx(4, gates.b);
  context->SetDx(5, candidate.b);
  return absl::OkStatus();
}
MILLSTREAM_GRADIENT("GRUBlockCell", GruCellGradient);

}  // namespace
}  // namespace millstream
