// ResizeBilinear, ResizeBicubic, ResizeArea, ScaleAndTranslate, and the gradients that they have:
// weighted sums of pixels, down the columns and then along the rows.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/image/pixels.h"
#include "kernels/image/taps.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

using MakeTaps = Taps (*)(int64_t from, int64_t to, const Places& places);

// Images and results, and how the rows and columns of results are made.
struct Problem {
  const void* input;
  void* output;
  int64_t height, width;  // of the images
  int64_t channels;
  Taps rows;
  Taps columns;
  const PixelFormat* from;
  const PixelFormat* to;
};

// Sums rows of the image into `sum`, a row of its width.
void SumRows(const Problem& p, int64_t image, int64_t row, float* widened, float* sum) {
  const int64_t length = p.width * p.channels;
  std::fill_n(sum, length, 0.0f);
  for (int64_t k = p.rows.begin[row]; k < p.rows.begin[row + 1]; ++k) {
    const float weight = p.rows.weights[k];
    if (weight == 0) continue;
    const int64_t at = p.rows.first[row] + k - p.rows.begin[row];
    p.from->widen(p.input, (image * p.height + at) * length, length, widened);
    for (int64_t i = 0; i < length; ++i) sum[i] += weight * widened[i];
  }
}

// Channels that are summed at a time. The last of them may be none of the pixel's, so rows have
// kBehind more floats, of any value, and what is written behind a pixel is overwritten by the next.
constexpr int kVectorBytes = 16;
constexpr int64_t kTogether = kLanes<float, kVectorBytes>;
constexpr int64_t kBehind = kTogether - 1;

// Sums pixels of a row into a row of the result, each of several channels. The compiler knows
// common numbers of channels; 0 stands for any other.
template <int kChannels>
void SumColumns(const Problem& p, const float* row, float* result) {
  const int64_t channels = kChannels > 0 ? kChannels : p.channels;
  const int64_t* const first = p.columns.first.data();
  const int64_t* const begin = p.columns.begin.data();
  for (int64_t x = 0; x < p.columns.size(); ++x, result += channels) {
    const float* const weights = p.columns.weights.data() + begin[x];
    const int64_t count = begin[x + 1] - begin[x];
    const float* const pixel = row + first[x] * channels;
    for (int64_t c = 0; c < channels; c += kTogether) {
      Vector<float, kVectorBytes> sum{};
      for (int64_t k = 0; k < count; ++k) {
        sum += weights[k] * Load<kVectorBytes>(pixel + k * channels + c);
      }
      Store(sum, result + c);
    }
  }
}

void SumColumnsOfOneChannel(const Problem& p, const float* row, float* result) {
  for (int64_t x = 0; x < p.columns.size(); ++x) {
    const int64_t begin = p.columns.begin[x];
    const float* const weights = p.columns.weights.data() + begin;
    const int64_t count = p.columns.begin[x + 1] - begin;
    const float* const pixel = row + p.columns.first[x];
    float sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += weights[k] * pixel[k];
    result[x] = sum;
  }
}

void SumColumns(const Problem& p, const float* row, float* result) {
  switch (p.channels) {
    case 1: return SumColumnsOfOneChannel(p, row, result);
    case 3: return SumColumns<3>(p, row, result);
    case 4: return SumColumns<4>(p, row, result);
    default: return SumColumns<0>(p, row, result);
  }
}

// Rows [begin, end) of the results.
void ResizeRows(const Problem& p, int64_t begin, int64_t end) {
  const int64_t length = p.width * p.channels;
  const int64_t new_length = p.columns.size() * p.channels;
  std::vector<float> rows(2 * length + new_length + 2 * kBehind);
  float* const widened = rows.data();
  float* const sum = widened + length;
  float* const result = sum + length + kBehind;
  for (int64_t row = begin; row < end; ++row) {
    SumRows(p, row / p.rows.size(), row % p.rows.size(), widened, sum);
    SumColumns(p, sum, result);
    p.to->narrow(result, new_length, p.output, row * new_length);
  }
}

ms::Status RunProblem(ms::Frame& frame, int64_t batch, const Problem& p) {
  const int64_t rows = batch * p.rows.size();
  const int64_t taps = static_cast<int64_t>(p.rows.weights.size()) / p.rows.size() + 1;
  const int64_t cost =
      (p.width * taps + static_cast<int64_t>(p.columns.weights.size())) * p.channels / 2;
  return StoppableFor(frame, rows, cost + 1,
                      [&](uint64_t begin, uint64_t end) { ResizeRows(p, begin, end); });
}

// What input 1 of a gradient must be: as input 0, but for height and width.
ms::Status CheckOriginal(const ms::View& grads, const ms::View& image) {
  MS_TRY(CheckImages(grads, "grads"));
  MS_TRY(CheckImages(image, "original_image"));
  if (grads.dim(0) == image.dim(0) && grads.dim(3) == image.dim(3)) return ms::Status();
  return ms::InvalidArgument("original_image must have batch and channels of grads, ",
                             grads.shape().ToString(), ", but is ", image.shape().ToString());
}

// Of ops whose taps depend on sizes and attributes alone.
class Resize {
 public:
  struct Row {
    MakeTaps make;
    bool is_gradient;
  };
  explicit Resize(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    from_ = PixelFormatOf(info.input_dtype(0));
    to_ = PixelFormatOf(info.output_dtype(0));
    if (from_ == nullptr) return NoLoopFor(info.input_dtype(0));
    if (to_ == nullptr) return NoLoopFor(info.output_dtype(0));
    MS_TRY(info.Attr("align_corners", &places_.align_corners));
    if (!info.HasAttr("half_pixel_centers")) return ms::Status();
    MS_TRY(info.Attr("half_pixel_centers", &places_.half_pixel_centers));
    if (!places_.align_corners || !places_.half_pixel_centers) return ms::Status();
    return ms::InvalidArgument("If half_pixel_centers is True, align_corners must be False.");
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::Shape shape = input.shape();
    if (row_.is_gradient) {
      MS_TRY(CheckOriginal(input, frame.input(1)));
      shape = frame.input(1).shape();
    } else {
      MS_TRY(CheckImages(input, "images"));
      int64_t size[2];
      MS_TRY(ReadImageSize(frame.input(1), "size", size));
      shape[1] = size[0];
      shape[2] = size[1];
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    const Problem problem = {input.raw(),
                             output.raw(),
                             input.dim(1),
                             input.dim(2),
                             input.dim(3),
                             TapsOf(input.dim(1), shape[1]),
                             TapsOf(input.dim(2), shape[2]),
                             from_,
                             to_};
    return RunProblem(frame, shape[0], problem);
  }

 private:
  Taps TapsOf(int64_t from, int64_t to) const {
    if (!row_.is_gradient) return row_.make(from, to, places_);
    return Transposed(row_.make(to, from, places_), to);
  }

  const Row row_;
  const PixelFormat* from_ = nullptr;
  const PixelFormat* to_ = nullptr;
  Places places_;
};

// Of ScaleAndTranslate, whose taps depend on inputs 2 and 3 as well.
class Sample {
 public:
  struct Row {
    bool is_gradient;
  };
  explicit Sample(const Row& row) : is_gradient_(row.is_gradient) {}

  ms::Status Init(const ms::KernelInfo& info) {
    from_ = PixelFormatOf(info.input_dtype(0));
    to_ = PixelFormatOf(info.output_dtype(0));
    if (from_ == nullptr) return NoLoopFor(info.input_dtype(0));
    if (to_ == nullptr) return NoLoopFor(info.output_dtype(0));
    std::string name;
    MS_TRY(info.Attr("kernel_type", &name));
    kernel_ = FindSampleKernel(name);
    if (kernel_ == nullptr) {
      return ms::InvalidArgument("kernel_type: Unrecognized kernel type: ", name,
                                 "; expected lanczos1, lanczos3, lanczos5, gaussian, box, "
                                 "triangle, keyscubic or mitchellcubic");
    }
    return info.Attr("antialias", &antialias_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::Shape shape = input.shape();
    if (is_gradient_) {
      MS_TRY(CheckOriginal(input, frame.input(1)));
      shape = frame.input(1).shape();
    } else {
      MS_TRY(CheckImages(input, "images"));
      int64_t size[2];
      MS_TRY(ReadImageSize(frame.input(1), "size", size));
      shape[1] = size[0];
      shape[2] = size[1];
    }
    MS_TRY(CheckPair(frame.input(2), "scale", true));
    MS_TRY(CheckPair(frame.input(3), "translation", false));
    const float* const scale = frame.input(2).data<float>();
    const float* const translation = frame.input(3).data<float>();
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    const Problem problem = {input.raw(),
                             output.raw(),
                             input.dim(1),
                             input.dim(2),
                             input.dim(3),
                             TapsOf(input.dim(1), shape[1], scale[0], translation[0]),
                             TapsOf(input.dim(2), shape[2], scale[1], translation[1]),
                             from_,
                             to_};
    return RunProblem(frame, shape[0], problem);
  }

 private:
  static ms::Status CheckPair(const ms::View& pair, const char* name, bool is_scale) {
    if (pair.rank() != 1 || pair.size() != 2) {
      return ms::InvalidArgument(name, " must be a vector of 2 numbers, but has shape ",
                                 pair.shape().ToString());
    }
    for (int i = 0; i < 2; ++i) {
      const float value = pair.data<float>()[i];
      if (std::isfinite(value) && (!is_scale || value > 0)) continue;
      return ms::InvalidArgument(
          name, "[", i, "] = ", value,
          is_scale ? ": Scale should be greater than zero." : ": expected a finite number");
    }
    return ms::Status();
  }

  Taps TapsOf(int64_t from, int64_t to, float scale, float translation) const {
    if (!is_gradient_) return SampledTaps(from, to, *kernel_, scale, translation, antialias_);
    return Transposed(SampledTaps(to, from, *kernel_, scale, translation, antialias_), to);
  }

  const bool is_gradient_;
  const PixelFormat* from_ = nullptr;
  const PixelFormat* to_ = nullptr;
  const SampleKernel* kernel_ = nullptr;
  bool antialias_ = true;
};

constexpr Resize::Row kBilinear = {&BilinearTaps, false};
constexpr Resize::Row kBilinearGrad = {&BilinearTaps, true};
constexpr Resize::Row kBicubic = {&BicubicTaps, false};
constexpr Resize::Row kBicubicGrad = {&BicubicTaps, true};
constexpr Resize::Row kArea = {&AreaTaps, false};
constexpr Sample::Row kSample = {false};
constexpr Sample::Row kSampleGrad = {true};

ms::KernelOptions WithSize() { return ms::KernelOptions().HostArg("size"); }
ms::KernelOptions Moved() { return ms::KernelOptions().HostArg("scale").HostArg("translation"); }

const ms::Registered bilinear = ms::RegisterRow<Resize>("ResizeBilinear", kBilinear, WithSize());
const ms::Registered bilinear_grad = ms::RegisterRow<Resize>("ResizeBilinearGrad", kBilinearGrad);
const ms::Registered bicubic = ms::RegisterRow<Resize>("ResizeBicubic", kBicubic, WithSize());
const ms::Registered bicubic_grad = ms::RegisterRow<Resize>("ResizeBicubicGrad", kBicubicGrad);
const ms::Registered area = ms::RegisterRow<Resize>("ResizeArea", kArea, WithSize());
const ms::Registered sample =
    ms::RegisterRow<Sample>("ScaleAndTranslate", kSample, Moved().HostArg("size"));
const ms::Registered sample_grad =
    ms::RegisterRow<Sample>("ScaleAndTranslateGrad", kSampleGrad, Moved());

}  // namespace
}  // namespace millstream::kernels
