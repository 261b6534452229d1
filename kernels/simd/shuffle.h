// How numbers change places between vectors (vector.h).
#ifndef MILLSTREAM_KERNELS_SIMD_SHUFFLE_H_
#define MILLSTREAM_KERNELS_SIMD_SHUFFLE_H_

#include <utility>

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

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SIMD_SHUFFLE_H_
