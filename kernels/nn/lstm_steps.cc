#include "kernels/nn/lstm_steps.h"

#include <algorithm>
#include <cmath>

#include "kernels/common/parallel.h"
#include "kernels/matmul/gemm.h"
#include "kernels/matmul/library_threads.h"

namespace millstream::kernels {
namespace {

// What a unit of a step costs (see ParallelElements): five functions, or the gradient of them.
constexpr int64_t kStepPicoseconds = 40000;
constexpr int64_t kGradientPicoseconds = 6000;

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// A product of one shape that is computed in each step.
class StepProduct {
 public:
  StepProduct(const ms::Frame& frame, const GemmShape& shape)
      : threads_(LibraryThreadCount(frame)), gemm_(shape, threads_) {}

  ms::Status Init(ms::Frame& frame) {
    if (gemm_.scratch_bytes() == 0) return ms::Status();
    ms::View memory;
    MS_TRY(frame.Temp(gemm_.scratch_bytes(), &memory));
    scratch_ = memory.raw();
    return ms::Status();
  }

  ms::Status Run(ms::Frame& frame, const float* a, const float* b, float* c) const {
    return gemm_.Run(frame, a, b, c, scratch_, threads_);
  }

 private:
  const int threads_;
  const Gemm gemm_;
  void* scratch_ = nullptr;
};

ms::Status Floats(ms::Frame& frame, int64_t count, float** memory) {
  ms::View view;
  MS_TRY(frame.Temp(static_cast<uint64_t>(count) * sizeof(float), &view));
  *memory = static_cast<float*>(view.raw());
  return ms::Status();
}

// Where the columns of the new values and of the forget gate begin.
int64_t NewColumn(const LstmSettings& settings, int64_t units) {
  return settings.forget_first ? 2 * units : units;
}
int64_t ForgetColumn(const LstmSettings& settings, int64_t units) {
  return settings.forget_first ? units : 2 * units;
}

// One example of one step. The gates are the sum of those of the input, those of the output before
// and the bias.
void ComputeRow(const LstmSettings& settings, int64_t units, const LstmInputs& of,
                const float* x_gates, const float* h_gates, const float* before,
                const std::array<float*, 7>& states, int64_t at) {
  const int64_t new_column = NewColumn(settings, units);
  const int64_t forget_column = ForgetColumn(settings, units);
  const auto gate = [&](int64_t c) { return x_gates[c] + h_gates[c] + of.b[c]; };
  for (int64_t k = 0; k < units; ++k) {
    float input = gate(k);
    float forget = gate(forget_column + k) + settings.forget_bias;
    float output = gate(3 * units + k);
    if (settings.use_peephole) {
      input += before[k] * of.wci[k];
      forget += before[k] * of.wcf[k];
    }
    input = Sigmoid(input);
    forget = Sigmoid(forget);
    const float added = std::tanh(gate(new_column + k));
    float memory = added * input + before[k] * forget;
    if (settings.cell_clip > 0) {
      memory = std::clamp(memory, -settings.cell_clip, settings.cell_clip);
    }
    if (settings.use_peephole) output += memory * of.wco[k];
    output = Sigmoid(output);
    const float shown = std::tanh(memory);
    states[kInputGate][at + k] = input;
    states[kMemory][at + k] = memory;
    states[kForgetGate][at + k] = forget;
    states[kOutputGate][at + k] = output;
    states[kNew][at + k] = added;
    states[kShown][at + k] = shown;
    states[kOutput][at + k] = shown * output;
  }
}

float SumAt(const float* one, const float* other, int64_t i) {
  return other == nullptr ? one[i] : one[i] + other[i];
}

// The gradient of that for one example, whose states begin at element `at` of their arrays.
void DifferentiateRow(const LstmSettings& settings, int64_t units, const LstmInputs& of,
                      const std::array<const float*, 6>& states, const LstmStepGradients& gradients,
                      int64_t at) {
  float* const gates = gradients.gates_grad + 4 * at;
  const int64_t new_column = NewColumn(settings, units);
  const int64_t forget_column = ForgetColumn(settings, units);
  for (int64_t k = 0; k < units; ++k) {
    const float input = states[kInputGate][at + k];
    const float forget = states[kForgetGate][at + k];
    const float output = states[kOutputGate][at + k];
    const float added = states[kNew][at + k];
    const float shown = states[kShown][at + k];
    const float before = of.cs_prev[at + k];
    const float dh = SumAt(gradients.h_grad, gradients.more_h_grad, at + k);
    const float d_output = output * (1 - output) * dh * shown;
    float d_memory = (1 - shown * shown) * dh * output +
                     SumAt(gradients.cs_grad, gradients.more_cs_grad, at + k);
    if (settings.use_peephole) d_memory += d_output * of.wco[k];
    const float d_forget = forget * (1 - forget) * d_memory * before;
    const float d_input = input * (1 - input) * d_memory * added;
    float d_before = d_memory * forget;
    if (settings.use_peephole) d_before += d_input * of.wci[k] + d_forget * of.wcf[k];
    gates[k] = d_input;
    gates[new_column + k] = (1 - added * added) * d_memory * input;
    gates[forget_column + k] = d_forget;
    gates[3 * units + k] = d_output;
    gradients.cs_prev_grad[at + k] = d_before;
  }
}

// sums[c] = the sum of column c of a matrix [rows, columns]
ms::Status SumColumns(ms::Frame& frame, const float* matrix, int64_t rows, int64_t columns,
                      float* sums) {
  return ParallelElements(frame, columns, 300 * rows, [&](int64_t begin, int64_t end) {
    std::fill(sums + begin, sums + end, 0.0f);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t c = begin; c < end; ++c) sums[c] += matrix[row * columns + c];
    }
  });
}

}  // namespace

ms::Status RunLstm(ms::Frame& frame, const LstmSettings& settings, const LstmSizes& sizes,
                   const LstmInputs& inputs, const std::array<float*, 7>& states) {
  const int64_t state = sizes.state();
  const int64_t gates = sizes.gates();
  if (sizes.steps == 0 || state == 0) return ms::Status();
  float* x_gates;
  float* h_gates;
  MS_TRY(Floats(frame, sizes.steps * sizes.batch * gates, &x_gates));
  MS_TRY(Floats(frame, sizes.batch * gates, &h_gates));
  // The products with the inputs need no step before them: one product has all of them.
  MS_TRY(
      RunGemm(frame, {sizes.steps * sizes.batch, gates, sizes.input}, inputs.x, inputs.w, x_gates));
  StepProduct product(frame, {sizes.batch, gates, sizes.units});
  MS_TRY(product.Init(frame));
  for (int64_t step = 0; step < sizes.steps; ++step) {
    const int64_t at = step * state;
    const float* const h = step == 0 ? inputs.h_prev : states[kOutput] + at - state;
    const float* const cs = step == 0 ? inputs.cs_prev : states[kMemory] + at - state;
    MS_TRY(product.Run(frame, h, inputs.w + sizes.input * gates, h_gates));
    MS_TRY(ParallelRows(
        frame, sizes.batch, sizes.units, kStepPicoseconds, [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            ComputeRow(settings, sizes.units, inputs, x_gates + (step * sizes.batch + row) * gates,
                       h_gates + row * gates, cs + row * sizes.units, states,
                       at + row * sizes.units);
          }
        }));
  }
  return ms::Status();
}

ms::Status RunLstmStepGradient(ms::Frame& frame, const LstmSettings& settings,
                               const LstmSizes& sizes, const LstmInputs& inputs,
                               const std::array<const float*, 6>& states,
                               const LstmStepGradients& gradients) {
  return ParallelRows(
      frame, sizes.batch, sizes.units, kGradientPicoseconds, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          DifferentiateRow(settings, sizes.units, inputs, states, gradients, row * sizes.units);
        }
      });
}

ms::Status SumPeepholeGradients(ms::Frame& frame, const LstmSettings& settings,
                                const LstmSizes& sizes, const float* cs_prev, const float* cs,
                                const float* gates_grad, const std::array<float*, 3>& sums) {
  const int64_t units = sizes.units;
  const int64_t rows = settings.use_peephole ? sizes.steps * sizes.batch : 0;
  const int64_t forget_column = ForgetColumn(settings, units);
  return ParallelElements(frame, units, 1000 * (rows + 1), [&](int64_t begin, int64_t end) {
    for (float* sum : sums) std::fill(sum + begin, sum + end, 0.0f);
    for (int64_t row = 0; row < rows; ++row) {
      // The memory before is that of the same example in the step before.
      const float* const before =
          row < sizes.batch ? cs_prev + row * units : cs + (row - sizes.batch) * units;
      const float* const gates = gates_grad + row * sizes.gates();
      for (int64_t k = begin; k < end; ++k) {
        sums[0][k] += gates[k] * before[k];
        sums[1][k] += gates[forget_column + k] * before[k];
        sums[2][k] += gates[3 * units + k] * cs[row * units + k];
      }
    }
  });
}

ms::Status RunLstmGradient(ms::Frame& frame, const LstmSettings& settings, const LstmSizes& sizes,
                           const LstmInputs& inputs, const std::array<const float*, 7>& states,
                           const LstmGradients& gradients) {
  const int64_t state = sizes.state();
  const int64_t gates = sizes.gates();
  const int64_t rows = sizes.steps * sizes.batch;
  float* gates_grad;
  float* h_before;
  MS_TRY(Floats(frame, rows * gates, &gates_grad));
  MS_TRY(Floats(frame, sizes.steps * state, &h_before));
  std::fill_n(gradients.cs_prev_grad, state, 0.0f);
  std::fill_n(gradients.h_prev_grad, state, 0.0f);
  const float* const h_kernel = inputs.w + sizes.input * gates;
  StepProduct product(frame, {sizes.batch, sizes.units, gates, false, true});
  MS_TRY(product.Init(frame));
  // What comes back from the step after is held in the gradients of the states before all steps.
  for (int64_t step = sizes.steps - 1; step >= 0; --step) {
    const int64_t at = step * state;
    LstmInputs of_step = inputs;
    std::array<const float*, 6> states_of_step;
    for (size_t i = 0; i < states_of_step.size(); ++i) states_of_step[i] = states[i] + at;
    if (step > 0) of_step.cs_prev = states[kMemory] + at - state;
    std::copy_n(step > 0 ? states[kOutput] + at - state : inputs.h_prev, state, h_before + at);
    const LstmStepGradients step_gradients = {gradients.cs_grad + at,
                                              gradients.h_grad + at,
                                              gradients.cs_prev_grad,
                                              gradients.h_prev_grad,
                                              gates_grad + step * sizes.batch * gates,
                                              gradients.cs_prev_grad};
    MS_TRY(RunLstmStepGradient(frame, settings, sizes, of_step, states_of_step, step_gradients));
    MS_TRY(product.Run(frame, step_gradients.gates_grad, h_kernel, gradients.h_prev_grad));
  }
  MS_TRY(RunGemm(frame, {rows, sizes.input, gates, false, true}, gates_grad, inputs.w,
                 gradients.x_grad));
  MS_TRY(RunGemm(frame, {sizes.input, gates, rows, true, false}, inputs.x, gates_grad,
                 gradients.w_grad));
  MS_TRY(RunGemm(frame, {sizes.units, gates, rows, true, false}, h_before, gates_grad,
                 gradients.w_grad + sizes.input * gates));
  MS_TRY(SumColumns(frame, gates_grad, rows, gates, gradients.b_grad));
  return SumPeepholeGradients(frame, settings, sizes, inputs.cs_prev, states[kMemory], gates_grad,
                              gradients.peephole_grads);
}

}  // namespace millstream::kernels
