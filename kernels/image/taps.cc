#include "kernels/image/taps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace millstream::kernels {
namespace {

constexpr float kPi = 3.14159265358979323846f;
// Sums of weights below it are not normalized.
constexpr float kLeastSum = 1000 * std::numeric_limits<float>::min();

// Where new pixel i lies in the image.
float PlaceOf(int64_t i, float step, const Places& places) {
  const float at = static_cast<float>(i);
  return places.half_pixel_centers ? (at + 0.5f) * step - 0.5f : at * step;
}

int64_t Inside(int64_t place, int64_t size) { return std::clamp<int64_t>(place, 0, size - 1); }

// ---- Cubic convolution, from a table of 1,024 places between two pixels ----

constexpr int kCubicSteps = 1024;
struct CubicTable {
  explicit CubicTable(float a) {
    for (int i = 0; i <= kCubicSteps; ++i) {
      const float x = static_cast<float>(i) / kCubicSteps;
      near[i] = ((a + 2) * x - (a + 3)) * x * x + 1;
      const float y = x + 1;
      far[i] = ((a * y - 5 * a) * y + 8 * a) * y - 4 * a;
    }
  }
  float near[kCubicSteps + 1];  // of a pixel at a distance up to 1
  float far[kCubicSteps + 1];   // up to 2
};

// ---- Kernels ----

template <int kRadius>
float Lanczos(float x) {
  if (x > kRadius) return 0;
  if (x <= 1e-3f) return 1;
  return kRadius * std::sin(kPi * x) * std::sin(kPi * x / kRadius) / (kPi * kPi * x * x);
}
float Gaussian(float x) { return x >= 1.5f ? 0 : std::exp(-x * x / (2 * 0.5f * 0.5f)); }
float Box(float x) { return x < 0.5f ? 1.0f : x == 0.5f ? 0.5f : 0.0f; }
float Triangle(float x) { return x < 1 ? 1 - x : 0; }
float KeysCubic(float x) {
  if (x >= 2) return 0;
  if (x >= 1) return ((-0.5f * x + 2.5f) * x - 4) * x + 2;
  return (1.5f * x - 2.5f) * x * x + 1;
}
float MitchellCubic(float x) {
  if (x >= 2) return 0;
  if (x >= 1) return (((-7.0f / 18) * x + 2) * x - 10.0f / 3) * x + 16.0f / 9;
  return ((7.0f / 6) * x - 2) * x * x + 8.0f / 9;
}

constexpr SampleKernel kKernels[] = {
    {"lanczos1", 1, &Lanczos<1>},
    {"lanczos3", 3, &Lanczos<3>},
    {"lanczos5", 5, &Lanczos<5>},
    {"gaussian", 1.5, &Gaussian},
    {"box", 1, &Box},
    {"triangle", 1, &Triangle},
    {"keyscubic", 2, &KeysCubic},
    {"mitchellcubic", 2, &MitchellCubic},
};

}  // namespace

void Taps::Add(int64_t from, const float* values, int64_t count) {
  first.push_back(from);
  weights.insert(weights.end(), values, values + count);
  begin.push_back(static_cast<int64_t>(weights.size()));
}

float PixelStep(int64_t from, int64_t to, bool align_corners) {
  return align_corners && to > 1 ? (from - 1) / static_cast<float>(to - 1)
                                 : from / static_cast<float>(to);
}

Taps BilinearTaps(int64_t from, int64_t to, const Places& places) {
  const float step = PixelStep(from, to, places.align_corners);
  Taps taps;
  for (int64_t i = 0; i < to; ++i) {
    const float place = PlaceOf(i, step, places);
    const float floor = std::floor(place);
    const int64_t lower = Inside(static_cast<int64_t>(floor), from);
    const int64_t upper = Inside(static_cast<int64_t>(std::ceil(place)), from);
    const float weights[] = {upper == lower ? 1 : 1 - (place - floor), place - floor};
    taps.Add(lower, weights, upper - lower + 1);
  }
  return taps;
}

// With centres, weights of places outside of the image are 0, and the others are normalized.
// Without, the pixels of the edge stand for them.
Taps BicubicTaps(int64_t from, int64_t to, const Places& places) {
  static const CubicTable sharp(-0.75f);
  static const CubicTable keys(-0.5f);
  const CubicTable& table = places.half_pixel_centers ? keys : sharp;
  const float step = PixelStep(from, to, places.align_corners);
  Taps taps;
  for (int64_t i = 0; i < to; ++i) {
    const float place = PlaceOf(i, step, places);
    const float floor = std::floor(place);
    const int64_t at = std::lrint((place - floor) * kCubicSteps);
    const std::array<float, 4> cubic = {table.far[at], table.near[at], table.near[kCubicSteps - at],
                                        table.far[kCubicSteps - at]};
    const int64_t leftmost = static_cast<int64_t>(floor) - 1;
    const int64_t left = Inside(leftmost, from);
    std::array<float, 4> weights{};
    float sum = 0;
    for (int64_t k = 0; k < 4; ++k) {
      const int64_t pixel = Inside(leftmost + k, from);
      if (places.half_pixel_centers && pixel != leftmost + k) continue;
      weights[pixel - left] += cubic[k];
      sum += cubic[k];
    }
    if (places.half_pixel_centers && std::fabs(sum) >= kLeastSum) {
      for (float& weight : weights) weight *= 1 / sum;
    }
    taps.Add(left, weights.data(), Inside(leftmost + 3, from) - left + 1);
  }
  return taps;
}

// The share of each pixel is the part of it that the new pixel covers.
Taps AreaTaps(int64_t from, int64_t to, const Places& places) {
  const float step = PixelStep(from, to, places.align_corners);
  Taps taps;
  std::vector<float> weights;
  for (int64_t i = 0; i < to; ++i) {
    if (step == 0) {
      // One pixel whose corners are all corners: a new pixel covers nothing of it but its color.
      const float whole = 1;
      taps.Add(0, &whole, 1);
      continue;
    }
    const float start = static_cast<float>(i) * step;
    const float end = static_cast<float>(i + 1) * step;
    const int64_t begin = static_cast<int64_t>(std::floor(start));
    const int64_t stop = static_cast<int64_t>(std::ceil(end));
    const int64_t left = Inside(begin, from);
    weights.assign(Inside(stop - 1, from) - left + 1, 0.0f);
    for (int64_t k = begin; k < stop; ++k) {
      const float pixel = static_cast<float>(k);
      float share = 1;
      if (pixel < start) {
        share = pixel + 1 > end ? step : pixel + 1 - start;
      } else if (pixel + 1 > end) {
        share = end - pixel;
      }
      weights[Inside(k, from) - left] += share / step;
    }
    taps.Add(left, weights.data(), static_cast<int64_t>(weights.size()));
  }
  return taps;
}

const SampleKernel* FindSampleKernel(const std::string& name) {
  for (const SampleKernel& kernel : kKernels) {
    if (name == kernel.name) return &kernel;
  }
  return nullptr;
}

Taps SampledTaps(int64_t from, int64_t to, const SampleKernel& kernel, float scale,
                 float translation, bool antialias) {
  const float step = 1.0f / scale;
  const float start = -step * translation;
  const float stretch = antialias ? std::max(step, 1.0f) : 1.0f;
  const float reach = kernel.radius * stretch;
  Taps taps;
  std::vector<float> weights;
  for (int64_t i = 0; i < to; ++i) {
    const float place = (static_cast<float>(i) + 0.5f) * step + start;
    weights.clear();
    if (!(place >= 0) || place > static_cast<float>(from)) {
      taps.Add(0, weights.data(), 0);
      continue;
    }
    const float last = static_cast<float>(from - 1);
    const auto left = static_cast<int64_t>(std::clamp(std::ceil(place - reach - 0.5f), 0.0f, last));
    const auto right =
        static_cast<int64_t>(std::clamp(std::floor(place + reach - 0.5f), 0.0f, last));
    float sum = 0;
    for (int64_t pixel = left; pixel <= Inside(right, from); ++pixel) {
      const float distance = std::fabs(static_cast<float>(pixel) + 0.5f - place);
      weights.push_back(kernel.weight(distance * (1 / stretch)));
      sum += weights.back();
    }
    const float factor = std::fabs(sum) >= kLeastSum ? 1 / sum : 0.0f;
    for (float& weight : weights) weight *= factor;
    taps.Add(left, weights.data(), static_cast<int64_t>(weights.size()));
  }
  return taps;
}

// The new pixels that a pixel counts for stand together, because places rise.
Taps Transposed(const Taps& taps, int64_t from) {
  std::vector<std::pair<int64_t, int64_t>> spans(from, {taps.size(), -1});
  for (int64_t i = 0; i < taps.size(); ++i) {
    for (int64_t k = 0; k < taps.begin[i + 1] - taps.begin[i]; ++k) {
      auto& [low, high] = spans[taps.first[i] + k];
      low = std::min(low, i);
      high = i;
    }
  }
  Taps turned;
  std::vector<float> weights;
  for (int64_t pixel = 0; pixel < from; ++pixel) {
    const auto [low, high] = spans[pixel];
    weights.clear();
    for (int64_t i = low; i <= high; ++i) {
      const int64_t k = pixel - taps.first[i];
      const bool counts = k >= 0 && k < taps.begin[i + 1] - taps.begin[i];
      weights.push_back(counts ? taps.weights[taps.begin[i] + k] : 0.0f);
    }
    turned.Add(weights.empty() ? 0 : low, weights.data(), static_cast<int64_t>(weights.size()));
  }
  return turned;
}

}  // namespace millstream::kernels
