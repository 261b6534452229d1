// GRUBlockCell and its gradient: gated recurrent units (Cho et al.: Learning phrase representations
// using RNN encoder-decoder for statistical machine translation, 2014).
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/matmul/gemm.h"
#include "kernels/nn/float_tensors.h"

namespace millstream::kernels {
namespace {

// What a unit costs (see ParallelElements): two functions of gates, or the gradient of one.
constexpr int64_t kGatePicoseconds = 16000;
constexpr int64_t kGradientPicoseconds = 3000;

struct GruSizes {
  int64_t batch = 0;
  int64_t input = 0;
  int64_t units = 0;

  int64_t rows() const { return input + units; }
};

// Checks x, h_prev, w_ru, w_c, b_ru and b_c.
ms::Status CheckInputs(const ms::Frame& frame, GruSizes* sizes) {
  static constexpr const char* kNames[] = {"x", "h_prev", "w_ru", "w_c", "b_ru", "b_c"};
  for (uint32_t i = 0; i < 2; ++i) {
    const ms::Shape shape = frame.input(i).shape();
    if (shape.rank() == 2) continue;
    return ms::InvalidArgument(kNames[i], " must be a matrix, its shape is ", shape.ToString());
  }
  const ms::Shape x = frame.input(0).shape();
  *sizes = {x[0], x[1], frame.input(1).dim(1)};
  const int64_t units = sizes->units;
  const ms::Shape wanted[] = {{sizes->batch, units},
                              {sizes->rows(), 2 * units},
                              {sizes->rows(), units},
                              {2 * units},
                              {units}};
  for (uint32_t i = 1; i < 6; ++i) MS_TRY(CheckShape(frame, i, kNames[i], wanted[i - 1]));
  return ms::Status();
}

ms::Status Floats(ms::Frame& frame, int64_t count, float** memory) {
  ms::View view;
  MS_TRY(frame.Temp(static_cast<uint64_t>(count) * sizeof(float), &view));
  *memory = static_cast<float*>(view.raw());
  return ms::Status();
}

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// Row after row: the input, and the state multiplied by `factors` unless these are null.
void Join(const GruSizes& sizes, const float* x, const float* h, const float* factors,
          float* joined) {
  for (int64_t row = 0; row < sizes.batch; ++row) {
    float* const state =
        std::copy_n(x + row * sizes.input, sizes.input, joined + row * sizes.rows());
    for (int64_t k = 0; k < sizes.units; ++k) {
      const int64_t at = row * sizes.units + k;
      state[k] = factors == nullptr ? h[at] : h[at] * factors[at];
    }
  }
}

class GruCell {
 public:
  ms::Status Init(const ms::KernelInfo&) { return ms::Status(); }

  ms::Status Compute(ms::Frame& frame) const {
    GruSizes sizes;
    MS_TRY(CheckInputs(frame, &sizes));
    FloatTensors<float, 6, 4> tensors;
    const ms::Shape state = {sizes.batch, sizes.units};
    MS_TRY(tensors.Init(frame, 0, {state, state, state, state}));
    const float* const x = tensors.in[0];
    const float* const h_prev = tensors.in[1];
    const float* const b_ru = tensors.in[4];
    const float* const b_c = tensors.in[5];
    float* const r = tensors.out[0];
    float* const u = tensors.out[1];
    float* const c = tensors.out[2];
    float* const h = tensors.out[3];
    const int64_t units = sizes.units;
    if (sizes.batch * units == 0) return ms::Status();
    float* joined;
    float* sums;
    MS_TRY(Floats(frame, sizes.batch * sizes.rows(), &joined));
    MS_TRY(Floats(frame, sizes.batch * 2 * units, &sums));
    Join(sizes, x, h_prev, nullptr, joined);
    MS_TRY(RunGemm(frame, {sizes.batch, 2 * units, sizes.rows()}, joined, tensors.in[2], sums));
    MS_TRY(
        ParallelRows(frame, sizes.batch, units, kGatePicoseconds, [&](int64_t begin, int64_t end) {
          for (int64_t at = begin * units; at < end * units; ++at) {
            const float* const row = sums + at / units * 2 * units;
            const int64_t k = at % units;
            r[at] = Sigmoid(row[k] + b_ru[k]);
            u[at] = Sigmoid(row[units + k] + b_ru[units + k]);
          }
        }));
    Join(sizes, x, h_prev, r, joined);
    MS_TRY(RunGemm(frame, {sizes.batch, units, sizes.rows()}, joined, tensors.in[3], sums));
    return ParallelRows(frame, sizes.batch, units, kGatePicoseconds,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t at = begin * units; at < end * units; ++at) {
                            c[at] = std::tanh(sums[at] + b_c[at % units]);
                            h[at] = u[at] * h_prev[at] + (1 - u[at]) * c[at];
                          }
                        });
  }
};

class GruCellGrad {
 public:
  ms::Status Init(const ms::KernelInfo&) { return ms::Status(); }

  ms::Status Compute(ms::Frame& frame) const {
    static constexpr const char* kNames[] = {"r", "u", "c", "d_h"};
    GruSizes sizes;
    MS_TRY(CheckInputs(frame, &sizes));
    const int64_t units = sizes.units;
    const ms::Shape state = {sizes.batch, units};
    for (uint32_t i = 0; i < 4; ++i) MS_TRY(CheckShape(frame, 6 + i, kNames[i], state));
    FloatTensors<float, 10, 4> tensors;
    MS_TRY(tensors.Init(frame, 0,
                        {frame.input(0).shape(), state, state, ms::Shape{sizes.batch, 2 * units}}));
    const auto& in = tensors.in;
    float* const d_x = tensors.out[0];
    float* const d_h_prev = tensors.out[1];
    float* const d_candidate = tensors.out[2];
    float* const d_gates = tensors.out[3];
    const float* const h_prev = in[1];
    const float* const r = in[6];
    const float* const u = in[7];
    const float* const c = in[8];
    const float* const d_h = in[9];
    float* of_candidate;
    float* of_gates;
    MS_TRY(Floats(frame, sizes.batch * sizes.rows(), &of_candidate));
    MS_TRY(Floats(frame, sizes.batch * sizes.rows(), &of_gates));
    MS_TRY(ParallelElements(frame, sizes.batch * units, kGradientPicoseconds,
                            [&](int64_t begin, int64_t end) {
                              for (int64_t at = begin; at < end; ++at) {
                                d_candidate[at] = d_h[at] * (1 - u[at]) * (1 - c[at] * c[at]);
                              }
                            }));
    // [d_x, d(r * h_prev)] as far as they come from the candidate.
    MS_TRY(RunGemm(frame, {sizes.batch, sizes.rows(), units, false, true}, d_candidate, in[3],
                   of_candidate));
    MS_TRY(ParallelRows(
        frame, sizes.batch, units, kGradientPicoseconds, [&](int64_t begin, int64_t end) {
          for (int64_t at = begin * units; at < end * units; ++at) {
            const int64_t row = at / units;
            const int64_t k = at % units;
            const float d_reset = of_candidate[row * sizes.rows() + sizes.input + k] * h_prev[at];
            float* const gates = d_gates + row * 2 * units;
            gates[k] = d_reset * r[at] * (1 - r[at]);
            gates[units + k] = d_h[at] * (h_prev[at] - c[at]) * u[at] * (1 - u[at]);
          }
        }));
    MS_TRY(RunGemm(frame, {sizes.batch, sizes.rows(), 2 * units, false, true}, d_gates, in[2],
                   of_gates));
    return ParallelRows(
        frame, sizes.batch, sizes.rows(), kGradientPicoseconds, [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const float* const candidate = of_candidate + row * sizes.rows();
            const float* const gates = of_gates + row * sizes.rows();
            for (int64_t k = 0; k < sizes.input; ++k) {
              d_x[row * sizes.input + k] = gates[k] + candidate[k];
            }
            for (int64_t k = 0; k < units; ++k) {
              const int64_t at = row * units + k;
              d_h_prev[at] =
                  gates[sizes.input + k] + candidate[sizes.input + k] * r[at] + d_h[at] * u[at];
            }
          }
        });
  }
};

const ms::Registered cell =
    ms::Register<GruCell>("GRUBlockCell", ms::KernelOptions().Type<float>("T"));
const ms::Registered cell_grad =
    ms::Register<GruCellGrad>("GRUBlockCellGrad", ms::KernelOptions().Type<float>("T"));

}  // namespace
}  // namespace millstream::kernels
