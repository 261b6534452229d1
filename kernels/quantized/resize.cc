// QuantizedResizeBilinear: each new level is between the four nearest ones.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/quantized/levels.h"

namespace millstream::kernels {
namespace {

// A place between two pixels of a line.
struct Between {
  int64_t low = 0;
  int64_t high = 0;
  double part = 0;  // of the way from low to high
};

class ResizeBilinear {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("align_corners", &align_corners_));
    MS_TRY(info.Attr("half_pixel_centers", &half_pixel_centers_));
    if (info.input_dtype(0) == MS_FLOAT32) return ms::Status();
    return FindLevelType(info.input_dtype(0), &type_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View images = frame.input(0);
    if (images.rank() != 4 || images.dim(1) <= 0 || images.dim(2) <= 0) {
      return ms::InvalidArgument("images must have 4 dimensions and a pixel at least, but is ",
                                 images.shape().ToString());
    }
    const ms::View size = frame.input(1);
    if (size.rank() != 1 || size.dim(0) != 2 || size.data<int32_t>()[0] <= 0 ||
        size.data<int32_t>()[1] <= 0) {
      return ms::InvalidArgument("size must be a vector of two positive numbers, ",
                                 "the output's height and width");
    }
    float range[2];
    MS_TRY(ReadScalars(frame, 2, {"min", "max"}, range));
    ms::Shape shape = images.shape();
    for (uint32_t i = 0; i < 2; ++i) shape[1 + i] = size.data<int32_t>()[i];
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    MS_TRY(SetRange(frame, range[0], range[1]));
    if (output.size() == 0) return ms::Status();
    const auto cost = static_cast<uint64_t>(shape[2] * shape[3] * 10 + 1);
    return StoppableFor(
        frame, static_cast<uint64_t>(shape[0] * shape[1]), cost, [&](uint64_t begin, uint64_t end) {
          for (auto row = static_cast<int64_t>(begin); row < static_cast<int64_t>(end); ++row) {
            ResizeRow(images, row, output);
          }
        });
  }

 private:
  // Where pixel i of a line of `to` pixels is in one of `from`.
  Between PlaceOf(int64_t i, int64_t from, int64_t to) const {
    const float step = align_corners_ && to > 1
                           ? static_cast<float>(from - 1) / static_cast<float>(to - 1)
                           : static_cast<float>(from) / static_cast<float>(to);
    const float place = half_pixel_centers_ ? (static_cast<float>(i) + 0.5f) * step - 0.5f
                                            : static_cast<float>(i) * step;
    const float floor = std::floor(place);
    Between between;
    between.high = std::min(static_cast<int64_t>(std::ceil(place)), from - 1);
    between.low = std::min(std::max<int64_t>(static_cast<int64_t>(floor), 0), between.high);
    between.part = static_cast<double>(place - floor);
    return between;
  }

  double At(const ms::View& images, int64_t i) const {
    if (type_ == nullptr) return static_cast<double>(images.data<float>()[i]);
    int32_t level = 0;
    type_->widen(images.raw(), i, 1, &level);
    return level;
  }

  // Row `number` of the output, counted over all images.
  void ResizeRow(const ms::View& images, int64_t number, const ms::View& output) const {
    const int64_t height = images.dim(1);
    const int64_t width = images.dim(2);
    const int64_t channels = images.dim(3);
    const int64_t image = number / output.dim(1);
    const Between row = PlaceOf(number % output.dim(1), height, output.dim(1));
    const int64_t low = (image * height + row.low) * width * channels;
    const int64_t high = (image * height + row.high) * width * channels;
    int64_t at = number * output.dim(2) * channels;
    for (int64_t x = 0; x < output.dim(2); ++x) {
      const Between column = PlaceOf(x, width, output.dim(2));
      const int64_t left = column.low * channels;
      const int64_t right = column.high * channels;
      for (int64_t c = 0; c < channels; ++c, ++at) {
        const double above = Lerp(At(images, low + left + c), At(images, low + right + c), column);
        const double below =
            Lerp(At(images, high + left + c), At(images, high + right + c), column);
        Set(Lerp(above, below, row), output, at);
      }
    }
  }

  static double Lerp(double low, double high, const Between& place) {
    return low + (high - low) * place.part;
  }

  void Set(double value, const ms::View& output, int64_t at) const {
    if (type_ == nullptr) {
      output.data<float>()[at] = static_cast<float>(value);
      return;
    }
    const int32_t level = ClampLevel(std::round(value), *type_);
    type_->narrow(&level, 1, output.raw(), at);
  }

  bool align_corners_ = false;
  bool half_pixel_centers_ = false;
  const LevelType* type_ = nullptr;
};

const ms::Registered resize_bilinear =
    ms::Register<ResizeBilinear>("QuantizedResizeBilinear", ReadsFirst({"size", "min", "max"}));

}  // namespace
}  // namespace millstream::kernels
