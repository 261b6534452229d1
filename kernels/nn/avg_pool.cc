// AvgPool, AvgPool3D, and the gradient of each. Padding does not count: a mean is over the elements
// that are there.
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

template <typename T>
class AvgPool {
 public:
  using Number = ComputeTypeOf<T>;

  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    PoolShape shape;
    MS_TRY(attributes_.Resolve(frame, frame.input(0).shape(), InputName(), &shape));
    ms::View result;
    MS_TRY(frame.Output(0, shape.output_shape, &result));
    if (shape.OutputSize() == 0) return ms::Status();
    Number* input = nullptr;
    MS_TRY(WideInput<T>(frame, 0, &input));
    WideOutput<T> means;
    MS_TRY(means.Init(frame, result));
    Number* const output = means.data();
    MS_TRY(StoppableFor(
        frame, shape.NumWindows(), shape.WindowCost(), [&](uint64_t begin, uint64_t end) {
          RunVectorLoopUpTo<kWidestSet<Number>, Windows>(shape, input, output, begin, end);
        }));
    return means.Finish(frame);
  }

  template <int kBytes>
  using Windows = PooledWindows<AvgPool, kBytes>;
  template <typename V>
  static void PoolWindow(const Number* x, const WindowWalk& window, Number* y) {
    const int64_t* const offsets = window.offsets();
    const int64_t count = window.num_pixels();
    V sum{};
    for (int64_t i = 0; i < count; ++i) sum += LoadLanes<V>(x + offsets[i]);
    StoreLanes(sum / SameLanes<V>(static_cast<Number>(count)), y);
  }

 private:
  const char* InputName() const { return attributes_.rank() == 5 ? "input" : "value"; }

  PoolAttributes attributes_;
};

template <typename T>
class AvgPoolGrad {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View sizes = frame.input(0);
    const int64_t rank = attributes_.rank();
    if (sizes.rank() != 1 || sizes.size() != rank) {
      return ms::InvalidArgument("orig_input_shape must be a vector of ", rank,
                                 " sizes, but its shape is ", sizes.shape().ToString());
    }
    ms::Shape input;
    for (int64_t i = 0; i < rank; ++i) input.Append(sizes.data<int32_t>()[i]);
    PoolShape shape;
    MS_TRY(attributes_.Resolve(frame, input, "orig_input_shape", &shape));
    MS_TRY(CheckPoolOutput(shape, frame.input(1).shape(), "grad"));
    ms::View result;
    MS_TRY(frame.Output(0, input, &result));
    if (shape.InputSize() == 0) return ms::Status();
    Number* gradient = nullptr;
    MS_TRY(WideInput<T>(frame, 1, &gradient));
    WideOutput<T> sums;
    MS_TRY(sums.Init(frame, result));
    Number* const dx = sums.data();
    const int64_t rows = shape.batch * shape.input[0] * shape.input[1];
    MS_TRY(StoppableFor(frame, rows, shape.WindowCost() * shape.input[2],
                        [&](uint64_t begin, uint64_t end) {
                          RunLoopUpTo<kWidestSet<Number>, &AvgPoolGrad::GatherRows>(shape, gradient,
                                                                                    dx, begin, end);
                        }));
    return sums.Finish(frame);
  }

 private:
  using Number = ComputeTypeOf<T>;

  static void GatherRows(const PoolShape& shape, const Number* gradient, Number* dx, int64_t begin,
                         int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t inner = 0; inner < shape.input[2]; ++inner) {
        const Spatial place = {row / shape.input[1] % shape.input[0], row % shape.input[1], inner};
        GatherPixel(shape, row / shape.input[1] / shape.input[0], place, gradient,
                    dx + (row * shape.input[2] + inner) * shape.channels);
      }
    }
  }

  // A pixel adds up its part of every window that saw it, so that no two threads share an element.
  static void GatherPixel(const PoolShape& shape, int64_t n, const Spatial& place,
                          const Number* gradient, Number* dx) {
    const Span outer = shape.WindowsAt(0, place[0]);
    const Span middle = shape.WindowsAt(1, place[1]);
    const Span inner = shape.WindowsAt(2, place[2]);
    std::fill_n(dx, shape.channels, Number(0));
    for (int64_t i = outer.begin; i < outer.end; ++i) {
      for (int64_t j = middle.begin; j < middle.end; ++j) {
        const int64_t size = shape.Window(0, i).size() * shape.Window(1, j).size();
        const int64_t row = ((n * shape.output[0] + i) * shape.output[1] + j) * shape.output[2];
        for (int64_t k = inner.begin; k < inner.end; ++k) {
          const Number* const dy = gradient + (row + k) * shape.channels;
          const Number part = Number(1) / static_cast<Number>(size * shape.Window(2, k).size());
          for (int64_t c = 0; c < shape.channels; ++c) dx[c] += part * dy[c];
        }
      }
    }
  }

  PoolAttributes attributes_;
};

const ms::Registered avg_pool =
    ms::RegisterForTypes<AvgPool, float, double, Float16, BFloat16>("AvgPool", "T");
const ms::Registered avg_pool_3d =
    ms::RegisterForTypes<AvgPool, float, double, Float16, BFloat16>("AvgPool3D", "T");
const ms::Registered avg_pool_grad =
    ms::RegisterForTypes<AvgPoolGrad, float, double, Float16, BFloat16>(
        "AvgPoolGrad", "T", ms::KernelOptions().HostArg("orig_input_shape"));
const ms::Registered avg_pool_3d_grad =
    ms::RegisterForTypes<AvgPoolGrad, float, double, Float16, BFloat16>(
        "AvgPool3DGrad", "T", ms::KernelOptions().HostArg("orig_input_shape"));

}  // namespace
}  // namespace millstream::kernels
