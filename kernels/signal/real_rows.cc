#include "kernels/signal/real_rows.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/signal/lane_loop.h"
#include "kernels/signal/lane_pairs.h"
#include "kernels/simd/instruction_set.h"
#include "kernels/simd/shuffle.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// Floating-point numbers as unsigned ones of the same size. A comparison of the former by vectors
// of 64 bytes is made one number after the other by GCC 12.
template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
// All bits but the sign's: those of a zero are none.
template <typename T>
constexpr BitsOf<T> kSizeBits = ~BitsOf<T>{0} >> 1;

// As many pairs as V has numbers, of twice as many complex numbers. Adds the bits that imaginary
// parts have to `seen`.
template <typename V, typename Bits, typename T>
inline void LoadPairsOfReal(const T* row, T* x_re, T* x_im, Bits* seen) {
  constexpr int64_t kCount = NumbersIn<V, T>();
  V re[2];
  V im[2];
  LoadPairs<V>(row, &re[0], &im[0]);
  LoadPairs<V>(row + 2 * kCount, &re[1], &im[1]);
  V even;
  V odd;
  Shuffle<V, T>::Separate(re[0], re[1], &even, &odd);
  StoreTo<V>(x_re, even);
  StoreTo<V>(x_im, odd);
  *seen |= LoadFrom<Bits>(&im[0]) | LoadFrom<Bits>(&im[1]);
}

template <typename T>
struct RealRowsOf {
  template <int kBytes>
  struct Load {
    static bool Run(const T* row, int64_t pairs, Parts<T> x) {
      using V = Vector<T, kBytes>;
      using Bits = Vector<BitsOf<T>, kBytes>;
      constexpr int64_t kCount = kLanes<T, kBytes>;
      // Few rows that are not real begin with many real numbers.
      constexpr int64_t kBlock = 16 * kCount;
      const int64_t whole = pairs / kCount * kCount;
      int64_t j = 0;
      while (j < whole) {
        const int64_t end = std::min(whole, j == 0 ? kCount : j + kBlock);
        Bits seen = {};
        for (; j < end; j += kCount) {
          LoadPairsOfReal<V>(row + 4 * j, x.re + j, x.im + j, &seen);
        }
        if (AnyOf(seen & kSizeBits<T>)) return false;
      }
      for (; j < pairs; ++j) {
        if (row[4 * j + 1] != T(0) || row[4 * j + 3] != T(0)) return false;
        x.re[j] = row[4 * j];
        x.im[j] = row[4 * j + 2];
      }
      return true;
    }
  };
  template <int kBytes>
  struct Store {
    static void Run(Parts<T> y, int64_t n, T scale_re, T scale_im, T* row) {
      // Both halves begin with whole vectors: what is mirrored is read one number further on.
      ForLanes<T, kBytes>(0, n / 2, [&](auto of, int64_t k) {
        using V = typename decltype(of)::Type;
        constexpr int64_t kCount = NumbersIn<V, T>();
        StorePairs<V>(scale_re * LoadFrom<V>(y.re + k), scale_im * LoadFrom<V>(y.im + k),
                      row + 2 * k);
        const V re = scale_re * LoadFrom<V>(y.re + k + 1);
        const V im = -scale_im * LoadFrom<V>(y.im + k + 1);
        StorePairs<V>(ReversedOf<T>(re), ReversedOf<T>(im), row + 2 * (n - k - kCount));
      });
      row[n + 1] = scale_im * y.im[n / 2];  // number n / 2 is its own mirror image
    }
  };
};

}  // namespace

template <typename T>
bool LoadRealRow(const T* row, int64_t n, Parts<T> x) {
  return RunVectorLoop<RealRowsOf<T>::template Load>(row, n / 2, x);
}

template <typename T>
void StoreMirroredRow(Parts<T> y, int64_t n, T scale_re, T scale_im, T* row) {
  RunVectorLoop<RealRowsOf<T>::template Store>(y, n, scale_re, scale_im, row);
}

template bool LoadRealRow(const float*, int64_t, Parts<float>);
template bool LoadRealRow(const double*, int64_t, Parts<double>);
template void StoreMirroredRow(Parts<float>, int64_t, float, float, float*);
template void StoreMirroredRow(Parts<double>, int64_t, double, double, double*);

}  // namespace millstream::kernels
