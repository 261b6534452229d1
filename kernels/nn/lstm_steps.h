// The steps of long short-term memory and their gradients, in float32. Hochreiter, Schmidhuber:
// Long short-term memory (1997); with forget gates and peepholes: Gers, Schraudolph, Schmidhuber:
// Learning precise timing with LSTM recurrent networks (2002).
#ifndef MILLSTREAM_KERNELS_NN_LSTM_STEPS_H_
#define MILLSTREAM_KERNELS_NN_LSTM_STEPS_H_

#include <array>
#include <cstdint>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

struct LstmSettings {
  float forget_bias = 0;
  float cell_clip = 0;  // none if it is not positive
  bool use_peephole = false;
  bool forget_first = false;  // the gates' columns: i, f, ci, o; otherwise i, ci, f, o
};

struct LstmSizes {
  int64_t steps = 1;  // those that are computed
  int64_t batch = 0;
  int64_t input = 0;
  int64_t units = 0;

  int64_t state() const { return batch * units; }
  int64_t gates() const { return 4 * units; }
};

// What steps give, each [steps, batch, units].
enum LstmState : uint32_t { kInputGate, kMemory, kForgetGate, kOutputGate, kNew, kShown, kOutput };

struct LstmInputs {
  const float* x;        // [steps, batch, input]
  const float* cs_prev;  // [batch, units]
  const float* h_prev;   // [batch, units]
  const float* w;        // [input + units, gates]
  const float* wci;      // [units]
  const float* wcf;      // [units]
  const float* wco;      // [units]
  const float* b;        // [gates]
};

// Computes steps, the first of which follows cs_prev and h_prev. `states` are in the order of
// LstmState.
ms::Status RunLstm(ms::Frame& frame, const LstmSettings& settings, const LstmSizes& sizes,
                   const LstmInputs& inputs, const std::array<float*, 7>& states);

// The gradient of one step for its gates and for the memory before. The gradients for the memory
// and for the output after are sums of two, of which the second ones may be null.
struct LstmStepGradients {
  const float* cs_grad;
  const float* h_grad;
  const float* more_cs_grad;
  const float* more_h_grad;
  float* gates_grad;    // [batch, gates]
  float* cs_prev_grad;  // [batch, units]; may be more_cs_grad
};
ms::Status RunLstmStepGradient(ms::Frame& frame, const LstmSettings& settings,
                               const LstmSizes& sizes, const LstmInputs& inputs,
                               const std::array<const float*, 6>& states,
                               const LstmStepGradients& gradients);

// The gradients for the weights of peepholes, of all steps: zeros if they are not used.
ms::Status SumPeepholeGradients(ms::Frame& frame, const LstmSettings& settings,
                                const LstmSizes& sizes, const float* cs_prev, const float* cs,
                                const float* gates_grad, const std::array<float*, 3>& sums);

// The gradients of a run.
struct LstmGradients {
  const float* cs_grad;  // [steps, batch, units]
  const float* h_grad;   // [steps, batch, units]
  float* x_grad;
  float* cs_prev_grad;
  float* h_prev_grad;
  float* w_grad;
  std::array<float*, 3> peephole_grads;
  float* b_grad;
};
ms::Status RunLstmGradient(ms::Frame& frame, const LstmSettings& settings, const LstmSizes& sizes,
                           const LstmInputs& inputs, const std::array<const float*, 7>& states,
                           const LstmGradients& gradients);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_LSTM_STEPS_H_
