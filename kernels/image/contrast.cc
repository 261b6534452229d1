// AdjustContrast and AdjustContrastv2.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/image/pixels.h"

namespace millstream::kernels {
namespace {

struct Limits {
  bool is_limited = false;
  float least = 0;
  float most = 0;
};

class AdjustContrast {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    from_ = PixelFormatOf(info.input_dtype(0));
    to_ = PixelFormatOf(info.output_dtype(0));
    is_limited_ = info.num_inputs() == 4;
    if (from_ == nullptr) return NoLoopFor(info.input_dtype(0));
    return to_ == nullptr ? NoLoopFor(info.output_dtype(0)) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View images = frame.input(0);
    const uint32_t rank = images.rank();
    if (rank < 3) {
      return ms::InvalidArgument("images must have 3 dimensions at least, but is ",
                                 images.shape().ToString());
    }
    const char* const names[] = {"contrast_factor", "min_value", "max_value"};
    float scalars[3] = {};
    for (uint32_t i = 1; i < frame.num_inputs(); ++i) {
      if (frame.input(i).rank() != 0) {
        return ms::InvalidArgument(names[i - 1], " must be a scalar, but has shape ",
                                   frame.input(i).shape().ToString());
      }
      scalars[i - 1] = *frame.input(i).data<float>();
    }
    ms::View output;
    MS_TRY(frame.Output(0, images.shape(), &output));
    if (output.size() == 0) return ms::Status();
    const int64_t channels = images.dim(rank - 1);
    const int64_t elements = images.dim(rank - 3) * images.dim(rank - 2) * channels;
    const Limits limits = {is_limited_, scalars[1], scalars[2]};
    return StoppableFor(
        frame, images.size() / elements, 2 * elements, [&](uint64_t begin, uint64_t end) {
          for (uint64_t n = begin; n < end; ++n) {
            Adjust(images, n * elements, elements, channels, scalars[0], limits, output);
          }
        });
  }

 private:
  // One image, whose elements begin at `first`.
  void Adjust(const ms::View& images, int64_t first, int64_t elements, int64_t channels,
              float factor, const Limits& limits, const ms::View& output) const {
    std::vector<double> sums(channels);
    std::vector<float> pixel(channels);
    for (int64_t i = 0; i < elements; i += channels) {
      from_->widen(images.raw(), first + i, channels, pixel.data());
      for (int64_t c = 0; c < channels; ++c) sums[c] += pixel[c];
    }
    std::vector<float> means(channels);
    const int64_t pixels = elements / channels;
    const auto count = static_cast<double>(pixels);
    for (int64_t c = 0; c < channels; ++c) means[c] = static_cast<float>(sums[c] / count);
    for (int64_t i = 0; i < elements; i += channels) {
      from_->widen(images.raw(), first + i, channels, pixel.data());
      for (int64_t c = 0; c < channels; ++c) {
        pixel[c] = (pixel[c] - means[c]) * factor + means[c];
        if (limits.is_limited) pixel[c] = std::max(std::min(pixel[c], limits.most), limits.least);
      }
      to_->narrow(pixel.data(), channels, output.raw(), first + i);
    }
  }

  const PixelFormat* from_ = nullptr;
  const PixelFormat* to_ = nullptr;
  bool is_limited_ = false;
};

const ms::Registered contrast_v2 = ms::Register<AdjustContrast>(
    "AdjustContrastv2", ms::KernelOptions().HostArg("contrast_factor"));
const ms::Registered contrast = ms::Register<AdjustContrast>(
    "AdjustContrast",
    ms::KernelOptions().HostArg("contrast_factor").HostArg("min_value").HostArg("max_value"));

}  // namespace
}  // namespace millstream::kernels
