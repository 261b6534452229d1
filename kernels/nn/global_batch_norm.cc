// BatchNormWithGlobalNormalization and its gradient: batch normalization with given statistics, of
// which the scale may be left out.
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/wide_tensors.h"
#include "kernels/nn/channel_cuts.h"
#include "kernels/nn/channel_sums.h"

namespace millstream::kernels {
namespace {

struct Attributes {
  ms::Status Init(const ms::KernelInfo& info) {
    float of_node = 0;
    MS_TRY(info.Attr("variance_epsilon", &of_node));
    epsilon = of_node;
    return info.Attr("scale_after_normalization", &has_scale);
  }

  // 1 / sqrt(variance + epsilon)
  double InverseDeviation(double variance) const { return 1 / std::sqrt(variance + epsilon); }

  double epsilon = 0;
  bool has_scale = false;
};

// The images, input 0, and vectors of a number a channel, inputs 1 to `vectors`, are checked.
ms::Status CheckInputs(const ms::Frame& frame, const char* const* names, uint32_t vectors,
                       ChannelCuts* cuts) {
  const ms::Shape images = frame.input(0).shape();
  if (images.rank() != 4) {
    return ms::InvalidArgument("t must be 4-dimensional, its shape is ", images.ToString());
  }
  for (uint32_t i = 1; i <= vectors; ++i) {
    const ms::Shape shape = frame.input(i).shape();
    if (shape.rank() != 1 || shape[0] != images[3]) {
      return ms::InvalidArgument(names[i - 1], " must be a vector of ", images[3],
                                 " elements, its shape is ", shape.ToString());
    }
  }
  *cuts = ChannelCuts(images, false);
  return ms::Status();
}

template <typename T>
class GlobalBatchNorm {
 public:
  using Number = ComputeTypeOf<T>;

  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    static constexpr const char* kNames[] = {"m", "v", "beta", "gamma"};
    ChannelCuts cuts;
    MS_TRY(CheckInputs(frame, kNames, 4, &cuts));
    const int64_t channels = cuts.channels();
    ms::View result;
    MS_TRY(frame.ForwardOrOutput(0, 0, frame.input(0).shape(), &result));
    if (cuts.size() == 0) return ms::Status();
    Number* inputs[5];
    for (uint32_t i = 0; i < 5; ++i) MS_TRY(WideInput<T>(frame, i, &inputs[i]));
    ms::View memory;
    MS_TRY(frame.Temp(static_cast<uint64_t>(3 * channels) * sizeof(Number), &memory));
    auto* const coefficients = static_cast<Number*>(memory.raw());
    for (int64_t c = 0; c < channels; ++c) {
      const double inverse = attributes_.InverseDeviation(inputs[2][c]);
      coefficients[c] = inputs[1][c];
      coefficients[channels + c] =
          static_cast<Number>(attributes_.has_scale ? inverse * inputs[4][c] : inverse);
      coefficients[2 * channels + c] = inputs[3][c];
    }
    WideOutput<T> y;
    MS_TRY(y.Init(frame, result));
    MS_TRY(Normalize<Activation::kNone>(frame, cuts, inputs[0], coefficients, y.data()));
    return y.Finish(frame);
  }

 private:
  Attributes attributes_;
};

template <typename T>
class GlobalBatchNormGrad {
 public:
  using Number = ComputeTypeOf<T>;

  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    static constexpr const char* kNames[] = {"m", "v", "gamma"};
    ChannelCuts cuts;
    MS_TRY(CheckInputs(frame, kNames, 3, &cuts));
    const int64_t channels = cuts.channels();
    const ms::Shape images = frame.input(0).shape();
    if (frame.input(4).shape() != images) {
      return ms::InvalidArgument("backprop must have the shape of t, ", images.ToString(),
                                 ", its shape is ", frame.input(4).shape().ToString());
    }
    ms::View result;
    MS_TRY(frame.ForwardOrOutput(4, 0, images, &result));
    WideOutput<T> sums_of[4];
    for (uint32_t i = 0; i < 4; ++i) {
      ms::View output;
      MS_TRY(frame.Output(i + 1, ms::Shape{channels}, &output));
      MS_TRY(sums_of[i].Init(frame, output));
    }
    if (channels == 0) return ms::Status();
    Number* inputs[5];
    for (uint32_t i = 0; i < 5; ++i) MS_TRY(WideInput<T>(frame, i, &inputs[i]));
    ms::View memory;
    MS_TRY(frame.Temp(static_cast<uint64_t>(channels) * sizeof(GradientSums), &memory));
    auto* const sums = static_cast<GradientSums*>(memory.raw());
    MS_TRY(
        ChannelGradientSums<Activation::kNone>(frame, cuts, inputs[4], inputs[0], inputs[1], sums));
    ms::View scales;
    MS_TRY(frame.Temp(static_cast<uint64_t>(3 * channels) * sizeof(Number), &scales));
    auto* const coefficients = static_cast<Number*>(scales.raw());
    for (int64_t c = 0; c < channels; ++c) {
      const double inverse = attributes_.InverseDeviation(inputs[2][c]);
      const double factor = attributes_.has_scale ? inverse * inputs[3][c] : inverse;
      coefficients[c] = coefficients[2 * channels + c] = 0;
      coefficients[channels + c] = static_cast<Number>(factor);
      // dm, dv, db, dg
      sums_of[0].data()[c] = static_cast<Number>(-sums[c].dy * factor);
      sums_of[1].data()[c] =
          static_cast<Number>(-0.5 * sums[c].dy_distance * factor * inverse * inverse);
      sums_of[2].data()[c] = static_cast<Number>(sums[c].dy);
      sums_of[3].data()[c] =
          attributes_.has_scale ? static_cast<Number>(sums[c].dy_distance * inverse) : Number(0);
    }
    for (const WideOutput<T>& output : sums_of) MS_TRY(output.Finish(frame));
    if (cuts.size() == 0) return ms::Status();
    WideOutput<T> dx;
    MS_TRY(dx.Init(frame, result));
    MS_TRY(Normalize<Activation::kNone>(frame, cuts, inputs[4], coefficients, dx.data()));
    return dx.Finish(frame);
  }

 private:
  Attributes attributes_;
};

const ms::Registered global_batch_norm =
    ms::RegisterForTypes<GlobalBatchNorm, float, double, Float16>(
        "BatchNormWithGlobalNormalization", "T", ms::KernelOptions().InPlace(0, 0));
const ms::Registered global_batch_norm_grad =
    ms::RegisterForTypes<GlobalBatchNormGrad, float, double, Float16>(
        "BatchNormWithGlobalNormalizationGrad", "T", ms::KernelOptions().InPlace(0, 4));

}  // namespace
}  // namespace millstream::kernels
