// ExtractGlimpse: windows of images, on noise where they stand out over the edge.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/random/distributions.h"
#include "kernels/random/philox.h"

namespace millstream::kernels {
namespace {

enum class Noise { kUniform, kGaussian, kZero };

// Four numbers of a block, from 0 to 1 or normal ones.
void NoiseNumbers(Noise noise, const PhiloxBlock& block, float numbers[4]) {
  if (noise == Noise::kUniform) {
    for (int i = 0; i < 4; ++i) numbers[i] = UniformFloat(block[i]);
  } else {
    NormalPairFrom<float>(block.data(), numbers);
    NormalPairFrom<float>(block.data() + 2, numbers + 2);
  }
}

// Where a window begins, and the part of it that lies on the image.
struct Span {
  int64_t first = 0;  // place of the window in the image; may be negative
  int64_t begin = 0;  // in the window
  int64_t end = 0;
  bool is_whole(int64_t size) const { return begin == 0 && end == size; }
};

class ExtractGlimpse {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("centered", &centered_));
    MS_TRY(info.Attr("normalized", &normalized_));
    bool uniform;
    std::string noise;
    MS_TRY(info.Attr("uniform_noise", &uniform));
    MS_TRY(info.Attr("noise", &noise));
    if (noise != "uniform" && noise != "gaussian" && noise != "zero") {
      return ms::InvalidArgument("noise should only be uniform, gaussian or zero, but is ", noise);
    }
    if (uniform && noise != "uniform") {
      return ms::InvalidArgument("The uniform_noise and noise should not be specified at the same ",
                                 "time: noise is ", noise);
    }
    // Older programs say uniform_noise alone.
    noise_ = noise == "zero" ? Noise::kZero : uniform ? Noise::kUniform : Noise::kGaussian;
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::Shape shape;
    MS_TRY(ReadShape(input, frame.input(1), frame.input(2), &shape));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    const float* const offsets = frame.input(2).data<float>();
    const int64_t cost = output.size() / shape[0] * 4 + input.size() / shape[0];
    return StoppableFor(frame, shape[0], cost, [&](uint64_t begin, uint64_t end) {
      for (uint64_t n = begin; n < end; ++n) Extract(input, offsets + 2 * n, n, output);
    });
  }

 private:
  static ms::Status ReadShape(const ms::View& input, const ms::View& sizes, const ms::View& offsets,
                              ms::Shape* shape) {
    if (input.rank() != 4) {
      return ms::InvalidArgument("input must have 4 dimensions, but is ", input.shape().ToString());
    }
    if (sizes.rank() != 1 || sizes.size() != 2) {
      return ms::InvalidArgument("size must be a vector of height and width, but has shape ",
                                 sizes.shape().ToString());
    }
    if (offsets.rank() != 2 || offsets.dim(0) != input.dim(0) || offsets.dim(1) != 2) {
      return ms::InvalidArgument("offsets must have a pair for each of ", input.dim(0),
                                 " images, but is ", offsets.shape().ToString());
    }
    *shape = input.shape();
    for (int i = 0; i < 2; ++i) {
      const int32_t size = sizes.data<int32_t>()[i];
      if (size < 0) return ms::InvalidArgument("size[", i, "] = ", size, " is negative");
      (*shape)[i + 1] = size;
    }
    return ms::Status();
  }

  Span SpanOf(float offset, int64_t image, int64_t window) const {
    const float length = static_cast<float>(image);
    float place = normalized_ ? offset * length : offset;
    if (centered_) place = place / 2 + length / 2;
    place -= static_cast<float>(window) / 2;
    // Places far outside are as good as those beside the image.
    const float lowest = -static_cast<float>(window);
    Span span;
    span.first =
        std::isnan(place) ? image : static_cast<int64_t>(std::clamp(place, lowest, length));
    span.begin = std::clamp<int64_t>(-span.first, 0, window);
    span.end = std::clamp<int64_t>(image - span.first, span.begin, window);
    return span;
  }

  void Extract(const ms::View& input, const float* offsets, int64_t n,
               const ms::View& output) const {
    const int64_t height = output.dim(1);
    const int64_t width = output.dim(2);
    const int64_t channels = output.dim(3);
    const float* const image = input.data<float>() + n * input.size() / input.dim(0);
    float* const window = output.data<float>() + n * height * width * channels;
    const Span rows = SpanOf(offsets[0], input.dim(1), height);
    const Span columns = SpanOf(offsets[1], input.dim(2), width);
    if (!rows.is_whole(height) || !columns.is_whole(width)) {
      FillWithNoise(image, input.size() / input.dim(0), n, window, height * width * channels);
    }
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      const float* const row = image + ((rows.first + y) * input.dim(2) + columns.first) * channels;
      std::copy(row + columns.begin * channels, row + columns.end * channels,
                window + (y * width + columns.begin) * channels);
    }
  }

  // Number i of window n is a function of n and i, and of the image's numbers.
  void FillWithNoise(const float* image, int64_t elements, int64_t n, float* window,
                     int64_t size) const {
    if (noise_ == Noise::kZero || elements == 0) {
      std::fill_n(window, size, 0.0f);
      return;
    }
    float shift = 0;
    float scale = 0;
    if (noise_ == Noise::kUniform) {
      const auto [least, most] = std::minmax_element(image, image + elements);
      shift = *least;
      scale = *most - *least;
    } else {
      double sum = 0;
      double squares = 0;
      for (int64_t i = 0; i < elements; ++i) {
        sum += image[i];
        squares += double{image[i]} * image[i];
      }
      const double count = static_cast<double>(elements);
      const double mean = sum / count;
      shift = static_cast<float>(mean);
      scale = static_cast<float>(std::sqrt(std::max(squares / count - mean * mean, 0.0)));
    }
    PhiloxPosition position;
    position.counter = {0, static_cast<uint64_t>(n)};
    for (int64_t i = 0; i < size; i += 4) {
      float numbers[4];
      NoiseNumbers(noise_, PhiloxAt(position.Advanced(i / 4)), numbers);
      for (int64_t k = 0; k < std::min<int64_t>(4, size - i); ++k) {
        window[i + k] = numbers[k] * scale + shift;
      }
    }
  }

  bool centered_ = true;
  bool normalized_ = true;
  Noise noise_ = Noise::kUniform;
};

const ms::Registered glimpse = ms::Register<ExtractGlimpse>(
    "ExtractGlimpse", ms::KernelOptions().HostArg("size").HostArg("offsets"));

}  // namespace
}  // namespace millstream::kernels
