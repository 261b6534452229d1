// The backward step of long short-term memory, as LSTMBlockCellGrad and BlockLSTMGrad compute it.
#ifndef MILLSTREAM_CORE_GRADIENTS_LSTM_STEP_H_
#define MILLSTREAM_CORE_GRADIENTS_LSTM_STEP_H_

#include <array>
#include <cstdint>
#include <vector>

#include "core/graph/graph_builder.h"

namespace millstream {

// The parts of the gates of a step, in the order of the states.
enum LstmGate : int { kInputGate, kNewValues, kForgetGate, kOutputGate };

// The weights of the peepholes; without nodes if the gates do not see the memory.
struct LstmPeepholes {
  Output input;
  Output forget;
  Output output;
};

// What a step computed. Those of several steps may stand in one tensor each.
struct LstmStates {
  Output i;
  Output cs;
  Output f;
  Output o;
  Output ci;
  Output co;
  Output cs_before;  // the memory before the step
};

// Gradients for what a step read.
struct LstmStepGradients {
  Output cs_before;
  // For the gates before their functions, by LstmGate.
  std::array<Output, 4> gates;
};

// The gradients of a step by those for its memory and its output.
LstmStepGradients GradientsOfLstmStep(GraphBuilder* builder, const LstmStates& states,
                                      const LstmPeepholes& peepholes, Output cs_grad,
                                      Output h_grad);

// The gates side by side, in the order of the kernel's columns: the new values follow the input
// gate, or with `forget_first` the forget gate.
Output JoinedGates(GraphBuilder* builder, const std::array<Output, 4>& gates, bool forget_first);

// Gradients for the states i to co that come from elsewhere than from cs and h; zeros or numbers.
struct LstmStateGradients {
  Output i;
  Output f;
  Output o;
  Output ci;
  Output co;
};

// The same gradients, moved to what the states were computed from: to the gates before their
// functions, to the memory and to the memory before the step.
struct LstmMovedGradients {
  std::array<Output, 4> gates;
  Output cs;
  Output cs_before;  // without node if there are no peepholes
};
LstmMovedGradients MoveStateGradients(GraphBuilder* builder, const LstmStates& states,
                                      const LstmPeepholes& peepholes,
                                      const LstmStateGradients& gradients);

// The gradients for the weights of the peepholes; `summed` are the axes of steps and of the batch.
LstmPeepholes GradientsOfPeepholes(GraphBuilder* builder, const LstmStates& states,
                                   const std::array<Output, 4>& gates,
                                   const std::vector<int32_t>& summed);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_LSTM_STEP_H_
