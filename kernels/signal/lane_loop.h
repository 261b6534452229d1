// Loops over lanes (fft.h) by the widest vectors that there are enough of them for.
#ifndef MILLSTREAM_KERNELS_SIGNAL_LANE_LOOP_H_
#define MILLSTREAM_KERNELS_SIGNAL_LANE_LOOP_H_

#include <cstdint>
#include <cstring>

#include "kernels/simd/vector.h"

namespace millstream::kernels {

// A type as an argument: a number T or a vector of such.
template <typename V>
struct Of {
  using Type = V;
};

// How many numbers T a vector V has; 1 where V is T itself.
template <typename V, typename T>
constexpr int64_t NumbersIn() {
  constexpr int64_t kBytes = sizeof(V);
  return kBytes / static_cast<int64_t>(sizeof(T));
}

// Calls fn(Of<V>(), q) for all vectors of lanes [q, q + those of V) from `begin` to `end`: vectors
// of kBytes, then one of each narrower kind at most, then numbers.
template <typename T, int kBytes, typename Fn>
inline void ForLanes(int64_t begin, int64_t end, const Fn& fn) {
  constexpr int64_t kStep = kLanes<T, kBytes>;
  int64_t q = begin;
  for (; q + kStep <= end; q += kStep) fn(Of<Vector<T, kBytes>>(), q);
  if constexpr (kBytes > 16) {
    ForLanes<T, kBytes / 2>(q, end, fn);
  } else {
    for (; q < end; ++q) fn(Of<T>(), q);
  }
}

template <typename V, typename T>
inline V LoadFrom(const T* address) {
  V value;
  std::memcpy(&value, address, sizeof(value));
  return value;
}
template <typename V, typename T>
inline void StoreTo(T* address, V value) {
  std::memcpy(address, &value, sizeof(value));
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SIGNAL_LANE_LOOP_H_
