// MaxPool and MaxPoolGrad.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/wide_tensors.h"
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
      PoolColumns(frame, shape, input, largest.data());
    } else {
      PoolRows(frame, shape, input, largest.data());
    }
    largest.Finish(frame);
    return ms::Status();
  }

 private:
  using Number = ComputeTypeOf<T>;

  static void PoolRows(ms::Frame& frame, const PoolShape& shape, const Number* input,
                       Number* output) {
    const int64_t rows = shape.batch * shape.output[0];
    frame.ParallelFor(rows, RowCost(shape), [&](uint64_t begin, uint64_t end) {
      for (int64_t row = begin; row < static_cast<int64_t>(end); ++row) {
        for (int64_t ow = 0; ow < shape.output[1]; ++ow) {
          PoolWindow(shape, row / shape.output[0], row % shape.output[0], ow, input,
                     output + (row * shape.output[1] + ow) * shape.channels);
        }
      }
    });
  }

  // One row in all (windows along the channels come as that): cut by windows.
  static void PoolColumns(ms::Frame& frame, const PoolShape& shape, const Number* input,
                          Number* output) {
    const int64_t windows = shape.batch * shape.output[1];
    frame.ParallelFor(windows, shape.ksize[1], [&](uint64_t begin, uint64_t end) {
      for (int64_t i = begin; i < static_cast<int64_t>(end); ++i) {
        PoolWindow(shape, i / shape.output[1], 0, i % shape.output[1], input, output + i);
      }
    });
  }

  static void PoolWindow(const PoolShape& shape, int64_t n, int64_t oh, int64_t ow,
                         const Number* input, Number* output) {
    const Span rows = shape.Window(0, oh);
    const Span columns = shape.Window(1, ow);
    const Number* image = input + n * shape.input[0] * shape.input[1] * shape.channels;
    std::fill_n(output, shape.channels, Lowest<Number>());
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        const Number* pixel = image + (h * shape.input[1] + w) * shape.channels;
        for (int64_t c = 0; c < shape.channels; ++c) {
          output[c] = pixel[c] > output[c] ? pixel[c] : output[c];
        }
      }
    }
  }

  PoolAttributes attributes_;
};

// The gradient goes to the first of the largest elements of each window, in row-major order.
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
      ScatterTiles(frame, shape, x, dy, dx.data());
    } else {
      ScatterImages(frame, shape, x, dy, dx.data());
    }
    dx.Finish(frame);
    return ms::Status();
  }

 private:
  using Number = ComputeTypeOf<T>;

  // Channels that are searched side by side.
  static constexpr int64_t kChunk = 64;

  // Sums of integers wrap.
  static Number Add(Number a, Number b) {
    if constexpr (std::is_integral_v<Number>) {
      return static_cast<Number>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }

  // No two windows touch, and together they cover everything: each writes all of its elements.
  static void ScatterTiles(ms::Frame& frame, const PoolShape& shape, const Number* input,
                           const Number* gradient, Number* result) {
    const int64_t rows = shape.batch * shape.output[0];
    frame.ParallelFor(rows, 2 * RowCost(shape), [&](uint64_t begin, uint64_t end) {
      for (int64_t row = begin; row < static_cast<int64_t>(end); ++row) {
        for (int64_t ow = 0; ow < shape.output[1]; ++ow) {
          ScatterWindow</*kAssign=*/true>(shape, row / shape.output[0], row % shape.output[0], ow,
                                          input, gradient, result);
        }
      }
    });
  }

  // Windows may share elements, so one thread has all of an image.
  static void ScatterImages(ms::Frame& frame, const PoolShape& shape, const Number* input,
                            const Number* gradient, Number* result) {
    const int64_t image_size = shape.input[0] * shape.input[1] * shape.channels;
    const uint64_t cost = 2 * RowCost(shape) * shape.output[0] + image_size / 8;
    frame.ParallelFor(shape.batch, cost, [&](uint64_t begin, uint64_t end) {
      for (int64_t n = begin; n < static_cast<int64_t>(end); ++n) {
        std::fill_n(result + n * image_size, image_size, Number(0));
        for (int64_t oh = 0; oh < shape.output[0]; ++oh) {
          for (int64_t ow = 0; ow < shape.output[1]; ++ow) {
            ScatterWindow</*kAssign=*/false>(shape, n, oh, ow, input, gradient, result);
          }
        }
      }
    });
  }

  template <bool kAssign>
  static void ScatterWindow(const PoolShape& shape, int64_t n, int64_t oh, int64_t ow,
                            const Number* input, const Number* gradient, Number* result) {
    const Span rows = shape.Window(0, oh);
    const Span columns = shape.Window(1, ow);
    const int64_t corner =
        ((n * shape.input[0] + rows.begin) * shape.input[1] + columns.begin) * shape.channels;
    const Number* dy =
        gradient + ((n * shape.output[0] + oh) * shape.output[1] + ow) * shape.channels;
    for (int64_t first = 0; first < shape.channels; first += kChunk) {
      const int64_t count = std::min(kChunk, shape.channels - first);
      const Number* x = input + corner + first;
      Number largest[kChunk];
      std::fill_n(largest, kChunk, Lowest<Number>());
      ForEachPixel(shape, rows, columns, [&](int64_t offset) {
        for (int64_t c = 0; c < count; ++c) {
          largest[c] = x[offset + c] > largest[c] ? x[offset + c] : largest[c];
        }
      });
      Number* dx = result + corner + first;
      Number left[kChunk];  // of dy, until the first of the largest took it
      std::copy_n(dy + first, count, left);
      ForEachPixel(shape, rows, columns, [&](int64_t offset) {
        for (int64_t c = 0; c < count; ++c) {
          const bool hit = x[offset + c] == largest[c];
          const Number part = hit ? left[c] : Number(0);
          left[c] = hit ? Number(0) : left[c];
          dx[offset + c] = kAssign ? part : Add(dx[offset + c], part);
        }
      });
    }
  }

  // Calls fn with the offset of each pixel of a window from its corner, in row-major order.
  template <typename Fn>
  static void ForEachPixel(const PoolShape& shape, const Span& rows, const Span& columns, Fn&& fn) {
    for (int64_t h = 0; h < rows.size(); ++h) {
      for (int64_t w = 0; w < columns.size(); ++w) {
        fn((h * shape.input[1] + w) * shape.channels);
      }
    }
  }

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
