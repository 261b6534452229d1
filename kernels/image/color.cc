// RGBToHSV, HSVToRGB, AdjustHue and AdjustSaturation: functions of one pixel's color (A. Smith:
// Color Gamut Transform Pairs, 1978).
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/wide_tensors.h"

namespace millstream::kernels {
namespace {

template <typename T>
void ToHsv(const T* rgb, T* hsv) {
  const T r = rgb[0];
  const T g = rgb[1];
  const T b = rgb[2];
  const T value = std::max(r, std::max(g, b));
  const T range = value - std::min(r, std::min(g, b));
  const T sector = 1 / (6 * range);  // of the circle, for a range of 1
  T hue = 0;
  if (range > 0) {
    if (r == value) {
      hue = sector * (g - b);
    } else if (g == value) {
      hue = sector * (b - r) + T(2) / 6;
    } else {
      hue = sector * (r - g) + T(4) / 6;
    }
  }
  hsv[0] = hue < 0 ? hue + 1 : hue;
  hsv[1] = value > 0 ? range / value : 0;
  hsv[2] = value;
}

template <typename T>
T Clip(T x) {
  return std::min(std::max(x, T(0)), T(1));
}

template <typename T>
void ToRgb(const T* hsv, T* rgb) {
  const T hue = hsv[0] * 6;
  const T saturation = hsv[1];
  const T value = hsv[2];
  const T pure[] = {Clip(std::abs(hue - 3) - 1), Clip(2 - std::abs(hue - 2)),
                    Clip(2 - std::abs(hue - 4))};
  for (int c = 0; c < 3; ++c) rgb[c] = (1 - saturation + saturation * pure[c]) * value;
}

// The operations get a number that stands for the whole tensor.
struct ToHsvOp {
  static constexpr const char* kParameter = nullptr;
  template <typename T>
  static void Apply(const T* from, T, T* to) {
    ToHsv(from, to);
  }
};
struct ToRgbOp {
  static constexpr const char* kParameter = nullptr;
  template <typename T>
  static void Apply(const T* from, T, T* to) {
    ToRgb(from, to);
  }
};
// Values keep their range, so that colors beyond 1 are no special case.
struct HueOp {
  static constexpr const char* kParameter = "delta";
  template <typename T>
  static void Apply(const T* from, T delta, T* to) {
    T hsv[3];
    ToHsv(from, hsv);
    const T turned = hsv[0] + delta;
    const T hue = turned - std::floor(turned);
    const T value = hsv[2];
    const T least = std::min(from[0], std::min(from[1], from[2]));
    const T pure_hsv[] = {hue, 1, 1};
    T pure[3];
    ToRgb(pure_hsv, pure);
    for (int c = 0; c < 3; ++c) to[c] = least + pure[c] * (value - least);
  }
};
struct SaturationOp {
  static constexpr const char* kParameter = "scale";
  template <typename T>
  static void Apply(const T* from, T scale, T* to) {
    T hsv[3];
    ToHsv(from, hsv);
    hsv[1] = Clip(hsv[1] * scale);
    ToRgb(hsv, to);
  }
};

template <typename T, typename Op>
class ColorKernel {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    using Number = ComputeTypeOf<T>;
    const ms::View images = frame.input(0);
    const uint32_t least = Op::kParameter == nullptr ? 1 : 3;
    if (images.rank() < least) {
      return ms::InvalidArgument("images must have ", least, " dimensions at least, but is ",
                                 images.shape().ToString());
    }
    if (images.dim(images.rank() - 1) != 3) {
      return ms::InvalidArgument("images: input must have 3 channels but instead has ",
                                 images.dim(images.rank() - 1), " channels.");
    }
    Number parameter = 0;
    if constexpr (Op::kParameter != nullptr) {
      if (frame.input(1).rank() != 0) {
        return ms::InvalidArgument(Op::kParameter, " must be a scalar, but has shape ",
                                   frame.input(1).shape().ToString());
      }
      parameter = *frame.input(1).data<float>();
    }
    ms::View result;
    MS_TRY(frame.Output(0, images.shape(), &result));
    Number* from;
    MS_TRY(WideInput<T>(frame, 0, &from));
    WideOutput<T> output;
    MS_TRY(output.Init(frame, result));
    Number* const to = output.data();
    MS_TRY(ParallelElements(frame, images.size() / 3, 10000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Op::Apply(from + 3 * i, parameter, to + 3 * i);
    }));
    return output.Finish(frame);
  }
};

template <typename T>
using RgbToHsv = ColorKernel<T, ToHsvOp>;
template <typename T>
using HsvToRgb = ColorKernel<T, ToRgbOp>;
template <typename T>
using AdjustHue = ColorKernel<T, HueOp>;
template <typename T>
using AdjustSaturation = ColorKernel<T, SaturationOp>;

const ms::Registered rgb_to_hsv =
    ms::RegisterForTypes<RgbToHsv, float, double, Float16, BFloat16>("RGBToHSV", "T");
const ms::Registered hsv_to_rgb =
    ms::RegisterForTypes<HsvToRgb, float, double, Float16, BFloat16>("HSVToRGB", "T");
const ms::Registered adjust_hue = ms::RegisterForTypes<AdjustHue, float, Float16>(
    "AdjustHue", "T", ms::KernelOptions().HostArg("delta"));
const ms::Registered adjust_saturation = ms::RegisterForTypes<AdjustSaturation, float, Float16>(
    "AdjustSaturation", "T", ms::KernelOptions().HostArg("scale"));

}  // namespace
}  // namespace millstream::kernels
