// Windows of pixels, a vector of channels at a time: what a window gives stays in a register while
// its pixels go by. Every channel gets the same operations in the same order whatever the width of
// the vectors.
#ifndef MILLSTREAM_KERNELS_NN_POOL_LANES_H_
#define MILLSTREAM_KERNELS_NN_POOL_LANES_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/nn/pool_shape.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {

// V is a vector of T, or T itself.
template <typename V, typename T>
inline constexpr int64_t kLanesOf = sizeof(V) / sizeof(T);

template <typename V, typename T>
inline V LoadLanes(const T* address) {
  V lanes;
  std::memcpy(&lanes, address, sizeof(lanes));
  return lanes;
}
template <typename V, typename T>
inline void StoreLanes(V lanes, T* address) {
  std::memcpy(address, &lanes, sizeof(lanes));
}
template <typename V, typename T>
inline V SameLanes(T value) {
  return value - V{};
}

// Vectors for pixels whose channels do not fill one of the machine's.
template <typename T>
struct ShortVectorOf {
  typedef T type __attribute__((vector_size(16)));
};

// Calls fn(V()) with the widest V, of at most kBytes, that `channels` fill.
template <int kBytes, typename T, typename Fn>
inline void WithLanesFor(int64_t channels, Fn&& fn) {
  using Short = typename ShortVectorOf<T>::type;
  if (channels >= kLanes<T, kBytes>) {
    fn(Vector<T, kBytes>());
  } else if (kBytes > sizeof(Short) && channels >= kLanesOf<Short, T>) {
    fn(Short());
  } else {
    fn(T());
  }
}

// Calls fn(first channel, repeated) for vectors that cover the channels, as many as fill one at
// least. The last one overlaps that before it: its first `repeated` elements were covered already.
template <typename V, typename T, typename Fn>
inline void ForEachLanes(int64_t channels, Fn&& fn) {
  constexpr int64_t kStep = kLanesOf<V, T>;
  int64_t first = 0;
  for (; first + kStep <= channels; first += kStep) fn(first, int64_t{0});
  if (first < channels) fn(channels - kStep, first + kStep - channels);
}

// The pixels of a window that are no padding, from the first one's address.
struct WindowPixels {
  WindowPixels(const PoolShape& shape, const Span& row_span, const Span& column_span)
      : rows(row_span.size()),
        columns(column_span.size()),
        row_step(shape.input[1] * shape.channels),
        column_step(shape.channels) {}

  int64_t rows;
  int64_t columns;
  int64_t row_step;
  int64_t column_step;
};

// The rows [begin, end) of all images of a pooling: Pool::PoolWindow<V>(shape, image, row, column,
// input, output) for each window.
template <typename Pool, int kBytes>
struct PooledRows {
  using Number = typename Pool::Number;
  static void Run(const PoolShape& shape, const Number* input, Number* output, int64_t begin,
                  int64_t end) {
    WithLanesFor<kBytes, Number>(shape.channels, [&](auto lanes) {
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t ow = 0; ow < shape.output[1]; ++ow) {
          Pool::template PoolWindow<decltype(lanes)>(
              shape, row / shape.output[0], row % shape.output[0], ow, input,
              output + (row * shape.output[1] + ow) * shape.channels);
        }
      }
    });
  }
};

// A size that is known when this is compiled, or 0.
template <int64_t kSide>
using Side = std::integral_constant<int64_t, kSide>;

// Calls fn(Side) with the side of a square window for the usual ones of floating-point numbers.
template <typename T, typename Fn>
inline void WithSideOf(const WindowPixels& window, Fn&& fn) {
  if constexpr (std::is_floating_point_v<T>) {
    if (window.rows == 2 && window.columns == 2) return fn(Side<2>());
    if (window.rows == 3 && window.columns == 3) return fn(Side<3>());
  }
  fn(Side<0>());
}

// Calls fn with the offset of each pixel, in row-major order.
template <int64_t kSide, typename Fn>
inline void ForEachPixel(const WindowPixels& window, Fn&& fn) {
  const int64_t rows = kSide > 0 ? kSide : window.rows;
  const int64_t columns = kSide > 0 ? kSide : window.columns;
  for (int64_t h = 0; h < rows; ++h) {
    for (int64_t w = 0; w < columns; ++w) fn(h * window.row_step + w * window.column_step);
  }
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_POOL_LANES_H_
