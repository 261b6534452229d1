#include "kernels/signal/real_fft.h"

#include "kernels/signal/kept_plans.h"
#include "kernels/signal/lane_loop.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

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
template <typename V, typename T>
inline void ReplacePair(const PairData<T>& data, int64_t low, int64_t high, T w_re, T w_im) {
  const V a_re = LoadFrom<V>(data.x.re + low);
  const V a_im = LoadFrom<V>(data.x.im + low);
  const V b_re = LoadFrom<V>(data.x.re + high);
  const V b_im = -LoadFrom<V>(data.x.im + high);
  const V sum_re = data.scale * (a_re + b_re);
  const V sum_im = data.scale * (a_im + b_im);
  const V difference_re = data.scale * (a_re - b_re);
  const V difference_im = data.scale * (a_im - b_im);
  const V turned_re = w_re * difference_im + w_im * difference_re;
  const V turned_im = w_im * difference_im - w_re * difference_re;
  StoreTo<V>(data.x.re + low, sum_re + turned_re);
  StoreTo<V>(data.x.im + low, sum_im + turned_im);
  StoreTo<V>(data.x.re + high, sum_re - turned_re);
  StoreTo<V>(data.x.im + high, turned_im - sum_im);
}

// All pairs but the one of the first and the last element, and the middle one, whose w is -i.
template <typename T>
struct PairsOf {
  template <int kBytes>
  struct Loop {
    static void Run(const PairData<T>* pointer) {
      const PairData<T>& data = *pointer;
      for (int64_t k = 1; 2 * k < data.half; ++k) {
        const int64_t low = k * data.lanes;
        const int64_t high = (data.half - k) * data.lanes;
        ForLanes<T, kBytes>(0, data.lanes, [&](auto of, int64_t q) {
          using V = typename decltype(of)::Type;
          ReplacePair<V>(data, low + q, high + q, data.w_re[k], data.w_im[k]);
        });
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
