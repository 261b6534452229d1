// FusedPadConv2D: a convolution of images whose margins mirror them.
#include <algorithm>
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

template <typename T>
class FusedPadConv {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string mode;
    MS_TRY(info.Attr("mode", &mode));
    skipped_ = mode == "REFLECT" ? 1 : 0;
    return attributes_.Init(info);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::Shape input = frame.input(0).shape();
    const ms::View paddings = frame.input(1);
    MS_TRY(CheckPaddings(paddings, input, skipped_));
    Mirror mirrors[2];
    ms::Shape padded = input;
    for (int64_t i = 0; i < 2; ++i) {
      mirrors[i] = {IndexAt(paddings, 2 * i + 2), IndexAt(paddings, 2 * i + 3), skipped_};
      padded[static_cast<uint32_t>(i) + 1] += mirrors[i].before + mirrors[i].after;
    }
    ConvShape shape;
    MS_TRY(ResolveConv(attributes_, padded, "input", frame.input(2).shape(), "filter", &shape));
    ms::View output;
    MS_TRY(frame.Output(0, shape.OutputShape(), &output));
    if (output.size() == 0) return ms::Status();
    Number* images = nullptr;
    MS_TRY(Pad(frame, mirrors, shape, &images));
    Number* filter = nullptr;
    MS_TRY(WideInput<T>(frame, 2, &filter));
    WideOutput<T> result;
    MS_TRY(result.Init(frame, output));
    MS_TRY(Convolve(frame, shape, images, filter, result.data()));
    return result.Finish(frame);
  }

 private:
  using Number = ComputeTypeOf<T>;

  // The images with their margins; `shape` is of the convolution of these.
  ms::Status Pad(ms::Frame& frame, const Mirror* mirrors, const ConvShape& shape,
                 Number** padded) const {
    const ms::Shape input = frame.input(0).shape();
    Number* from = nullptr;
    MS_TRY(WideInput<T>(frame, 0, &from));
    ms::View copy;
    MS_TRY(frame.Temp(static_cast<uint64_t>(shape.InputShape().num_elements()) * sizeof(Number),
                      &copy));
    *padded = copy.data<Number>();
    const int64_t width = shape.input[1];
    const int64_t channels = shape.in_channels;
    constexpr int64_t kPicoseconds = 300;
    return ParallelRows(frame, shape.batch * shape.input[0], width * channels, kPicoseconds,
                        [&, to = *padded](int64_t begin, int64_t end) {
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
  mutable ConvPlanCache plans_;
};

const ms::Registered fused_pad_conv = ms::RegisterForTypes<FusedPadConv, float, double, Float16>(
    "FusedPadConv2D", "T", ms::KernelOptions().HostArg("paddings"));

}  // namespace
}  // namespace millstream::kernels
