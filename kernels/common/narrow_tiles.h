// Running loops of float on tensors of a 16-bit type: a tile is widened, computed and narrowed
// while it is in the innermost cache. So an operation on 16-bit types needs no loops of its own,
// and rounds its result once.
#ifndef MILLSTREAM_KERNELS_COMMON_NARROW_TILES_H_
#define MILLSTREAM_KERNELS_COMMON_NARROW_TILES_H_

#include <cstdint>

#include "kernels/common/narrow_float.h"

namespace millstream::kernels {

// Elements of a tile. A few arrays of so many floats fit on the stack.
inline constexpr int64_t kTileElements = 1024;

// What its two conversions add to the cost of an element (see ParallelElements).
inline constexpr int64_t kTilePicoseconds = 1500;

// The conversions of one 16-bit type, for code that knows it at run time only.
struct NarrowFormat {
  // Elements [begin, begin + n) of `from`.
  void (*widen)(const void* from, int64_t begin, int64_t n, float* to);
  // To elements [begin, begin + n) of `to`.
  void (*narrow)(const float* from, int64_t n, void* to, int64_t begin);
};

template <typename T>
void WidenRange(const void* from, int64_t begin, int64_t n, float* to) {
  WidenElements(static_cast<const T*>(from) + begin, n, to);
}
template <typename T>
void NarrowRange(const float* from, int64_t n, void* to, int64_t begin) {
  NarrowElements(from, n, static_cast<T*>(to) + begin);
}

template <typename T>
inline constexpr NarrowFormat kNarrowFormat = {&WidenRange<T>, &NarrowRange<T>};

// The conversions of T, or null when T is no 16-bit floating-point type.
template <typename T>
constexpr const NarrowFormat* NarrowFormatOf() {
  if constexpr (kIsNarrowFloat<T>) {
    return &kNarrowFormat<T>;
  } else {
    return nullptr;
  }
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_COMMON_NARROW_TILES_H_
