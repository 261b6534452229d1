// How numbers change places between vectors.
#ifndef MILLSTREAM_KERNELS_SIGNAL_SHUFFLE_H_
#define MILLSTREAM_KERNELS_SIGNAL_SHUFFLE_H_

#include <cstdint>
#include <utility>

#include "kernels/signal/lane_loop.h"

namespace millstream::kernels {

template <typename V, int... kPlaces>
inline V TakeFirstHalves(V a, V b, std::integer_sequence<int, kPlaces...>) {
  constexpr int kCount = sizeof...(kPlaces);
  return __builtin_shufflevector(a, b, (kPlaces / 2 + kPlaces % 2 * kCount)...);
}
template <typename V, int... kPlaces>
inline V TakeSecondHalves(V a, V b, std::integer_sequence<int, kPlaces...>) {
  constexpr int kCount = sizeof...(kPlaces);
  return __builtin_shufflevector(a, b, (kPlaces / 2 + kCount / 2 + kPlaces % 2 * kCount)...);
}
template <typename V, int... kPlaces>
inline V TakeEven(V a, V b, std::integer_sequence<int, kPlaces...>) {
  return __builtin_shufflevector(a, b, (2 * kPlaces)...);
}
template <typename V, int... kPlaces>
inline V TakeOdd(V a, V b, std::integer_sequence<int, kPlaces...>) {
  return __builtin_shufflevector(a, b, (2 * kPlaces + 1)...);
}
template <typename V, int... kPlaces>
inline V TakeReversed(V a, std::integer_sequence<int, kPlaces...>) {
  constexpr int kCount = sizeof...(kPlaces);
  return __builtin_shufflevector(a, a, (kCount - 1 - kPlaces)...);
}

// Of vectors of T.
template <typename V, typename T>
struct Shuffle {
  static constexpr int kCount = static_cast<int>(sizeof(V) / sizeof(T));
  using Places = std::make_integer_sequence<int, kCount>;

  // a0 b0 a1 b1 ...
  static inline void Interleave(V a, V b, V* first, V* second) {
    *first = TakeFirstHalves(a, b, Places());
    *second = TakeSecondHalves(a, b, Places());
  }
  static inline void Separate(V first, V second, V* a, V* b) {
    *a = TakeEven(first, second, Places());
    *b = TakeOdd(first, second, Places());
  }
  static inline V Reverse(V a) { return TakeReversed(a, Places()); }

  // The first numbers of all rows, the second ones of all rows, and so on, one after the other:
  // rows become columns. Each stage interleaves row i with the one half of the rows further on.
  // REQUIRES: kRows is a power of two, at most 16.
  template <int kRows>
  static inline void InterleaveAll(V* rows) {
#pragma GCC unroll 4
    for (int stage = 1; stage < kRows; stage *= 2) {
      V found[kRows];
#pragma GCC unroll 8
      for (int i = 0; i < kRows / 2; ++i) {
        Interleave(rows[i], rows[i + kRows / 2], &found[2 * i], &found[2 * i + 1]);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) rows[i] = found[i];
    }
  }
};

// The numbers of V from the last to the first; of a number, itself.
template <typename T, typename V>
inline V ReversedOf(V a) {
  if constexpr (sizeof(V) == sizeof(T)) {
    return a;
  } else {
    return Shuffle<V, T>::Reverse(a);
  }
}

// Complex numbers that are neighbours, real parts first: as many as V has numbers.
template <typename V, typename T>
inline void LoadPairs(const T* values, V* re, V* im) {
  constexpr int64_t kCount = sizeof(V) / sizeof(T);
  if constexpr (kCount == 1) {
    *re = values[0];
    *im = values[1];
  } else {
    Shuffle<V, T>::Separate(LoadFrom<V>(values), LoadFrom<V>(values + kCount), re, im);
  }
}
template <typename V, typename T>
inline void StorePairs(V re, V im, T* values) {
  constexpr int64_t kCount = sizeof(V) / sizeof(T);
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

#endif  // MILLSTREAM_KERNELS_SIGNAL_SHUFFLE_H_
