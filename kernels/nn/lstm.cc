// LSTMBlockCell, BlockLSTM, BlockLSTMV2, and the gradient of each.
#include <algorithm>
#include <array>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/nn/float_tensors.h"
#include "kernels/nn/lstm_steps.h"

namespace millstream::kernels {
namespace {

// An op: a step, or a run over the steps of sequences.
struct LstmForm {
  bool is_run;
  bool forget_first;
};
constexpr LstmForm kCell = {false, false};
constexpr LstmForm kRun = {true, false};
constexpr LstmForm kRunV2 = {true, true};

constexpr const char* kArguments[] = {"x",   "cs_prev", "h_prev", "w",       "wci",   "wcf",
                                      "wco", "b",       "i",      "cs",      "f",     "o",
                                      "ci",  "co",      "h",      "cs_grad", "h_grad"};

// What the kernels of an op share: its form, its attributes, and the checks of its inputs.
class Lstm {
 public:
  using Row = LstmForm;
  explicit Lstm(const Row& form) : form_(form) { settings_.forget_first = form.forget_first; }

  ms::Status Init(const ms::KernelInfo& info) {
    if (info.HasAttr("forget_bias")) MS_TRY(info.Attr("forget_bias", &settings_.forget_bias));
    if (info.HasAttr("cell_clip")) MS_TRY(info.Attr("cell_clip", &settings_.cell_clip));
    return info.Attr("use_peephole", &settings_.use_peephole);
  }

 protected:
  // The input x.
  uint32_t first() const { return form_.is_run ? 1 : 0; }

  // Checks the inputs from x on to b, and finds their sizes.
  ms::Status CheckInputs(const ms::Frame& frame, LstmSizes* sizes) const {
    const ms::Shape x = frame.input(first()).shape();
    const ms::Shape state = frame.input(first() + 1).shape();
    if (x.rank() != first() + 2) {
      return ms::InvalidArgument("x must have ", first() + 2, " dimensions, its shape is ",
                                 x.ToString());
    }
    if (state.rank() != 2) {
      return ms::InvalidArgument("cs_prev must be a matrix, its shape is ", state.ToString());
    }
    sizes->batch = x[first()];
    sizes->input = x[first() + 1];
    sizes->units = state[1];
    const int64_t units = sizes->units;
    const ms::Shape wanted[] = {{sizes->batch, units},
                                {sizes->batch, units},
                                {sizes->input + units, sizes->gates()},
                                {units},
                                {units},
                                {units},
                                {sizes->gates()}};
    for (uint32_t i = 1; i < 8; ++i) {
      MS_TRY(CheckShape(frame, first() + i, kArguments[i], wanted[i - 1]));
    }
    return CheckSteps(frame, sizes);
  }

  // Checks `count` inputs with states of each step. `names` has theirs.
  ms::Status CheckStates(const ms::Frame& frame, uint32_t begin, uint32_t count,
                         const char* const* names) const {
    const ms::Shape wanted = StatesShape(frame);
    for (uint32_t i = 0; i < count; ++i) {
      MS_TRY(CheckShape(frame, begin + i, names[i], wanted));
    }
    return ms::Status();
  }

  // The shape of a state of each step.
  ms::Shape StatesShape(const ms::Frame& frame) const {
    ms::Shape shape = frame.input(first()).shape();
    shape[shape.rank() - 1] = frame.input(first() + 1).dim(1);
    return shape;
  }

  const LstmForm form_;
  LstmSettings settings_;

 private:
  ms::Status CheckSteps(const ms::Frame& frame, LstmSizes* sizes) const {
    if (!form_.is_run) return ms::Status();
    const ms::View count = frame.input(0);
    if (count.rank() != 0) {
      return ms::InvalidArgument("seq_len_max must be a scalar, its shape is ",
                                 count.shape().ToString());
    }
    sizes->steps = *count.data<int64_t>();
    const int64_t time = frame.input(1).dim(0);
    if (sizes->steps >= 0 && sizes->steps <= time) return ms::Status();
    return ms::InvalidArgument("seq_len_max must be from 0 to ", time, ", the steps of x, is ",
                               sizes->steps);
  }
};

LstmInputs InputsOf(float* const* in) {
  return {in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7]};
}

template <typename T>
class LstmForward : public Lstm {
 public:
  using Lstm::Lstm;

  ms::Status Compute(ms::Frame& frame) const {
    LstmSizes sizes;
    MS_TRY(CheckInputs(frame, &sizes));
    const ms::Shape shape = StatesShape(frame);
    std::array<ms::Shape, 7> shapes;
    shapes.fill(shape);
    FloatTensors<T, 8, 7> tensors;
    MS_TRY(tensors.Init(frame, first(), shapes));
    MS_TRY(RunLstm(frame, settings_, sizes, InputsOf(tensors.in.data()), tensors.out));
    const int64_t computed = sizes.steps * sizes.state();
    for (float* out : tensors.out) std::fill(out + computed, out + shape.num_elements(), 0.0f);
    return tensors.Finish(frame);
  }
};

template <typename T>
class LstmCellGrad : public Lstm {
 public:
  using Lstm::Lstm;

  ms::Status Compute(ms::Frame& frame) const {
    static constexpr const char* kGradients[] = {"cs_grad", "h_grad"};
    LstmSizes sizes;
    MS_TRY(CheckInputs(frame, &sizes));
    MS_TRY(CheckStates(frame, 8, 6, kArguments + 8));
    MS_TRY(CheckStates(frame, 14, 2, kGradients));
    const ms::Shape units = {sizes.units};
    const ms::Shape state = {sizes.batch, sizes.units};
    FloatTensors<T, 16, 5> tensors;
    MS_TRY(tensors.Init(frame, 0,
                        {state, ms::Shape{sizes.batch, sizes.gates()}, units, units, units}));
    const LstmInputs inputs = InputsOf(tensors.in.data());
    std::array<const float*, 6> states;
    std::copy_n(tensors.in.begin() + 8, states.size(), states.begin());
    const LstmStepGradients gradients = {tensors.in[14], tensors.in[15], nullptr,
                                         nullptr,        tensors.out[1], tensors.out[0]};
    MS_TRY(RunLstmStepGradient(frame, settings_, sizes, inputs, states, gradients));
    MS_TRY(SumPeepholeGradients(frame, settings_, sizes, inputs.cs_prev, states[kMemory],
                                tensors.out[1], {tensors.out[2], tensors.out[3], tensors.out[4]}));
    return tensors.Finish(frame);
  }
};

template <typename T>
class LstmRunGrad : public Lstm {
 public:
  using Lstm::Lstm;

  ms::Status Compute(ms::Frame& frame) const {
    LstmSizes sizes;
    MS_TRY(CheckInputs(frame, &sizes));
    MS_TRY(CheckStates(frame, 9, 9, kArguments + 8));
    const ms::Shape x = frame.input(1).shape();
    const ms::Shape units = {sizes.units};
    const ms::Shape state = {sizes.batch, sizes.units};
    FloatTensors<T, 17, 8> tensors;
    MS_TRY(tensors.Init(
        frame, 1,
        {x, state, state, frame.input(4).shape(), units, units, units, ms::Shape{sizes.gates()}}));
    const auto& in = tensors.in;
    const auto& out = tensors.out;
    std::array<const float*, 7> states;
    std::copy_n(in.begin() + 8, states.size(), states.begin());
    const LstmGradients gradients = {
        in[15], in[16], out[0], out[1], out[2], out[3], {out[4], out[5], out[6]}, out[7]};
    MS_TRY(RunLstmGradient(frame, settings_, sizes, InputsOf(in.data()), states, gradients));
    const int64_t computed = sizes.steps * sizes.batch * sizes.input;
    std::fill(out[0] + computed, out[0] + x.num_elements(), 0.0f);
    return tensors.Finish(frame);
  }
};

template <template <typename> class Kernel>
ms::Registered RegisterLstm(const char* op, const LstmForm& form) {
  ms::KernelOptions options;
  if (form.is_run) options.HostArg("seq_len_max");
  ms::RegisterRow<Kernel<float>>(op, form, ms::KernelOptions(options).Type<float>("T"));
  return ms::RegisterRow<Kernel<Float16>>(op, form, ms::KernelOptions(options).Type<Float16>("T"));
}

const ms::Registered cell = RegisterLstm<LstmForward>("LSTMBlockCell", kCell);
const ms::Registered run = RegisterLstm<LstmForward>("BlockLSTM", kRun);
const ms::Registered run_v2 = RegisterLstm<LstmForward>("BlockLSTMV2", kRunV2);
const ms::Registered cell_grad = RegisterLstm<LstmCellGrad>("LSTMBlockCellGrad", kCell);
const ms::Registered run_grad = RegisterLstm<LstmRunGrad>("BlockLSTMGrad", kRun);
const ms::Registered run_grad_v2 = RegisterLstm<LstmRunGrad>("BlockLSTMGradV2", kRunV2);

}  // namespace
}  // namespace millstream::kernels
