#include "core/gradients/lstm_step.h"

namespace millstream {
namespace {

Output Product(GraphBuilder* builder, Output a, Output b) { return builder->Op("Mul", {a, b}); }
Output Sum(GraphBuilder* builder, Output a, Output b) { return builder->Op("Add", {a, b}); }

// The gradient for the argument of a function by that for its value.
Output OfSigmoid(GraphBuilder* builder, Output value, Output gradient) {
  return builder->Op("SigmoidGrad", {value, gradient});
}
Output OfTanh(GraphBuilder* builder, Output value, Output gradient) {
  return builder->Op("TanhGrad", {value, gradient});
}

// What the input gate and the forget gate saw of the memory before the step.
Output ThroughPeepholes(GraphBuilder* builder, const LstmPeepholes& peepholes,
                        const std::array<Output, 4>& gates) {
  const Output input = Product(builder, gates[kInputGate], peepholes.input);
  return Sum(builder, input, Product(builder, gates[kForgetGate], peepholes.forget));
}

}  // namespace

LstmStepGradients GradientsOfLstmStep(GraphBuilder* builder, const LstmStates& states,
                                      const LstmPeepholes& peepholes, Output cs_grad,
                                      Output h_grad) {
  const auto mul = [&](Output a, Output b) { return Product(builder, a, b); };
  LstmStepGradients found;
  auto& gates = found.gates;
  gates[kOutputGate] = OfSigmoid(builder, states.o, mul(h_grad, states.co));
  const Output through_h = OfTanh(builder, states.co, mul(h_grad, states.o));
  Output memory = Sum(builder, through_h, cs_grad);
  if (peepholes.output) memory = Sum(builder, memory, mul(gates[kOutputGate], peepholes.output));
  gates[kInputGate] = OfSigmoid(builder, states.i, mul(memory, states.ci));
  gates[kNewValues] = OfTanh(builder, states.ci, mul(memory, states.i));
  gates[kForgetGate] = OfSigmoid(builder, states.f, mul(memory, states.cs_before));
  found.cs_before = mul(memory, states.f);
  if (peepholes.input) {
    found.cs_before = Sum(builder, found.cs_before, ThroughPeepholes(builder, peepholes, gates));
  }
  return found;
}

Output JoinedGates(GraphBuilder* builder, const std::array<Output, 4>& gates, bool forget_first) {
  const int second = forget_first ? kForgetGate : kNewValues;
  const int third = forget_first ? kNewValues : kForgetGate;
  const std::vector<Output> parts = {gates[kInputGate], gates[second], gates[third],
                                     gates[kOutputGate]};
  const Node* const joined = builder->Variadic("ConcatV2", {parts, {builder->Int32(-1)}});
  return joined == nullptr ? Output() : joined->output(0);
}

LstmMovedGradients MoveStateGradients(GraphBuilder* builder, const LstmStates& states,
                                      const LstmPeepholes& peepholes,
                                      const LstmStateGradients& gradients) {
  LstmMovedGradients moved;
  moved.gates[kInputGate] = OfSigmoid(builder, states.i, gradients.i);
  moved.gates[kNewValues] = OfTanh(builder, states.ci, gradients.ci);
  moved.gates[kForgetGate] = OfSigmoid(builder, states.f, gradients.f);
  moved.gates[kOutputGate] = OfSigmoid(builder, states.o, gradients.o);
  moved.cs = OfTanh(builder, states.co, gradients.co);
  if (!peepholes.output) return moved;
  const Output seen = Product(builder, moved.gates[kOutputGate], peepholes.output);
  moved.cs = Sum(builder, moved.cs, seen);
  moved.cs_before = ThroughPeepholes(builder, peepholes, moved.gates);
  return moved;
}

LstmPeepholes GradientsOfPeepholes(GraphBuilder* builder, const LstmStates& states,
                                   const std::array<Output, 4>& gates,
                                   const std::vector<int32_t>& summed) {
  const Output axes = builder->Int32Vector(summed);
  const auto sum = [&](Output gate, Output memory) {
    return builder->Op("Sum", {Product(builder, gate, memory), axes});
  };
  LstmPeepholes found;
  found.input = sum(gates[kInputGate], states.cs_before);
  found.forget = sum(gates[kForgetGate], states.cs_before);
  found.output = sum(gates[kOutputGate], states.cs);
  return found;
}

}  // namespace millstream
