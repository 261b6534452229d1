// How a line of pixels becomes one of another length: each new pixel is a weighted sum of
// neighbours. An image is resized by such sums in both directions, and the gradient of that is the
// same with the taps turned around.
#ifndef MILLSTREAM_KERNELS_IMAGE_TAPS_H_
#define MILLSTREAM_KERNELS_IMAGE_TAPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// New pixel i is the sum of weights[begin[i] + k] * pixel (first[i] + k), for k below
// begin[i + 1] - begin[i].
struct Taps {
  std::vector<int64_t> first;
  std::vector<int64_t> begin = {0};
  std::vector<float> weights;

  int64_t size() const { return static_cast<int64_t>(first.size()); }
  // Adds a new pixel.
  void Add(int64_t from, const float* values, int64_t count);
};

// How places of new pixels become places of the image.
struct Places {
  bool align_corners = false;
  bool half_pixel_centers = false;
};

// The step from one new pixel to the next, in pixels of the image.
float PixelStep(int64_t from, int64_t to, bool align_corners);

Taps BilinearTaps(int64_t from, int64_t to, const Places& places);
Taps BicubicTaps(int64_t from, int64_t to, const Places& places);
Taps AreaTaps(int64_t from, int64_t to, const Places& places);

// A kernel of ScaleAndTranslate: a weight for each distance below its radius.
struct SampleKernel {
  const char* name;
  float radius;
  float (*weight)(float distance);
};
// Null if there is none of that name.
const SampleKernel* FindSampleKernel(const std::string& name);
Taps SampledTaps(int64_t from, int64_t to, const SampleKernel& kernel, float scale,
                 float translation, bool antialias);

// The taps of the gradient, for lines of `from` pixels.
Taps Transposed(const Taps& taps, int64_t from);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_IMAGE_TAPS_H_
