// Complex numbers that are neighbours, real parts first, as vectors of real and of imaginary parts.
// V is a number T, or a vector of such.
#ifndef MILLSTREAM_KERNELS_SIGNAL_LANE_PAIRS_H_
#define MILLSTREAM_KERNELS_SIGNAL_LANE_PAIRS_H_

#include <cstdint>

#include "kernels/signal/lane_loop.h"
#include "kernels/simd/shuffle.h"

namespace millstream::kernels {

// The numbers of V from the last to the first; of a number, itself.
template <typename T, typename V>
inline V ReversedOf(V a) {
  if constexpr (sizeof(V) == sizeof(T)) {
    return a;
  } else {
    return Shuffle<V, T>::Reverse(a);
  }
}

// As many complex numbers as V has numbers.
template <typename V, typename T>
inline void LoadPairs(const T* values, V* re, V* im) {
  constexpr int64_t kCount = NumbersIn<V, T>();
  if constexpr (kCount == 1) {
    *re = values[0];
    *im = values[1];
  } else {
    Shuffle<V, T>::Separate(LoadFrom<V>(values), LoadFrom<V>(values + kCount), re, im);
  }
}
template <typename V, typename T>
inline void StorePairs(V re, V im, T* values) {
  constexpr int64_t kCount = NumbersIn<V, T>();
  if constexpr (kCount == 1) {
    values[0] = re;
    values[1] = im;
  } else {
    V first;
    V second;
    Shuffle<V, T>::Interleave(re, im, &first, &second);
    StoreTo<V>(values, first);
    StoreTo<V>(values + kCount, second);
  }
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SIGNAL_LANE_PAIRS_H_
