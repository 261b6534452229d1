// MaxPool and MaxPoolGrad.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/wide_tensors.h"
#include "kernels/nn/pool_lanes.h"
#include "kernels/nn/pool_shape.h"

namespace millstream::kernels {
namespace {

// Rows of windows times elements, at about this many nanoseconds for 4 elements.
uint64_t RowCost(const PoolShape& shape) {
  return static_cast<uint64_t>(shape.output[1] * shape.ksize[0] * shape.ksize[1] * shape.channels) /
             4 +
         1;
}

// Where a search for the largest starts. Comparisons with NaN are false, so NaN is passed over.
template <typename T>
T Lowest() {
  using Limits = std::numeric_limits<T>;
  return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
}

// The largest of each channel in a window.
template <int64_t kSide, typename V, typename T>
V LargestOf(const T* x, const WindowPixels& window) {
  V largest = SameLanes<V>(Lowest<T>());
  ForEachPixel<kSide>(window, [&](int64_t offset) {
    const V pixel = LoadLanes<V>(x + offset);
    largest = pixel > largest ? pixel : largest;
  });
  return largest;
}

// One instance serves all types that are computed as `Number`.
template <typename N>
class MaxPoolLoops {
 public:
  using Number = N;
  static ms::Status PoolRows(ms::Frame& frame, const PoolShape& shape, const Number* input,
                             Number* output) {
    const int64_t rows = shape.batch * shape.output[0];
    return StoppableFor(frame, rows, RowCost(shape), [&](uint64_t begin, uint64_t end) {
      RunVectorLoopUpTo<kWidestOnFloats<Number>, Rows>(shape, input, output, begin, end);
    });
  }

  // One row in all (windows along the channels come as that): cut by windows.
  static ms::Status PoolColumns(ms::Frame& frame, const PoolShape& shape, const Number* input,
                                Number* output) {
    const int64_t windows = shape.batch * shape.output[1];
    return StoppableFor(frame, windows, shape.ksize[1], [&](uint64_t begin, uint64_t end) {
      for (int64_t i = begin; i < static_cast<int64_t>(end); ++i) {
        PoolWindow<Number>(shape, i / shape.output[1], 0, i % shape.output[1], input, output + i);
      }
    });
  }

  template <int kBytes>
  using Rows = PooledRows<MaxPoolLoops, kBytes>;
  template <typename V>
  static void PoolWindow(const PoolShape& shape, int64_t n, int64_t oh, int64_t ow,
                         const Number* input, Number* output) {
    const Span rows = shape.Window(0, oh);
    const Span columns = shape.Window(1, ow);
    const WindowPixels window(shape, rows, columns);
    const Number* const x = input + shape.PixelOffset(n, rows.begin, columns.begin);
    WithSideOf<Number>(window, [&](auto side) {
      constexpr int64_t kSide = decltype(side)::value;
      ForEachLanes<V, Number>(shape.channels, [&](int64_t first, int64_t) {
        StoreLanes(LargestOf<kSide, V>(x + first, window), output + first);
      });
    });
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
    MS_TRY(ResolvePool(attributes_, frame.input(0).shape(), "input", &shape));
    ms::View output;
    MS_TRY(frame.Output(0, shape.output_shape, &output));
    if (shape.OutputSize() == 0) return ms::Status();
    Number* input = nullptr;
    MS_TRY(WideInput<T>(frame, 0, &input));
    WideOutput<T> largest;
    MS_TRY(largest.Init(frame, output));
    if (shape.output[0] == 1 && shape.channels == 1 && shape.ksize[0] == 1) {
      MS_TRY(Loops::PoolColumns(frame, shape, input, largest.data()));
    } else {
      MS_TRY(Loops::PoolRows(frame, shape, input, largest.data()));
    }
    return largest.Finish(frame);
  }

 private:
  using Number = ComputeTypeOf<T>;
  using Loops = MaxPoolLoops<Number>;

  PoolAttributes attributes_;
};

// The gradient goes to the first of the largest elements of each window, in row-major order.
template <typename Number>
class MaxPoolGradLoops {
 public:
  // No two windows touch, and together they cover everything: each writes all of its elements.
  static ms::Status ScatterTiles(ms::Frame& frame, const PoolShape& shape, const Number* input,
                                 const Number* gradient, Number* result) {
    const int64_t rows = shape.batch * shape.output[0];
    return StoppableFor(frame, rows, 2 * RowCost(shape), [&](uint64_t begin, uint64_t end) {
      RunVectorLoopUpTo<kWidestOnFloats<Number>, Tiles>(shape, input, gradient, result, begin, end);
    });
  }

  // Windows may share elements, so one thread has all of an image.
  static ms::Status ScatterImages(ms::Frame& frame, const PoolShape& shape, const Number* input,
                                  const Number* gradient, Number* result) {
    const int64_t image_size = shape.input[0] * shape.input[1] * shape.channels;
    const uint64_t cost = 2 * RowCost(shape) * shape.output[0] + image_size / 8;
    return StoppableFor(frame, shape.batch, cost, [&](uint64_t begin, uint64_t end) {
      RunVectorLoopUpTo<kWidestOnFloats<Number>, Images>(shape, input, gradient, result, begin,
                                                         end);
    });
  }

 private:
  template <int kBytes>
  struct Tiles {
    static void Run(const PoolShape& shape, const Number* input, const Number* gradient,
                    Number* result, int64_t begin, int64_t end) {
      WithLanesFor<kBytes, Number>(shape.channels, [&](auto lanes) {
        for (int64_t row = begin; row < end; ++row) {
          ScatterRow<decltype(lanes), /*kAssign=*/true>(
              shape, row / shape.output[0], row % shape.output[0], input, gradient, result);
        }
      });
    }
  };

  template <int kBytes>
  struct Images {
    static void Run(const PoolShape& shape, const Number* input, const Number* gradient,
                    Number* result, int64_t begin, int64_t end) {
      WithLanesFor<kBytes, Number>(shape.channels, [&](auto lanes) {
        for (int64_t n = begin; n < end; ++n) {
          ScatterImage<decltype(lanes)>(shape, n, input, gradient, result);
        }
      });
    }
  };

  // Sums of integers wrap.
  template <typename V>
  static V Add(V a, V b) {
    if constexpr (std::is_floating_point_v<Number>) {
      return a + b;
    } else if constexpr (std::is_same_v<V, Number>) {
      return static_cast<Number>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      typedef std::make_unsigned_t<Number> Bits __attribute__((vector_size(sizeof(V))));
      return (V)((Bits)a + (Bits)b);
    }
  }

  // Rows become zeros when the first window gets there, and are in the cache for it.
  template <typename V>
  static void ScatterImage(const PoolShape& shape, int64_t n, const Number* input,
                           const Number* gradient, Number* result) {
    int64_t cleared = 0;  // rows
    const auto clear_to = [&](int64_t row) {
      if (row <= cleared) return;
      std::fill(result + shape.PixelOffset(n, cleared, 0), result + shape.PixelOffset(n, row, 0),
                Number(0));
      cleared = row;
    };
    for (int64_t oh = 0; oh < shape.output[0]; ++oh) {
      clear_to(shape.Window(0, oh).end);
      ScatterRow<V, /*kAssign=*/false>(shape, n, oh, input, gradient, result);
    }
    clear_to(shape.input[0]);
  }

  template <typename V, bool kAssign>
  static void ScatterRow(const PoolShape& shape, int64_t n, int64_t oh, const Number* input,
                         const Number* gradient, Number* result) {
    const Span rows = shape.Window(0, oh);
    const Number* dy = gradient + (n * shape.output[0] + oh) * shape.output[1] * shape.channels;
    for (int64_t ow = 0; ow < shape.output[1]; ++ow, dy += shape.channels) {
      const Span columns = shape.Window(1, ow);
      const WindowPixels window(shape, rows, columns);
      const int64_t corner = shape.PixelOffset(n, rows.begin, columns.begin);
      WithSideOf<Number>(window, [&](auto side) {
        constexpr int64_t kSide = decltype(side)::value;
        ForEachLanes<V, Number>(shape.channels, [&](int64_t first, int64_t repeated) {
          V left = LoadLanes<V>(dy + first);
          // Elements that have their gradient already get no more of it.
          if (!kAssign && repeated > 0) std::memset(&left, 0, repeated * sizeof(Number));
          Scatter<kSide, V, kAssign>(input + corner + first, left, window, result + corner + first);
        });
      });
    }
  }

  // Gives what is `left` of the gradient to the first of the largest.
  template <int64_t kSide, typename V, bool kAssign>
  static void Scatter(const Number* x, V left, const WindowPixels& window, Number* dx) {
    const V largest = LargestOf<kSide, V>(x, window);
    const V zero{};
    ForEachPixel<kSide>(window, [&](int64_t offset) {
      const auto hit = LoadLanes<V>(x + offset) == largest;
      const V part = hit ? left : zero;
      left = hit ? zero : left;
      StoreLanes(kAssign ? part : Add(LoadLanes<V>(dx + offset), part), dx + offset);
    });
  }
};

template <typename T>
class MaxPoolGrad {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::View gradient = frame.input(2);
    PoolShape shape;
    MS_TRY(ResolvePool(attributes_, input.shape(), "orig_input", &shape));
    MS_TRY(CheckPoolOutput(shape, frame.input(1).shape(), "orig_output"));
    MS_TRY(CheckPoolOutput(shape, gradient.shape(), "grad"));
    ms::View result;
    MS_TRY(frame.Output(0, input.shape(), &result));
    if (shape.InputSize() == 0) return ms::Status();
    Number* x = nullptr;
    Number* dy = nullptr;
    MS_TRY(WideInput<T>(frame, 0, &x));
    MS_TRY(WideInput<T>(frame, 2, &dy));
    WideOutput<T> dx;
    MS_TRY(dx.Init(frame, result));
    if (shape.IsTiling()) {
      MS_TRY(Loops::ScatterTiles(frame, shape, x, dy, dx.data()));
    } else {
      MS_TRY(Loops::ScatterImages(frame, shape, x, dy, dx.data()));
    }
    return dx.Finish(frame);
  }

 private:
  using Number = ComputeTypeOf<T>;
  using Loops = MaxPoolGradLoops<Number>;

  PoolAttributes attributes_;
};

const ms::Registered max_pool =
    ms::RegisterForTypes<MaxPool, float, double, Float16, BFloat16, int8_t, int16_t, int32_t,
                         int64_t, uint8_t, uint16_t>("MaxPool", "T");
const ms::Registered max_pool_grad =
    ms::RegisterForTypes<MaxPoolGrad, float, double, Float16, BFloat16, int8_t, int16_t, int32_t,
                         int64_t, uint8_t, uint16_t, uint32_t, uint64_t>("MaxPoolGrad", "T");

}  // namespace
}  // namespace millstream::kernels
