// Pooling by the places of the largest elements. Once it is known where these are, elements are
// moved or added there without a look at their values: one loop a type finds the places, and all
// kernels share it.
#ifndef MILLSTREAM_KERNELS_NN_LARGEST_ELEMENTS_H_
#define MILLSTREAM_KERNELS_NN_LARGEST_ELEMENTS_H_

#include <algorithm>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/nn/pool_shape.h"

namespace millstream::kernels {

// Channels of which the places are found at a time.
inline constexpr int64_t kPlacesAtOnce = 256;

// Writes where the first largest element of each of `count` channels is in `input`, or -1 where all
// are NaN. `corner` is the first channel in the window's first pixel.
using FindLargest = void (*)(const void* input, int64_t corner, const WindowWalk& window,
                             int64_t count, int64_t* places);
// For a real type; null for others.
FindLargest FindLargestOf(MS_DType dtype);

// to[begin + i] = from[places[i]], or 0 where places[i] is negative.
using GatherElements = void (*)(const void* from, const int64_t* places, int64_t count, void* to,
                                int64_t begin);
// For elements of this many bytes: 1, 2, 4 or 8.
GatherElements GatherElementsOf(uint64_t element_size);

// to[places[i]] += from[begin + i], but for negative places. Sums of integers wrap.
using AddElements = void (*)(const void* from, int64_t begin, const int64_t* places, int64_t count,
                             void* to);
// For float, double and integers; null for others.
AddElements AddElementsOf(MS_DType dtype);

// Calls fn(first, count, places, corner) for pieces of the windows [begin, end): elements [first,
// first + count) of the output come from `places` in the input, and the window's first pixel has
// them at [corner, corner + count).
template <typename Fn>
void ForEachLargest(const PoolShape& shape, FindLargest find, const void* input, int64_t begin,
                    int64_t end, Fn&& fn) {
  int64_t places[kPlacesAtOnce];
  WindowWalk window(shape, begin);
  for (int64_t at = begin; at < end; ++at, window.Next()) {
    for (int64_t first = 0; first < shape.channels; first += kPlacesAtOnce) {
      const int64_t count = std::min(kPlacesAtOnce, shape.channels - first);
      find(input, window.corner() + first, window, count, places);
      fn(at * shape.channels + first, count, places, window.corner() + first);
    }
  }
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_LARGEST_ELEMENTS_H_
