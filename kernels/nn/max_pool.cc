// MaxPool, MaxPoolV2, MaxPool3D, and the gradient of each, of floating-point numbers. Integers are
// pooled by largest_elements.h.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/wide_tensors.h"
#include "kernels/nn/pool_lanes.h"
#include "kernels/nn/pool_shape.h"

namespace millstream::kernels {
namespace {

// A loop has two operations for each load of a pixel, so that the loads take the time. Copies for
// wider vectors are left out, because a copy takes room in the plugin.
template <typename T>
constexpr InstructionSet kWidestPooling = kWidestSet<T, InstructionSet::kAvx2>;

// Comparisons with NaN are false, so NaN is passed over.
template <typename V>
V Larger(V pixel, V largest) {
  return pixel > largest ? pixel : largest;
}

// The largest of each channel in a window.
template <typename V, typename T>
V LargestOf(const T* x, const WindowWalk& window) {
  V largest = SameLanes<V>(-std::numeric_limits<T>::infinity());
  const int64_t* const offsets = window.offsets();
  const int64_t count = window.num_pixels();
  const auto see = [&](int64_t i) { largest = Larger(LoadLanes<V>(x + offsets[i]), largest); };
  if (count == 4) {  // mostly 2 by 2: for few channels the loop would take as long as its body
    see(0), see(1), see(2), see(3);
  } else {
    for (int64_t i = 0; i < count; ++i) see(i);
  }
  return largest;
}

// One instance serves all types that are computed as `Number`.
template <typename N>
struct MaxPoolLoops {
  using Number = N;

  static ms::Status Pool(ms::Frame& frame, const PoolShape& shape, const Number* input,
                         Number* output) {
    return StoppableFor(
        frame, shape.NumWindows(), shape.WindowCost(), [&](uint64_t begin, uint64_t end) {
          RunVectorLoopUpTo<kWidestPooling<Number>, Windows>(shape, input, output, begin, end);
        });
  }

  template <int kBytes>
  using Windows = PooledWindows<MaxPoolLoops, kBytes>;
  template <typename V>
  static void PoolWindow(const Number* x, const WindowWalk& window, Number* y) {
    StoreLanes(LargestOf<V>(x, window), y);
  }
};

template <typename T>
class MaxPool {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    return attributes_.Init(info, /*over_depth=*/true);
  }

  ms::Status Compute(ms::Frame& frame) const {
    PoolShape shape;
    MS_TRY(attributes_.Resolve(frame, frame.input(0).shape(), "input", &shape));
    ms::View output;
    MS_TRY(frame.Output(0, shape.output_shape, &output));
    if (shape.OutputSize() == 0) return ms::Status();
    Number* input = nullptr;
    MS_TRY(WideInput<T>(frame, 0, &input));
    WideOutput<T> largest;
    MS_TRY(largest.Init(frame, output));
    MS_TRY(MaxPoolLoops<Number>::Pool(frame, shape, input, largest.data()));
    return largest.Finish(frame);
  }

 private:
  using Number = ComputeTypeOf<T>;

  PoolAttributes attributes_;
};

// The gradient goes to the first of the largest elements of each window, in row-major order.
template <typename Number>
class MaxPoolGradLoops {
 public:
  // Cut by rows of windows, or by images if rows share elements.
  static ms::Status Scatter(ms::Frame& frame, const PoolShape& shape, const Number* x,
                            const Number* dy, Number* dx) {
    const int64_t rows = shape.HasDisjointRows() ? 1 : shape.output[0];
    const int64_t pixels =
        rows * std::min(shape.stride[0], shape.input[0]) * shape.input[1] * shape.input[2];
    const uint64_t cost = 2 * shape.WindowCost() * rows * shape.output[1] * shape.output[2] +
                          static_cast<uint64_t>(pixels * shape.channels) / 8;
    return StoppableFor(frame, shape.batch * shape.output[0] / rows, cost,
                        [&](uint64_t begin, uint64_t end) {
                          RunVectorLoopUpTo<kWidestPooling<Number>, Rows>(shape, x, dy, dx,
                                                                          begin * rows, end * rows);
                        });
  }

 private:
  template <int kBytes>
  struct Rows {
    static void Run(const PoolShape& shape, const Number* x, const Number* dy, Number* dx,
                    int64_t begin, int64_t end) {
      WithLanesFor<kBytes, Number>(shape.channels, [&](auto lanes) {
        using V = decltype(lanes);
        if (shape.IsTiling()) {
          ScatterRows<V, /*kAssign=*/true>(shape, x, dy, dx, begin, end);
        } else {
          ScatterRows<V, /*kAssign=*/false>(shape, x, dy, dx, begin, end);
        }
      });
    }
  };

  // kAssign: windows tile the input, so that each writes all of its elements. Otherwise they add.
  template <typename V, bool kAssign>
  static void ScatterRows(const PoolShape& shape, const Number* x, const Number* dy, Number* dx,
                          int64_t begin, int64_t end) {
    const int64_t windows = shape.output[1] * shape.output[2];
    WindowWalk window(shape, begin * windows);
    const Number* next = dy + begin * windows * shape.channels;
    for (int64_t row = begin; row < end; ++row) {
      if (!kAssign) Clear(shape, row, dx);
      for (int64_t i = 0; i < windows; ++i, next += shape.channels, window.Next()) {
        // Windows that tile are mostly 2 by 2, and others 3 by 3.
        WithSideOf<kAssign ? 2 : 3, Number>(window, [&](auto side) {
          ScatterWindow<decltype(side)::value, V, kAssign>(shape, window, x + window.corner(), next,
                                                           dx + window.corner());
        });
      }
    }
  }

  // Elements become zeros when the first window gets there, and are in the cache for it.
  static void Clear(const PoolShape& shape, int64_t row, Number* dx) {
    const int64_t n = row / shape.output[0];
    const Span rows = shape.FirstSeenBy(row % shape.output[0]);
    std::fill(dx + shape.PixelOffset(n, rows.begin, 0, 0),
              dx + shape.PixelOffset(n, rows.end, 0, 0), Number(0));
  }

  template <int64_t kSide, typename V, bool kAssign>
  static void ScatterWindow(const PoolShape& shape, const WindowWalk& window, const Number* x,
                            const Number* dy, Number* dx) {
    ForEachLanes<V, Number>(shape.channels, [&](int64_t first, int64_t repeated) {
      V left = LoadLanes<V>(dy + first);  // of the gradient, which the first hit takes
      // Elements that have their gradient already get no more of it.
      if (!kAssign && repeated > 0) std::memset(&left, 0, repeated * sizeof(Number));
      V largest = SameLanes<V>(-std::numeric_limits<Number>::infinity());
      ForEachPixel<kSide>(window, [&](int64_t offset) {
        largest = Larger(LoadLanes<V>(x + first + offset), largest);
      });
      const V zero{};
      ForEachPixel<kSide>(window, [&](int64_t offset) {
        Number* const to = dx + first + offset;
        const auto hit = LoadLanes<V>(x + first + offset) == largest;
        const V part = hit ? left : zero;
        left = hit ? zero : left;
        StoreLanes(kAssign ? part : LoadLanes<V>(to) + part, to);
      });
    });
  }
};

template <typename T>
class MaxPoolGrad {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::Shape input = frame.input(0).shape();
    PoolShape shape;
    MS_TRY(attributes_.Resolve(frame, input, "orig_input", &shape));
    MS_TRY(CheckPoolOutput(shape, frame.input(1).shape(), "orig_output"));
    MS_TRY(CheckPoolOutput(shape, frame.input(2).shape(), "grad"));
    ms::View result;
    MS_TRY(frame.Output(0, input, &result));
    if (shape.InputSize() == 0) return ms::Status();
    if (shape.OutputSize() == 0) {
      std::memset(result.raw(), 0, result.bytes());
      return ms::Status();
    }
    Number* x = nullptr;
    Number* dy = nullptr;
    MS_TRY(WideInput<T>(frame, 0, &x));
    MS_TRY(WideInput<T>(frame, 2, &dy));
    WideOutput<T> dx;
    MS_TRY(dx.Init(frame, result));
    MS_TRY(MaxPoolGradLoops<Number>::Scatter(frame, shape, x, dy, dx.data()));
    return dx.Finish(frame);
  }

 private:
  using Number = ComputeTypeOf<T>;

  PoolAttributes attributes_;
};

ms::KernelOptions WindowsFromInputs() {
  return ms::KernelOptions().HostArg("ksize").HostArg("strides");
}

const ms::Registered max_pool =
    ms::RegisterForTypes<MaxPool, float, double, Float16, BFloat16>("MaxPool", "T");
const ms::Registered max_pool_v2 = ms::RegisterForTypes<MaxPool, float, double, Float16, BFloat16>(
    "MaxPoolV2", "T", WindowsFromInputs());
const ms::Registered max_pool_3d =
    ms::RegisterForTypes<MaxPool, float, Float16, BFloat16>("MaxPool3D", "T");

const ms::Registered max_pool_grad =
    ms::RegisterForTypes<MaxPoolGrad, float, double, Float16, BFloat16>("MaxPoolGrad", "T");
const ms::Registered max_pool_grad_v2 =
    ms::RegisterForTypes<MaxPoolGrad, float, double, Float16, BFloat16>("MaxPoolGradV2", "T",
                                                                        WindowsFromInputs());

// Both types of MaxPool3DGrad are the same.
template <typename T>
ms::Registered RegisterGrad3D() {
  return ms::Register<MaxPoolGrad<T>>("MaxPool3DGrad",
                                      ms::KernelOptions().Type<T>("T").template Type<T>("TInput"));
}
const ms::Registered max_pool_3d_grad = RegisterGrad3D<float>();
const ms::Registered max_pool_3d_grad_float16 = RegisterGrad3D<Float16>();
const ms::Registered max_pool_3d_grad_bfloat16 = RegisterGrad3D<BFloat16>();

}  // namespace
}  // namespace millstream::kernels
