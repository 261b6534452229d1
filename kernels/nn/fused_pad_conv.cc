// FusedPadConv2D and FusedResizeAndPadConv2D: a convolution of images whose margins mirror them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/wide_tensors.h"
#include "kernels/matmul/library_threads.h"
#include "kernels/nn/conv_plan.h"
#include "kernels/nn/conv_reference.h"
#include "kernels/nn/conv_shape.h"

namespace millstream::kernels {
namespace {

// Where each place of a dimension with margins comes from.
struct Mirror {
  int64_t before = 0;
  int64_t after = 0;
  int64_t skipped = 0;  // 1 where the edge itself is not repeated

  int64_t SourceOf(int64_t place, int64_t size) const {
    const int64_t at = place - before;
    if (at < 0) return skipped - at - 1;
    return at < size ? at : 2 * size - 1 - skipped - at;
  }
};

ms::Status CheckPaddings(const ms::View& paddings, const ms::Shape& input, int64_t skipped) {
  if (input.rank() != 4) {
    return ms::InvalidArgument("input must have 4 dimensions, but is ", input.ToString());
  }
  if (paddings.rank() != 2 || paddings.dim(0) != 4 || paddings.dim(1) != 2) {
    return ms::InvalidArgument("paddings must have shape [4,2], but has ",
                               paddings.shape().ToString());
  }
  for (uint32_t i = 0; i < 4; ++i) {
    const bool is_spatial = i == 1 || i == 2;
    const int64_t most = is_spatial ? input[i] - skipped : 0;
    for (int64_t side = 0; side < 2; ++side) {
      const int64_t padding = IndexAt(paddings, 2 * int64_t{i} + side);
      if (padding >= 0 && (padding <= most || padding == 0)) continue;
      return ms::InvalidArgument("paddings[", i, ",", side, "] = ", padding, " is not in [0, ",
                                 std::max<int64_t>(most, 0), "] for input ", input.ToString());
    }
  }
  return ms::Status();
}

// Where a pixel of a resized dimension is between two pixels.
struct Between {
  int64_t low = 0;
  int64_t high = 0;
  float part = 0;  // of the way from low to high

  Between(int64_t i, int64_t from, int64_t to, bool align_corners) {
    const float step = align_corners && to > 1
                           ? static_cast<float>(from - 1) / static_cast<float>(to - 1)
                           : static_cast<float>(from) / static_cast<float>(to);
    const float place = static_cast<float>(i) * step;
    high = std::min(static_cast<int64_t>(std::ceil(place)), from - 1);
    low = std::min(static_cast<int64_t>(place), high);
    part = place - std::floor(place);
  }
};

// Height and width of the images that `size` asks for.
ms::Status ResizeShape(const ms::View& size, ms::Shape* images) {
  if (images->rank() != 4 || (*images)[1] <= 0 || (*images)[2] <= 0) {
    return ms::InvalidArgument("input must have 4 dimensions and a pixel at least, but is ",
                               images->ToString());
  }
  if (size.rank() != 1 || size.dim(0) != 2) {
    return ms::InvalidArgument("size must be a vector of height and width, but has shape ",
                               size.shape().ToString());
  }
  for (uint32_t i = 0; i < 2; ++i) {
    (*images)[1 + i] = size.data<int32_t>()[i];
    if ((*images)[1 + i] > 0) continue;
    return ms::InvalidArgument("size[", i, "] = ", (*images)[1 + i],
                               ": output dimensions must be positive");
  }
  return ms::Status();
}

template <typename T>
class FusedPadConv {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string mode;
    MS_TRY(info.Attr("mode", &mode));
    skipped_ = mode == "REFLECT" ? 1 : 0;
    resizes_ = info.HasAttr("resize_align_corners");
    if (resizes_) MS_TRY(info.Attr("resize_align_corners", &align_corners_));
    return attributes_.Init(info);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const uint32_t last = frame.num_inputs() - 1;
    ms::Shape input = frame.input(0).shape();
    if (resizes_) MS_TRY(ResizeShape(frame.input(1), &input));
    const ms::View paddings = frame.input(last - 1);
    MS_TRY(CheckPaddings(paddings, input, skipped_));
    Mirror mirrors[2];
    ms::Shape padded = input;
    for (int64_t i = 0; i < 2; ++i) {
      mirrors[i] = {IndexAt(paddings, 2 * i + 2), IndexAt(paddings, 2 * i + 3), skipped_};
      padded[static_cast<uint32_t>(i) + 1] += mirrors[i].before + mirrors[i].after;
    }
    ConvShape shape;
    MS_TRY(ResolveConv(attributes_, padded, "input", frame.input(last).shape(), "filter", &shape));
    ms::View output;
    MS_TRY(frame.Output(0, shape.OutputShape(), &output));
    if (output.size() == 0) return ms::Status();
    Number* images = nullptr;
    MS_TRY(WideInput<T>(frame, 0, &images));
    if (resizes_) MS_TRY(Resize(frame, input, &images));
    MS_TRY(Pad(frame, input, mirrors, shape, &images));
    Number* filter = nullptr;
    MS_TRY(WideInput<T>(frame, last, &filter));
    WideOutput<T> result;
    MS_TRY(result.Init(frame, output));
    MS_TRY(Convolve(frame, shape, images, filter, result.data()));
    return result.Finish(frame);
  }

 private:
  using Number = ComputeTypeOf<T>;

  // Points *images to images of the shape `to`, which differs in height and width.
  ms::Status Resize(ms::Frame& frame, const ms::Shape& to, Number** images) const {
    const Number* const from = *images;
    const ms::Shape old = frame.input(0).shape();
    ms::View copy;
    MS_TRY(frame.Temp(static_cast<uint64_t>(to.num_elements()) * sizeof(Number), &copy));
    *images = copy.data<Number>();
    constexpr int64_t kPicoseconds = 3000;
    return ParallelRows(frame, to[0] * to[1], to[2] * to[3], kPicoseconds,
                        [&, result = *images](int64_t begin, int64_t end) {
                          for (int64_t row = begin; row < end; ++row) {
                            const Between y(row % to[1], old[1], to[1], align_corners_);
                            const Number* const image =
                                from + row / to[1] * old[1] * old[2] * old[3];
                            ResizeRow(image, old, y, to[2], result + row * to[2] * to[3]);
                          }
                        });
  }

  void ResizeRow(const Number* image, const ms::Shape& old, const Between& y, int64_t width,
                 Number* result) const {
    const int64_t channels = old[3];
    const Number* const above = image + y.low * old[2] * channels;
    const Number* const below = image + y.high * old[2] * channels;
    for (int64_t i = 0; i < width; ++i) {
      const Between x(i, old[2], width, align_corners_);
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t left = x.low * channels + c;
        const int64_t right = x.high * channels + c;
        const Number top = above[left] + (above[right] - above[left]) * Number(x.part);
        const Number bottom = below[left] + (below[right] - below[left]) * Number(x.part);
        *result++ = top + (bottom - top) * Number(y.part);
      }
    }
  }

  // Points *images, of the shape `input`, to a copy with margins; `shape` is of the convolution of
  // these.
  ms::Status Pad(ms::Frame& frame, const ms::Shape& input, const Mirror* mirrors,
                 const ConvShape& shape, Number** images) const {
    const Number* const from = *images;
    ms::View copy;
    MS_TRY(frame.Temp(static_cast<uint64_t>(shape.InputShape().num_elements()) * sizeof(Number),
                      &copy));
    *images = copy.data<Number>();
    const int64_t width = shape.input[1];
    const int64_t channels = shape.in_channels;
    constexpr int64_t kPicoseconds = 300;
    return ParallelRows(frame, shape.batch * shape.input[0], width * channels, kPicoseconds,
                        [&, to = *images](int64_t begin, int64_t end) {
                          for (int64_t row = begin; row < end; ++row) {
                            const int64_t n = row / shape.input[0];
                            const int64_t h = mirrors[0].SourceOf(row % shape.input[0], input[1]);
                            const Number* const source =
                                from + (n * input[1] + h) * input[2] * channels;
                            for (int64_t w = 0; w < width; ++w) {
                              std::memcpy(to + (row * width + w) * channels,
                                          source + mirrors[1].SourceOf(w, input[2]) * channels,
                                          static_cast<size_t>(channels) * sizeof(Number));
                            }
                          }
                        });
  }

  ms::Status Convolve(ms::Frame& frame, const ConvShape& shape, Number* images, Number* filter,
                      Number* result) const {
    if constexpr (std::is_same_v<Number, float>) {
      const auto plan = plans_.Get(shape, ConvDirection::kForward, LibraryThreadCount(frame));
      ms::View scratch;
      if (plan->scratch_bytes() > 0) MS_TRY(frame.Temp(plan->scratch_bytes(), &scratch));
      return plan->Run(frame, images, filter, result, scratch.raw());
    } else {
      return ReferenceConvolution<Number>(shape).Forward(frame, images, filter, result);
    }
  }

  ConvAttributes attributes_;
  int64_t skipped_ = 0;
  bool resizes_ = false;
  bool align_corners_ = false;
  mutable ConvPlanCache plans_;
};

const ms::Registered fused_pad_conv = ms::RegisterForTypes<FusedPadConv, float, double, Float16>(
    "FusedPadConv2D", "T", ms::KernelOptions().HostArg("paddings"));
const ms::Registered fused_resize_and_pad_conv =
    ms::RegisterForTypes<FusedPadConv, float, double, Float16>(
        "FusedResizeAndPadConv2D", "T", ms::KernelOptions().HostArg("size").HostArg("paddings"));

}  // namespace
}  // namespace millstream::kernels
