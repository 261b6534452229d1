// Windows of pixels, a vector of channels at a time: what a window gives stays in a register while
// its pixels go by. Every channel gets the same operations in the same order whatever the width of
// the vectors.
#ifndef MILLSTREAM_KERNELS_NN_POOL_LANES_H_
#define MILLSTREAM_KERNELS_NN_POOL_LANES_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/nn/pool_shape.h"
#include "kernels/simd/instruction_set.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {

// The widest set that loops are compiled for: float is worth their room, other types are rare in
// pooling and in depthwise convolutions.
template <typename T, InstructionSet kOfFloat = InstructionSet::kAvx512>
inline constexpr InstructionSet kWidestSet =
    std::is_same_v<T, float> ? kOfFloat : InstructionSet::kBaseline;

// V is a vector of T, or T itself.
template <typename V, typename T>
inline constexpr int64_t kLanesOf = static_cast<int64_t>(sizeof(V)) / int64_t{sizeof(T)};

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
// A sum, although it makes a zero of a negative one: a difference is folded away, and GCC 12 may
// put the lanes of a 64-byte vector together one by one where only a copy is left.
template <typename V, typename T>
inline V SameLanes(T value) {
  return value + V{};
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

// The windows [begin, end) of a pooling: Pool::PoolWindow<V>(x, window, y) for each vector of
// channels of each, where x is the place of the first pixel.
template <typename Pool, int kBytes>
struct PooledWindows {
  using Number = typename Pool::Number;
  static void Run(const PoolShape& shape, const Number* input, Number* output, int64_t begin,
                  int64_t end) {
    WithLanesFor<kBytes, Number>(shape.channels, [&](auto lanes) {
      using V = decltype(lanes);
      WindowWalk window(shape, begin);
      for (int64_t at = begin; at < end; ++at, window.Next()) {
        const Number* const x = input + window.corner();
        Number* const y = output + at * shape.channels;
        ForEachLanes<V, Number>(shape.channels, [&](int64_t first, int64_t) {
          Pool::template PoolWindow<V>(x + first, window, y + first);
        });
      }
    });
  }
};

// A size that is known when this is compiled, or 0.
template <int64_t kSide>
using Side = std::integral_constant<int64_t, kSide>;

// Calls fn(Side) with the side of a square window of an image if that is kUsual, and with 0
// otherwise. Only float has loops for it.
template <int64_t kUsual, typename T, typename Fn>
inline void WithSideOf(const WindowWalk& window, Fn&& fn) {
  if constexpr (std::is_same_v<T, float>) {
    if (window.size() == Spatial{kUsual, 1, kUsual}) return fn(Side<kUsual>());
  }
  fn(Side<0>());
}

// Calls fn with the distance of each pixel from the first, in row-major order.
template <int64_t kSide, typename Fn>
inline void ForEachPixel(const WindowWalk& window, Fn&& fn) {
  const Spatial size = kSide > 0 ? Spatial{kSide, 1, kSide} : window.size();
  for (int64_t outer = 0; outer < size[0]; ++outer) {
    for (int64_t middle = 0; middle < size[1]; ++middle) {
      const int64_t row = outer * window.step(0) + middle * window.step(1);
      for (int64_t inner = 0; inner < size[2]; ++inner) fn(row + inner * window.step(2));
    }
  }
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_POOL_LANES_H_
