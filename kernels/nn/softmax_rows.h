// Passes over one row of logits, shared by the softmax kernels. Sums run in blocks whose cut
// depends on the length alone.
#ifndef MILLSTREAM_KERNELS_NN_SOFTMAX_ROWS_H_
#define MILLSTREAM_KERNELS_NN_SOFTMAX_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/nn/exponential.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {

// What one element of a softmax row costs, in picoseconds (see ParallelRows).
inline constexpr int64_t kSoftmaxPicoseconds = 1500;

// Sums inside a block stay in the type, over blocks they are in double: the error of a long row is
// that of one block.
inline constexpr int64_t kSumBlock = 2048;

// Calls full(j) for each whole vector that starts at j of [begin, end), then rest(j, count) for the
// remaining count < kLanes elements, if any.
template <typename T, int kBytes, typename Full, typename Rest>
inline void ForEachVector(int64_t begin, int64_t end, Full&& full, Rest&& rest) {
  int64_t j = begin;
  for (; j + kLanes<T, kBytes> <= end; j += kLanes<T, kBytes>) full(j);
  if (j < end) rest(j, static_cast<int>(end - j));
}

// `count` elements, the other lanes `fill`.
template <int kBytes, typename T>
inline Vector<T, kBytes> LoadSome(const T* address, int count, T fill) {
  Vector<T, kBytes> vector = Broadcast<kBytes>(fill);
  for (int lane = 0; lane < count; ++lane) vector[lane] = address[lane];
  return vector;
}
template <typename V, typename T>
inline void StoreSome(V vector, T* address, int count) {
  for (int lane = 0; lane < count; ++lane) address[lane] = vector[lane];
}
template <typename T, int kBytes, int kVectors>
inline T SumOfLanes(const Vector<T, kBytes> (&vectors)[kVectors]) {
  constexpr int kEach = kLanes<T, kBytes>;
  T lanes[kVectors * kEach];
  for (int v = 0; v < kVectors; ++v) Store(vectors[v], lanes + v * kEach);
  for (int half = kVectors * kEach / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

// The largest of n elements that is no NaN; -infinity when there is none.
template <int kBytes, typename T>
T RowMax(const T* x, int64_t n) {
  const T least = -std::numeric_limits<T>::infinity();
  Vector<T, kBytes> largest = Broadcast<kBytes>(T(0)) + least;
  ForEachVector<T, kBytes>(
      0, n,
      [&](int64_t j) {
        const Vector<T, kBytes> v = Load<kBytes>(x + j);
        largest = v > largest ? v : largest;
      },
      [&](int64_t j, int count) {
        const Vector<T, kBytes> v = LoadSome<kBytes>(x + j, count, least);
        largest = v > largest ? v : largest;
      });
  T result = largest[0];
  for (int lane = 1; lane < kLanes<T, kBytes>; ++lane) result = std::max(result, T(largest[lane]));
  return result;
}

// The sum of exp(x - shift). The exponentials themselves go to `out` where it is not null; it may
// be x.
template <int kBytes, typename T>
double RowExpSum(const T* x, T shift, int64_t n, T* out) {
  // Partial sums of 64 bytes whatever the machine's vectors are, so that the result does not depend
  // on them.
  using Lanes = Vector<T, kBytes>;
  constexpr int64_t kEach = kLanes<T, kBytes>;
  constexpr int kVectors = 64 / kBytes;
  constexpr int64_t kAllLanes = kVectors * kEach;
  const T minus_infinity = -std::numeric_limits<T>::infinity();
  const auto exp_of = [&](int64_t j) {
    const Lanes e = ExpOf<T, kBytes>(Load<kBytes>(x + j) - shift);
    if (out != nullptr) Store(e, out + j);
    return e;
  };
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kSumBlock) {
    const int64_t end = std::min(n, begin + kSumBlock);
    Lanes sums[kVectors] = {};
    int64_t j = begin;
    for (; j + kAllLanes <= end; j += kAllLanes) {
      for (int v = 0; v < kVectors; ++v) sums[v] += exp_of(j + v * kEach);
    }
    for (int v = 0; v < kVectors && j < end; ++v, j += kEach) {
      const int count = static_cast<int>(std::min<int64_t>(end - j, kEach));
      if (count == kEach) {
        sums[v] += exp_of(j);
      } else {
        // Lanes beyond the row give 0, or NaN where the row's sum is NaN anyway.
        const Lanes e = ExpOf<T, kBytes>(LoadSome<kBytes>(x + j, count, minus_infinity) - shift);
        if (out != nullptr) StoreSome(e, out + j, count);
        sums[v] += e;
      }
    }
    total += static_cast<double>(SumOfLanes<T, kBytes>(sums));
  }
  return total;
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_SOFTMAX_ROWS_H_
