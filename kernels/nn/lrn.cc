// LRN and LRNGrad: local response normalization across channels (Krizhevsky, Sutskever, Hinton:
// ImageNet classification with deep convolutional neural networks, 2012).
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/wide_tensors.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

// What an element costs by how its power is computed, and what an element of its window adds to
// that (see ParallelElements).
constexpr int64_t kRootPicoseconds = 1500;
constexpr int64_t kPowerPicoseconds = 12000;
constexpr int64_t kWindowPicoseconds = 100;

// sums[c] = the sum of x[c - radius] to x[c + radius]. Each window is summed by itself: a sum that
// slides would carry the rounding, and the infinities, of elements that it has left.
void SumWindows(const float* x, int64_t channels, int64_t radius, float* sums) {
  std::copy_n(x, channels, sums);
  for (int64_t distance = 1; distance <= radius; ++distance) {
    const int64_t n = channels - distance;
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) sums[c] += x[c + distance];
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) sums[c + distance] += x[c];
  }
}

struct LrnAttributes {
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("depth_radius", &radius));
    if (radius < 0) {
      return ms::InvalidArgument("attribute depth_radius must not be negative, is ", radius);
    }
    MS_TRY(info.Attr("bias", &bias));
    MS_TRY(info.Attr("alpha", &alpha));
    return info.Attr("beta", &beta);
  }

  int64_t Picoseconds(int64_t channels) const {
    const bool has_root = beta == 0.5f || beta == 0.75f || beta == 1.0f;
    return (has_root ? kRootPicoseconds : kPowerPicoseconds) +
           kWindowPicoseconds * 2 * std::min(radius, channels);
  }

  int64_t radius = 0;
  float bias = 0;
  float alpha = 0;
  float beta = 0;
};

// ---- Loops over the channels of a pixel, for all instruction sets ----

// norms[c] = bias + alpha * the sum of squares in the window of c
void FindNorms(const LrnAttributes& attributes, const float* x, int64_t channels, float* squares,
               float* norms) {
  for (int64_t c = 0; c < channels; ++c) squares[c] = x[c] * x[c];
  SumWindows(squares, channels, std::min(attributes.radius, channels - 1), norms);
  for (int64_t c = 0; c < channels; ++c) norms[c] = attributes.bias + attributes.alpha * norms[c];
}

// powers[c] = norms[c]^-beta. What vectors have roots for is much faster than a power.
void FindPowers(float beta, const float* norms, int64_t channels, float* powers) {
  if (beta == 0.5f) {
    for (int64_t c = 0; c < channels; ++c) powers[c] = 1 / std::sqrt(norms[c]);
  } else if (beta == 0.75f) {
    for (int64_t c = 0; c < channels; ++c) {
      const float root = std::sqrt(norms[c]);
      powers[c] = 1 / (root * std::sqrt(root));
    }
  } else if (beta == 1.0f) {
    for (int64_t c = 0; c < channels; ++c) powers[c] = 1 / norms[c];
  } else {
    for (int64_t c = 0; c < channels; ++c) powers[c] = std::pow(norms[c], -beta);
  }
}

// y = x * norm^-beta. The scratch has 2 floats a channel.
void Normalize(const LrnAttributes& attributes, const float* x, int64_t channels, float* scratch,
               float* y) {
  float* const norms = scratch + channels;
  FindNorms(attributes, x, channels, scratch, norms);
  FindPowers(attributes.beta, norms, channels, norms);
#pragma GCC ivdep
  for (int64_t c = 0; c < channels; ++c) y[c] = x[c] * norms[c];
}

struct Gradients {
  const float* dy;
  const float* x;
  const float* y;
  float* dx;
};

// The gradient of that, of a pixel that begins at element `at`. The scratch has 3 floats a channel.
//   dx = dy * norm^-beta - 2 * alpha * beta * x * (sum of dy * y / norm in the window)
void Differentiate(const LrnAttributes& attributes, const Gradients& of, int64_t at,
                   int64_t channels, float* scratch) {
  const float* const dy = of.dy + at;
  const float* const x = of.x + at;
  const float* const y = of.y + at;
  float* const dx = of.dx + at;
  float* const products = scratch;
  float* const norms = scratch + channels;
  float* const sums = scratch + 2 * channels;
  FindNorms(attributes, x, channels, products, norms);
  for (int64_t c = 0; c < channels; ++c) products[c] = dy[c] * y[c] / norms[c];
  SumWindows(products, channels, std::min(attributes.radius, channels - 1), sums);
  FindPowers(attributes.beta, norms, channels, norms);
  const float slope = -2 * attributes.alpha * attributes.beta;
#pragma GCC ivdep
  for (int64_t c = 0; c < channels; ++c) dx[c] = dy[c] * norms[c] + slope * x[c] * sums[c];
}

// ---- Kernels ----

ms::Status CheckShape(const ms::View& images, const char* name, const ms::View& like) {
  if (images.rank() != 4) {
    return ms::InvalidArgument(name, " must be 4-dimensional, its shape is ",
                               images.shape().ToString());
  }
  if (images.shape() == like.shape()) return ms::Status();
  return ms::InvalidArgument(name, " must have the shape ", like.shape().ToString(),
                             ", its shape is ", images.shape().ToString());
}

// Runs fn(offset of a pixel, its scratch) for all pixels. The scratch has `arrays` floats a
// channel; pixels that run at the same time have their own.
template <typename Fn>
ms::Status ForEachPixel(ms::Frame& frame, const ms::View& images, int64_t arrays,
                        int64_t picoseconds, Fn&& fn) {
  // Parts of pixels share one piece of scratch. Their number depends on no number of threads.
  constexpr int64_t kParts = 64;
  const int64_t channels = images.dim(3);
  const int64_t pixels = images.size() / channels;
  const int64_t pixels_per_part = (pixels - 1) / kParts + 1;
  const int64_t parts = (pixels - 1) / pixels_per_part + 1;
  ms::View memory;
  MS_TRY(frame.Temp(static_cast<uint64_t>(parts * arrays * channels) * sizeof(float), &memory));
  float* const scratch = memory.data<float>();
  return ParallelRows(frame, parts, pixels_per_part * channels, picoseconds,
                      [&](int64_t begin, int64_t end) {
                        for (int64_t part = begin; part < end; ++part) {
                          const int64_t first = part * pixels_per_part;
                          const int64_t last = std::min(pixels, first + pixels_per_part);
                          for (int64_t pixel = first; pixel < last; ++pixel) {
                            fn(pixel * channels, scratch + part * arrays * channels);
                          }
                        }
                      });
}

template <typename T>
class Lrn {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View images = frame.input(0);
    MS_TRY(CheckShape(images, "input", images));
    ms::View result;
    MS_TRY(frame.ForwardOrOutput(0, 0, images.shape(), &result));
    if (images.size() == 0) return ms::Status();
    float* x = nullptr;
    MS_TRY(WideInput<T>(frame, 0, &x));
    WideOutput<T> output;
    MS_TRY(output.Init(frame, result));
    float* const y = output.data();
    const int64_t channels = images.dim(3);
    MS_TRY(ForEachPixel(frame, images, 2, attributes_.Picoseconds(channels),
                        [&](int64_t at, float* scratch) {
                          RunLoop<&Normalize>(attributes_, x + at, channels, scratch, y + at);
                        }));
    return output.Finish(frame);
  }

 private:
  LrnAttributes attributes_;
};

template <typename T>
class LrnGrad {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View images = frame.input(0);
    MS_TRY(CheckShape(images, "input_grads", images));
    MS_TRY(CheckShape(frame.input(1), "input_image", images));
    MS_TRY(CheckShape(frame.input(2), "output_image", images));
    ms::View result;
    MS_TRY(frame.ForwardOrOutput(0, 0, images.shape(), &result));
    if (images.size() == 0) return ms::Status();
    float* inputs[3];
    for (uint32_t i = 0; i < 3; ++i) MS_TRY(WideInput<T>(frame, i, &inputs[i]));
    WideOutput<T> output;
    MS_TRY(output.Init(frame, result));
    const Gradients of = {inputs[0], inputs[1], inputs[2], output.data()};
    const int64_t channels = images.dim(3);
    MS_TRY(ForEachPixel(frame, images, 3, attributes_.Picoseconds(channels),
                        [&](int64_t at, float* scratch) {
                          RunLoop<&Differentiate>(attributes_, of, at, channels, scratch);
                        }));
    return output.Finish(frame);
  }

 private:
  LrnAttributes attributes_;
};

const ms::Registered lrn = ms::RegisterForTypes<Lrn, float, Float16, BFloat16>(
    "LRN", "T", ms::KernelOptions().InPlace(0, 0));
const ms::Registered lrn_grad = ms::RegisterForTypes<LrnGrad, float, Float16, BFloat16>(
    "LRNGrad", "T", ms::KernelOptions().InPlace(0, 0));

}  // namespace
}  // namespace millstream::kernels
