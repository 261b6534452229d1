// AvgPool and AvgPoolGrad. Padding does not count: a mean is over the elements that are there.
#include <algorithm>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/wide_tensors.h"
#include "kernels/nn/pool_lanes.h"
#include "kernels/nn/pool_shape.h"

namespace millstream::kernels {
namespace {

// One row of `width` positions that each look at a window, at about 4 elements a nanosecond.
uint64_t RowCost(const PoolShape& shape, int64_t width) {
  return static_cast<uint64_t>(width * shape.ksize[0] * shape.ksize[1] * shape.channels) / 4 + 1;
}

template <typename T>
class AvgPool {
 public:
  using Number = ComputeTypeOf<T>;

  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    PoolShape shape;
    MS_TRY(ResolvePool(attributes_, frame.input(0).shape(), "value", &shape));
    ms::View result;
    MS_TRY(frame.Output(0, shape.output_shape, &result));
    if (shape.OutputSize() == 0) return ms::Status();
    Number* input = nullptr;
    MS_TRY(WideInput<T>(frame, 0, &input));
    WideOutput<T> means;
    MS_TRY(means.Init(frame, result));
    Number* const output = means.data();
    const int64_t rows = shape.batch * shape.output[0];
    MS_TRY(StoppableFor(frame, rows, RowCost(shape, shape.output[1]),
                        [&](uint64_t begin, uint64_t end) {
                          RunVectorLoopOn<Number, Rows>(shape, input, output, begin, end);
                        }));
    return means.Finish(frame);
  }

  template <int kBytes>
  using Rows = PooledRows<AvgPool, kBytes>;
  template <typename V>
  static void PoolWindow(const PoolShape& shape, int64_t n, int64_t oh, int64_t ow,
                         const Number* input, Number* output) {
    const Span rows = shape.Window(0, oh);
    const Span columns = shape.Window(1, ow);
    const WindowPixels window(shape, rows, columns);
    const Number* const x = input + shape.PixelOffset(n, rows.begin, columns.begin);
    const V count = SameLanes<V>(static_cast<Number>(rows.size() * columns.size()));
    WithSideOf<Number>(window, [&](auto side) {
      constexpr int64_t kSide = decltype(side)::value;
      ForEachLanes<V, Number>(shape.channels, [&](int64_t first, int64_t) {
        V sum{};
        ForEachPixel<kSide>(window,
                            [&](int64_t offset) { sum += LoadLanes<V>(x + first + offset); });
        StoreLanes(sum / count, output + first);
      });
    });
  }

 private:
  PoolAttributes attributes_;
};

template <typename T>
class AvgPoolGrad {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View sizes = frame.input(0);
    if (sizes.rank() != 1 || sizes.size() != 4) {
      return ms::InvalidArgument("orig_input_shape must be a vector of 4 sizes, but its shape is ",
                                 sizes.shape().ToString());
    }
    ms::Shape input;
    for (int i = 0; i < 4; ++i) input.Append(sizes.data<int32_t>()[i]);
    PoolShape shape;
    MS_TRY(ResolvePool(attributes_, input, "orig_input_shape", &shape));
    MS_TRY(CheckPoolOutput(shape, frame.input(1).shape(), "grad"));
    ms::View result;
    MS_TRY(frame.Output(0, input, &result));
    if (shape.InputSize() == 0) return ms::Status();
    Number* gradient = nullptr;
    MS_TRY(WideInput<T>(frame, 1, &gradient));
    WideOutput<T> sums;
    MS_TRY(sums.Init(frame, result));
    Number* const dx = sums.data();
    const int64_t rows = shape.batch * shape.input[0];
    MS_TRY(StoppableFor(
        frame, rows, RowCost(shape, shape.input[1]), [&](uint64_t begin, uint64_t end) {
          RunLoopOn<Number, &AvgPoolGrad::GatherRows>(shape, gradient, dx, begin, end);
        }));
    return sums.Finish(frame);
  }

 private:
  using Number = ComputeTypeOf<T>;

  static void GatherRows(const PoolShape& shape, const Number* gradient, Number* dx, int64_t begin,
                         int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t w = 0; w < shape.input[1]; ++w) {
        GatherPixel(shape, row / shape.input[0], row % shape.input[0], w, gradient,
                    dx + (row * shape.input[1] + w) * shape.channels);
      }
    }
  }

  // A pixel adds up its part of every window that saw it, so that no two threads share an element.
  static void GatherPixel(const PoolShape& shape, int64_t n, int64_t h, int64_t w,
                          const Number* gradient, Number* dx) {
    const Span rows = shape.WindowsAt(0, h);
    const Span columns = shape.WindowsAt(1, w);
    std::fill_n(dx, shape.channels, Number(0));
    for (int64_t oh = rows.begin; oh < rows.end; ++oh) {
      for (int64_t ow = columns.begin; ow < columns.end; ++ow) {
        const Number* dy =
            gradient + ((n * shape.output[0] + oh) * shape.output[1] + ow) * shape.channels;
        const Number part = Number(1) / static_cast<Number>(shape.Window(0, oh).size() *
                                                            shape.Window(1, ow).size());
        for (int64_t c = 0; c < shape.channels; ++c) dx[c] += part * dy[c];
      }
    }
  }

  PoolAttributes attributes_;
};

const ms::Registered avg_pool =
    ms::RegisterForTypes<AvgPool, float, double, Float16, BFloat16>("AvgPool", "T");
const ms::Registered avg_pool_grad =
    ms::RegisterForTypes<AvgPoolGrad, float, double, Float16, BFloat16>(
        "AvgPoolGrad", "T", ms::KernelOptions().HostArg("orig_input_shape"));

}  // namespace
}  // namespace millstream::kernels
