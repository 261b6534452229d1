// FusedBatchNorm and its gradient, in the versions 1 to 3 of the ops: images of any of the floating
// point types up to 32 bits, with statistics in float. (Ioffe, Szegedy: Batch normalization, 2015.)
// _FusedBatchNormRelu and _FusedBatchNormReluGrad do the same with a Relu after it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

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
    MS_TRY(info.Attr("epsilon", &of_node));
    epsilon = of_node;
    std::string format;
    MS_TRY(info.Attr("data_format", &format));
    if (format != "NHWC" && format != "NCHW") {
      return ms::InvalidArgument("attribute data_format must be NHWC or NCHW, is ", format);
    }
    channels_first = format == "NCHW";
    return info.Attr("is_training", &is_training);
  }

  // 1 / sqrt(variance + epsilon). Both directions compute it from the rounded variance.
  float InverseDeviation(float variance) const {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(variance) + epsilon));
  }

  double epsilon = 0;
  bool channels_first = false;
  bool is_training = false;
};

ms::Status CheckImages(const ms::View& images, const char* name) {
  if (images.rank() == 4) return ms::Status();
  return ms::InvalidArgument(name, " must be 4-dimensional, its shape is ",
                             images.shape().ToString());
}

ms::Status CheckSize(const ms::View& vector, const char* name, int64_t size) {
  if (vector.rank() == 1 && vector.dim(0) == size) return ms::Status();
  return ms::InvalidArgument(name, " must be a vector of ", size, " elements, its shape is ",
                             vector.shape().ToString());
}

// `count` elements of T that live until Compute returns.
template <typename T>
ms::Status TempOf(ms::Frame& frame, int64_t count, T** elements) {
  ms::View memory;
  MS_TRY(frame.Temp(static_cast<uint64_t>(count) * sizeof(T), &memory));
  *elements = static_cast<T*>(memory.raw());
  return ms::Status();
}

template <typename T, Activation kActivation>
class BatchNorm {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View images = frame.input(0);
    MS_TRY(CheckImages(images, "x"));
    const ChannelCuts cuts(images.shape(), attributes_.channels_first);
    const int64_t channels = cuts.channels();
    const int64_t given = attributes_.is_training ? 0 : channels;
    MS_TRY(CheckSize(frame.input(1), "scale", channels));
    MS_TRY(CheckSize(frame.input(2), "offset", channels));
    MS_TRY(CheckSize(frame.input(3), "mean", given));
    MS_TRY(CheckSize(frame.input(4), "variance", given));
    ms::View result;
    MS_TRY(frame.ForwardOrOutput(0, 0, images.shape(), &result));
    float* statistics[4];
    for (uint32_t i = 0; i < 4; ++i) {
      ms::View output;
      MS_TRY(frame.Output(i + 1, ms::Shape{channels}, &output));
      statistics[i] = output.data<float>();
    }
    if (frame.num_outputs() > 5) {
      ms::View nothing;
      MS_TRY(frame.Output(5, ms::Shape{0}, &nothing));
    }
    float* x = nullptr;
    MS_TRY(WideInput<T>(frame, 0, &x));
    MS_TRY(FindStatistics(frame, cuts, x, statistics));
    return WriteNormalized(frame, cuts, x, statistics[2], statistics[3], result);
  }

 private:
  // Gives mean, variance as the moving average takes it, and both as the gradient needs them.
  ms::Status FindStatistics(ms::Frame& frame, const ChannelCuts& cuts, const float* x,
                            float* const statistics[4]) const {
    const int64_t channels = cuts.channels();
    if (!attributes_.is_training) {
      for (uint32_t i = 0; i < 4; ++i) {
        std::copy_n(frame.input(3 + i % 2).data<float>(), channels, statistics[i]);
      }
      return ms::Status();
    }
    if (cuts.count() == 0) {
      const float nan = std::numeric_limits<float>::quiet_NaN();
      for (uint32_t i = 0; i < 4; ++i) std::fill_n(statistics[i], channels, nan);
      return ms::Status();
    }
    if (channels == 0) return ms::Status();
    Moments* moments = nullptr;
    MS_TRY(TempOf(frame, channels, &moments));
    MS_TRY(ChannelMoments(frame, cuts, x, moments));
    const auto count = static_cast<double>(cuts.count());
    for (int64_t c = 0; c < channels; ++c) {
      statistics[0][c] = statistics[2][c] = static_cast<float>(moments[c].mean);
      // Unbiased, but for a single element, whose variance is 0.
      statistics[1][c] = static_cast<float>(moments[c].squares / std::max(count - 1, 1.0));
      statistics[3][c] = static_cast<float>(moments[c].squares / count);
    }
    return ms::Status();
  }

  ms::Status WriteNormalized(ms::Frame& frame, const ChannelCuts& cuts, const float* x,
                             const float* mean, const float* variance,
                             const ms::View& result) const {
    if (cuts.size() == 0) return ms::Status();
    const int64_t channels = cuts.channels();
    const float* const scale = frame.input(1).data<float>();
    float* coefficients = nullptr;
    MS_TRY(TempOf(frame, 3 * channels, &coefficients));
    for (int64_t c = 0; c < channels; ++c) {
      coefficients[c] = mean[c];
      coefficients[channels + c] = scale[c] * attributes_.InverseDeviation(variance[c]);
    }
    std::copy_n(frame.input(2).data<float>(), channels, coefficients + 2 * channels);
    WideOutput<T> y;
    MS_TRY(y.Init(frame, result));
    MS_TRY(Normalize<kActivation>(frame, cuts, x, coefficients, y.data()));
    return y.Finish(frame);
  }

  Attributes attributes_;
};

// With r = 1 / sqrt(variance + epsilon), and means over the n elements of a channel:
//   d offset = sum(dy)    d scale = r * sum(dy * (x - mean))
//   dx = scale * r * (dy - d offset / n - (x - mean) * r * d scale / n)    in training
//   dx = scale * r * dy    where the statistics are given
template <typename T, Activation kActivation>
class BatchNormGrad {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(attributes_.Init(info));
    if (kHasOffset && !attributes_.is_training) {
      return ms::Unimplemented("_FusedBatchNormReluGrad is for training alone");
    }
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View images = frame.input(1);
    MS_TRY(CheckImages(images, "x"));
    if (frame.input(0).shape() != images.shape()) {
      return ms::InvalidArgument("y_backprop must have the shape of x, ", images.shape().ToString(),
                                 ", its shape is ", frame.input(0).shape().ToString());
    }
    const ChannelCuts cuts(images.shape(), attributes_.channels_first);
    const int64_t channels = cuts.channels();
    MS_TRY(CheckSize(frame.input(2), "scale", channels));
    if (kHasOffset) MS_TRY(CheckSize(frame.input(3), "offset", channels));
    MS_TRY(CheckSize(frame.input(kMean), "reserve_space_1", channels));
    MS_TRY(CheckSize(frame.input(kMean + 1), "reserve_space_2", channels));
    ms::View result;
    MS_TRY(frame.ForwardOrOutput(0, 0, images.shape(), &result));
    ms::View outputs[4];
    for (uint32_t i = 0; i < 4; ++i) {
      MS_TRY(frame.Output(i + 1, ms::Shape{i < 2 ? channels : 0}, &outputs[i]));
    }
    if (channels == 0) return ms::Status();
    float* dy = nullptr;
    float* x = nullptr;
    MS_TRY(WideInput<T>(frame, 0, &dy));
    MS_TRY(WideInput<T>(frame, 1, &x));
    float* coefficients = nullptr;
    MS_TRY(TempOf(frame, 5 * channels, &coefficients));
    FindForwardCoefficients(frame, channels, coefficients);
    GradientSums* sums = nullptr;
    MS_TRY(TempOf(frame, channels, &sums));
    MS_TRY(ChannelGradientSums<kActivation>(frame, cuts, dy, x, coefficients, sums));
    const float* const variance = frame.input(kMean + 1).data<float>();
    for (int64_t c = 0; c < channels; ++c) {
      outputs[0].data<float>()[c] =
          static_cast<float>(sums[c].dy_distance * attributes_.InverseDeviation(variance[c]));
      outputs[1].data<float>()[c] = static_cast<float>(sums[c].dy);
    }
    if (cuts.size() == 0) return ms::Status();
    WideOutput<T> dx;
    MS_TRY(dx.Init(frame, result));
    if (attributes_.is_training) {
      FindGradientCoefficients(frame, cuts, sums, coefficients);
      MS_TRY(NormalizeGradient<kActivation>(frame, cuts, dy, x, coefficients, dx.data()));
    } else {
      // dy * factor: neither mean nor offset.
      std::fill_n(coefficients, channels, 0.0f);
      std::fill_n(coefficients + 2 * channels, channels, 0.0f);
      MS_TRY(Normalize<Activation::kNone>(frame, cuts, dy, coefficients, dx.data()));
    }
    return dx.Finish(frame);
  }

 private:
  static constexpr bool kHasOffset = kActivation != Activation::kNone;
  static constexpr uint32_t kMean = kHasOffset ? 4 : 3;

  // Mean, factor and offset, as the normalization had them.
  void FindForwardCoefficients(const ms::Frame& frame, int64_t channels,
                               float* coefficients) const {
    const float* const scale = frame.input(2).data<float>();
    const float* const variance = frame.input(kMean + 1).data<float>();
    std::copy_n(frame.input(kMean).data<float>(), channels, coefficients);
    for (int64_t c = 0; c < channels; ++c) {
      coefficients[channels + c] = scale[c] * attributes_.InverseDeviation(variance[c]);
    }
    float* const offset = coefficients + 2 * channels;
    if (kHasOffset) {
      std::copy_n(frame.input(3).data<float>(), channels, offset);
    } else {
      std::fill_n(offset, channels, 0.0f);
    }
  }

  // dy_mean and slope of NormalizeGradient.
  void FindGradientCoefficients(const ms::Frame& frame, const ChannelCuts& cuts,
                                const GradientSums* sums, float* coefficients) const {
    const int64_t channels = cuts.channels();
    const float* const variance = frame.input(kMean + 1).data<float>();
    const auto count = static_cast<double>(cuts.count());
    for (int64_t c = 0; c < channels; ++c) {
      const double inverse = attributes_.InverseDeviation(variance[c]);
      const double slope = -coefficients[channels + c] * inverse * inverse;
      coefficients[3 * channels + c] = static_cast<float>(sums[c].dy / count);
      coefficients[4 * channels + c] = static_cast<float>(slope * (sums[c].dy_distance / count));
    }
  }

  Attributes attributes_;
};

template <typename T>
using PlainNorm = BatchNorm<T, Activation::kNone>;
template <typename T>
using PlainNormGrad = BatchNormGrad<T, Activation::kNone>;

ms::KernelOptions OptionsOfStatistics() {
  return ms::KernelOptions().Type<float>("U").InPlace(0, 0);
}

const ms::Registered batch_norm = ms::RegisterForTypes<PlainNorm, float>(
    "FusedBatchNorm", "T", ms::KernelOptions().InPlace(0, 0));
const ms::Registered batch_norm_v2 = ms::RegisterForTypes<PlainNorm, float, Float16, BFloat16>(
    "FusedBatchNormV2", "T", OptionsOfStatistics());
const ms::Registered batch_norm_v3 = ms::RegisterForTypes<PlainNorm, float, Float16, BFloat16>(
    "FusedBatchNormV3", "T", OptionsOfStatistics());
const ms::Registered batch_norm_grad = ms::RegisterForTypes<PlainNormGrad, float>(
    "FusedBatchNormGrad", "T", ms::KernelOptions().InPlace(0, 0));
const ms::Registered batch_norm_grad_v2 =
    ms::RegisterForTypes<PlainNormGrad, float, Float16, BFloat16>("FusedBatchNormGradV2", "T",
                                                                  OptionsOfStatistics());
const ms::Registered batch_norm_grad_v3 =
    ms::RegisterForTypes<PlainNormGrad, float, Float16, BFloat16>("FusedBatchNormGradV3", "T",
                                                                  OptionsOfStatistics());

const ms::Registered batch_norm_relu = ms::Register<BatchNorm<float, Activation::kRelu>>(
    "_FusedBatchNormRelu", ms::KernelOptions().Type<float>("T").InPlace(0, 0));
const ms::Registered batch_norm_relu_grad = ms::Register<BatchNormGrad<float, Activation::kRelu>>(
    "_FusedBatchNormReluGrad", ms::KernelOptions().Type<float>("T").InPlace(0, 0));

}  // namespace
}  // namespace millstream::kernels
