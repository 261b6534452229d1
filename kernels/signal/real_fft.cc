#include "kernels/signal/real_fft.h"

#include "kernels/signal/kept_plans.h"
#include "kernels/signal/lane_loop.h"
#include "kernels/signal/lane_pairs.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

// V is a number or a vector of numbers.
template <typename V>
struct Number {
  V re;
  V im;
};

// Elements of which x[k] and x[half - k] are the pairs, and the factors w[k] between them.
template <typename T>
struct PairData {
  int64_t half;
  int64_t lanes;
  Parts<T> x;
  const T* w_re;
  const T* w_im;
  T scale;
};

// With a = x[k] and b = conj(x[half - k]), x[k] becomes the sum of a + b and -i w[k] (a - b), and
// x[half - k] the conjugate of their difference, times `scale`. With the scale 1/2 that makes the
// transform of real numbers from that of their pairs, and with 1 it takes its conjugate back.
// W is a number or a V.
template <typename V, typename T, typename W>
inline void ReplacePair(T scale, Number<W> w, Number<V>* low, Number<V>* high) {
  const Number<V> a = *low;
  const Number<V> b = {high->re, -high->im};
  const V sum_re = scale * (a.re + b.re);
  const V sum_im = scale * (a.im + b.im);
  const V difference_re = scale * (a.re - b.re);
  const V difference_im = scale * (a.im - b.im);
  const V turned_re = w.re * difference_im + w.im * difference_re;
  const V turned_im = w.im * difference_im - w.re * difference_re;
  *low = {sum_re + turned_re, sum_im + turned_im};
  *high = {sum_re - turned_re, turned_im - sum_im};
}

template <typename V, typename T>
inline Number<V> LoadNumber(Parts<T> x, int64_t place) {
  return {LoadFrom<V>(x.re + place), LoadFrom<V>(x.im + place)};
}
template <typename V, typename T>
inline void StoreNumber(Number<V> number, Parts<T> x, int64_t place) {
  StoreTo<V>(x.re + place, number.re);
  StoreTo<V>(x.im + place, number.im);
}
template <typename T, typename V>
inline Number<V> Reversed(Number<V> number) {
  return {ReversedOf<T>(number.re), ReversedOf<T>(number.im)};
}

// The pairs k from 1 on with 2 k < half, of all lanes.
template <int kBytes, typename T>
inline void ReplaceInLanes(const PairData<T>& data) {
  for (int64_t k = 1; 2 * k < data.half; ++k) {
    const Number<T> w = {data.w_re[k], data.w_im[k]};
    ForLanes<T, kBytes>(0, data.lanes, [&](auto of, int64_t q) {
      using V = typename decltype(of)::Type;
      Number<V> low = LoadNumber<V>(data.x, k * data.lanes + q);
      Number<V> high = LoadNumber<V>(data.x, (data.half - k) * data.lanes + q);
      ReplacePair(data.scale, w, &low, &high);
      StoreNumber(low, data.x, k * data.lanes + q);
      StoreNumber(high, data.x, (data.half - k) * data.lanes + q);
    });
  }
}

// The same of a single sequence: several pairs at once.
template <int kBytes, typename T>
inline void ReplaceInSequence(const PairData<T>& data) {
  ForLanes<T, kBytes>(1, (data.half + 1) / 2, [&](auto of, int64_t k) {
    using V = typename decltype(of)::Type;
    const int64_t mirrored = data.half - k - NumbersIn<V, T>() + 1;
    const Number<V> w = {LoadFrom<V>(data.w_re + k), LoadFrom<V>(data.w_im + k)};
    Number<V> low = LoadNumber<V>(data.x, k);
    Number<V> high = Reversed<T>(LoadNumber<V>(data.x, mirrored));
    ReplacePair(data.scale, w, &low, &high);
    StoreNumber(low, data.x, k);
    StoreNumber(Reversed<T>(high), data.x, mirrored);
  });
}

// All pairs but the one of the first and the last element, and the middle one, whose w is -i.
template <typename T>
struct PairsOf {
  template <int kBytes>
  struct Loop {
    static void Run(const PairData<T>* pointer) {
      const PairData<T>& data = *pointer;
      if (data.lanes == 1) {
        ReplaceInSequence<kBytes>(data);
      } else {
        ReplaceInLanes<kBytes>(data);
      }
      if (data.half % 2 != 0) return;
      const T twice = 2 * data.scale;
      const int64_t middle = data.half / 2 * data.lanes;
      for (int64_t i = middle; i < middle + data.lanes; ++i) {
        data.x.re[i] *= twice;
        data.x.im[i] *= -twice;
      }
    }
  };
};

}  // namespace

template <typename T>
RealFft<T>::RealFft(int64_t n) : n_(n), half_(FftOfLength<T>(n / 2)) {
  for (int64_t k = 0; 4 * k < n; ++k) {
    double re = 0;
    double im = 0;
    RootOfOne(k, n, &re, &im);
    twiddle_re_.push_back(static_cast<T>(re));
    twiddle_im_.push_back(static_cast<T>(im));
  }
}

template <typename T>
Parts<T> RealFft<T>::Run(int64_t lanes, T* memory) const {
  const Parts<T> x = half_->Run(lanes, memory);
  const PairData<T> data = {n_ / 2, lanes, x, twiddle_re_.data(), twiddle_im_.data(), T(0.5)};
  RunVectorLoop<PairsOf<T>::template Loop>(&data);
  const int64_t last = n_ / 2 * lanes;
  for (int64_t q = 0; q < lanes; ++q) {
    x.re[last + q] = x.re[q] - x.im[q];
    x.im[last + q] = T(0);
    x.re[q] += x.im[q];
    x.im[q] = T(0);
  }
  return x;
}

template <typename T>
Parts<T> RealFft<T>::RunInverse(int64_t lanes, T* memory) const {
  const Parts<T> x = half_->Input(lanes, memory);
  const PairData<T> data = {n_ / 2, lanes, x, twiddle_re_.data(), twiddle_im_.data(), T(1)};
  RunVectorLoop<PairsOf<T>::template Loop>(&data);
  const int64_t last = n_ / 2 * lanes;
  for (int64_t q = 0; q < lanes; ++q) {
    x.im[q] = x.re[last + q] - x.re[q];
    x.re[q] += x.re[last + q];
  }
  return half_->Run(lanes, memory);
}

template <typename T>
std::shared_ptr<const RealFft<T>> RealFftOfLength(int64_t n) {
  return PlanOfLength<RealFft<T>>(n);
}

template class RealFft<float>;
template class RealFft<double>;
template std::shared_ptr<const RealFft<float>> RealFftOfLength<float>(int64_t n);
template std::shared_ptr<const RealFft<double>> RealFftOfLength<double>(int64_t n);

}  // namespace millstream::kernels
