// Gradients of cells of recurrent networks.
#include <vector>

#include "core/gradients/formula.h"
#include "core/gradients/gradient_registry.h"
#include "core/gradients/lstm_step.h"

namespace millstream {
namespace {

// Output i of the node that `first` is output 0 of; none after an error.
Output Sibling(Output first, int i) { return first ? first.node->output(i) : Output(); }

std::vector<Output> Inputs(GradientContext* context, int count) {
  std::vector<Output> inputs;
  for (int i = 0; i < count; ++i) inputs.push_back(context->input(i));
  return inputs;
}

Output Joined(GraphBuilder* builder, Output left, Output right) {
  const Node* const concat = builder->Variadic("ConcatV2", {{left, right}, {builder->Int32(1)}});
  return concat == nullptr ? Output() : concat->output(0);
}

// The gradients of gates = [x, h] * w + b: for x and h, side by side, for w and for b.
struct GatesGradient {
  Output joined;
  Output w;
  Output b;
};
GatesGradient GradientOfGates(GraphBuilder* builder, Output x, Output h, Output w, Output gates) {
  return {builder->Op("MatMul", {gates, w}, {{"transpose_b", true}}),
          builder->Op("MatMul", {Joined(builder, x, h), gates}, {{"transpose_a", true}}),
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

// Differentiates a formula for the outputs by its arguments, those of `arguments` that have nodes.
// Each stands where the input is whose gradient it gives. The last outputs may be missing.
Status SetDxOfFormula(GradientContext* context, const std::vector<Output>& arguments,
                      const std::vector<Output>& results, Formula* formula) {
  std::vector<Output> dys;
  for (size_t i = 0; i < results.size(); ++i) {
    dys.push_back(context->has_dy(static_cast<int>(i)) ? context->dy(static_cast<int>(i))
                                                       : Output());
  }
  MS_RETURN_IF_ERROR(formula->Differentiate(results, dys));
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i]) context->SetDx(static_cast<int>(i), formula->GradientOf(arguments[i]));
  }
  return absl::OkStatus();
}

// ---- Long short-term memory ----

// The outputs of a cell.
enum CellOutput : int { kI, kCs, kF, kO, kCi, kCo, kH };

LstmPeepholes PeepholesOf(const GradientContext& context, bool use_peephole) {
  if (!use_peephole) return LstmPeepholes();
  return {context.input(4), context.input(5), context.input(6)};
}

// True if a state other than the memory and the output has a gradient.
bool HasGradientOfGates(const GradientContext& context) {
  for (const int i : {kI, kF, kO, kCi, kCo}) {
    if (context.has_dy(i)) return true;
  }
  return false;
}

// Gradients for what the kernel of the gradient takes and gives, less what comes from cs and h.
struct GradientsByGates {
  Output gates;
  Output cs_before;
  LstmPeepholes peepholes;
};

// Adds gradients for gates to what the kernel has computed.
void AddGateGradients(GradientContext* context, const LstmStates& states,
                      const LstmMovedGradients& moved, bool use_peephole,
                      GradientsByGates* gradients) {
  GraphBuilder* const builder = context->builder();
  const auto add = [&](Output* sum, Output part) { *sum = builder->Op("Add", {*sum, part}); };
  add(&gradients->gates, JoinedGates(builder, moved.gates, false));
  if (!use_peephole) return;
  add(&gradients->cs_before, moved.cs_before);
  const LstmPeepholes more = GradientsOfPeepholes(builder, states, moved.gates, {0});
  add(&gradients->peepholes.input, more.input);
  add(&gradients->peepholes.forget, more.forget);
  add(&gradients->peepholes.output, more.output);
}

Status LstmCellGradient(GradientContext* context) {
  GraphBuilder* const builder = context->builder();
  MS_ASSIGN_OR_RETURN(const bool use_peephole, context->Attr<bool>("use_peephole"));
  const LstmStates states = {context->output(kI), context->output(kCs), context->output(kF),
                             context->output(kO), context->output(kCi), context->output(kCo),
                             context->input(1)};
  const bool has_more = HasGradientOfGates(*context);
  LstmMovedGradients moved;
  Output cs_grad = context->dy(kCs);
  if (has_more) {
    moved = MoveStateGradients(
        builder, states, PeepholesOf(*context, use_peephole),
        {context->dy(kI), context->dy(kF), context->dy(kO), context->dy(kCi), context->dy(kCo)});
    cs_grad = builder->Op("Add", {cs_grad, moved.cs});
  }
  std::vector<Output> inputs = Inputs(context, 8);
  for (int i = 0; i < 6; ++i) inputs.push_back(context->output(i));
  inputs.push_back(cs_grad);
  inputs.push_back(context->dy(kH));
  const Output memory =
      builder->OpWithAttrs("LSTMBlockCellGrad", inputs, context->attrs(), {"use_peephole"});
  GradientsByGates found = {
      Sibling(memory, 1), memory, {Sibling(memory, 2), Sibling(memory, 3), Sibling(memory, 4)}};
  if (has_more) AddGateGradients(context, states, moved, use_peephole, &found);
  const Output x = context->input(0);
  const GatesGradient gates =
      GradientOfGates(builder, x, context->input(2), context->input(3), found.gates);
  context->SetDx(0, FirstColumns(builder, gates.joined, x));
  context->SetDx(1, found.cs_before);
  context->SetDx(2, LastColumns(builder, gates.joined, x));
  context->SetDx(3, gates.w);
  context->SetDx(4, found.peepholes.input);
  context->SetDx(5, found.peepholes.forget);
  context->SetDx(6, found.peepholes.output);
  context->SetDx(7, gates.b);
  return absl::OkStatus();
}

// The gradient reads the memory before the step, the peepholes, the states and the gradients that
// came to it. The weights and what they multiply do not count.
Status LstmCellGradGradient(GradientContext* context) {
  GraphBuilder* const builder = context->builder();
  MS_ASSIGN_OR_RETURN(const bool use_peephole, context->Attr<bool>("use_peephole"));
  Formula formula(builder);
  std::vector<Output> arguments(16);
  for (const int i : {1, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15}) {
    arguments[i] = formula.Argument(context->input(i));
  }
  const LstmStates states = {arguments[8],  arguments[9],  arguments[10], arguments[11],
                             arguments[12], arguments[13], arguments[1]};
  LstmPeepholes peepholes;
  if (use_peephole) peepholes = {arguments[4], arguments[5], arguments[6]};
  const LstmStepGradients step =
      GradientsOfLstmStep(builder, states, peepholes, arguments[14], arguments[15]);
  std::vector<Output> results = {step.cs_before, JoinedGates(builder, step.gates, false)};
  if (use_peephole) {
    const LstmPeepholes sums = GradientsOfPeepholes(builder, states, step.gates, {0});
    results.insert(results.end(), {sums.input, sums.forget, sums.output});
  }
  return SetDxOfFormula(context, arguments, results, &formula);
}

MILLSTREAM_GRADIENT("LSTMBlockCell", LstmCellGradient);
MILLSTREAM_GRADIENT("LSTMBlockCellGrad", LstmCellGradGradient);

// ---- Gated recurrent units ----

struct GruKernel {
  Output w;
  Output b;
};

// The states of GRUBlockCell as a formula, for gradients of its gates.
struct GruStates {
  Output r;
  Output u;
  Output c;
  Output h;
};
GruStates GruFormula(GraphBuilder* builder, Output x, Output h, const GruKernel& gates,
                     const GruKernel& candidate) {
  const auto layer = [&](Output right, const GruKernel& kernel) {
    const Output product = builder->Op("MatMul", {Joined(builder, x, right), kernel.w});
    return builder->Op("BiasAdd", {product, kernel.b});
  };
  const Node* const parts =
      builder->NodeOf("Split", {builder->Int32(1), builder->Op("Sigmoid", {layer(h, gates)})},
                      {{"num_split", int64_t{2}}});
  if (parts == nullptr) return GruStates();
  GruStates states;
  states.r = parts->output(0);
  states.u = parts->output(1);
  states.c = builder->Op("Tanh", {layer(builder->Op("Mul", {states.r, h}), candidate)});
  // c + u (h - c)
  const Output kept = builder->Op("Mul", {states.u, builder->Op("Sub", {h, states.c})});
  states.h = builder->Op("Add", {states.c, kept});
  return states;
}

// The gradients for all states: GRUBlockCellGrad has that for h alone.
Status GruCellGradientByFormula(GradientContext* context) {
  Formula formula(context->builder());
  std::vector<Output> arguments;
  for (int i = 0; i < 6; ++i) arguments.push_back(formula.Argument(context->input(i)));
  const GruStates states = GruFormula(context->builder(), arguments[0], arguments[1],
                                      {arguments[2], arguments[4]}, {arguments[3], arguments[5]});
  return SetDxOfFormula(context, arguments, {states.r, states.u, states.c, states.h}, &formula);
}

Status GruCellGradient(GradientContext* context) {
  if (context->has_dy(0) || context->has_dy(1) || context->has_dy(2)) {
    return GruCellGradientByFormula(context);
  }
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

// The gradient reads all of its inputs but the values of x and of the biases.
Status GruCellGradGradient(GradientContext* context) {
  GraphBuilder* const builder = context->builder();
  Formula formula(builder);
  std::vector<Output> arguments(10);
  for (const int i : {1, 2, 3, 6, 7, 8, 9}) arguments[i] = formula.Argument(context->input(i));
  const Output x = context->input(0);
  const Output h = arguments[1];
  const Output r = arguments[6];
  const Output u = arguments[7];
  const Output c = arguments[8];
  const Output dh = arguments[9];
  const auto mul = [&](Output a, Output b) { return builder->Op("Mul", {a, b}); };
  const auto add = [&](Output a, Output b) { return builder->Op("Add", {a, b}); };
  const auto sub = [&](Output a, Output b) { return builder->Op("Sub", {a, b}); };
  const auto back = [&](Output gates, Output w) {
    return builder->Op("MatMul", {gates, w}, {{"transpose_b", true}});
  };
  const Output through_u = mul(dh, u);
  const Output candidate = builder->Op("TanhGrad", {c, sub(dh, through_u)});
  const Output of_candidate = back(candidate, arguments[3]);
  const Output of_reset = LastColumns(builder, of_candidate, x);
  const Output reset = builder->Op("SigmoidGrad", {r, mul(of_reset, h)});
  const Output update = builder->Op("SigmoidGrad", {u, mul(dh, sub(h, c))});
  const Output gates = Joined(builder, reset, update);
  const Output of_gates = back(gates, arguments[2]);
  const Output x_of_gates = FirstColumns(builder, of_gates, x);
  const Output dx = add(x_of_gates, FirstColumns(builder, of_candidate, x));
  const Output h_of_gates = LastColumns(builder, of_gates, x);
  const Output through_reset = mul(of_reset, r);
  const Output before = add(h_of_gates, add(through_reset, through_u));
  return SetDxOfFormula(context, arguments, {dx, before, candidate, gates}, &formula);
}

MILLSTREAM_GRADIENT("GRUBlockCell", GruCellGradient);
MILLSTREAM_GRADIENT("GRUBlockCellGrad", GruCellGradGradient);

}  // namespace
}  // namespace millstream
