#include "kernels/signal/fft.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/signal/kept_plans.h"
#include "kernels/signal/lane_loop.h"
#include "kernels/simd/instruction_set.h"
#include "kernels/simd/shuffle.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// Primes up to this one have a pass; longer ones cost more than Bluestein's way.
constexpr int64_t kLargestRadix = 23;

// ---- Passes ----
//
// A butterfly replaces x[j] by the sum over k of x[k] exp(-2 pi i j k / radix). V is a number or a
// vector of numbers T, one of each lane.

template <typename V>
struct Number {
  V re;
  V im;
};

template <typename V>
inline Number<V> operator+(Number<V> a, Number<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename V>
inline Number<V> operator-(Number<V> a, Number<V> b) {
  return {a.re - b.re, a.im - b.im};
}
template <typename T, typename V>
inline Number<V> operator*(T factor, Number<V> a) {
  return {factor * a.re, factor * a.im};
}
// a times -i.
template <typename V>
inline Number<V> Turned(Number<V> a) {
  return {a.im, -a.re};
}

template <int kRadix>
struct Butterfly;

template <>
struct Butterfly<2> {
  template <typename T, typename V>
  static inline void Run(Number<V>* x) {
    const Number<V> a = x[0];
    x[0] = a + x[1];
    x[1] = a - x[1];
  }
};

template <>
struct Butterfly<3> {
  template <typename T, typename V>
  static inline void Run(Number<V>* x) {
    constexpr T kSin = T(0.866025403784438646763723170752936183);  // of 2 pi / 3
    const Number<V> sum = x[1] + x[2];
    const Number<V> turned = Turned(kSin * (x[1] - x[2]));
    const Number<V> middle = x[0] - T(0.5) * sum;
    x[0] = x[0] + sum;
    x[1] = middle + turned;
    x[2] = middle - turned;
  }
};

template <>
struct Butterfly<4> {
  template <typename T, typename V>
  static inline void Run(Number<V>* x) {
    const Number<V> a = x[0] + x[2];
    const Number<V> b = x[0] - x[2];
    const Number<V> c = x[1] + x[3];
    const Number<V> d = Turned(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  }
};

template <>
struct Butterfly<5> {
  template <typename T, typename V>
  static inline void Run(Number<V>* x) {
    // Cosines and sines of 2 pi / 5 and 4 pi / 5.
    constexpr T kCos1 = T(0.309016994374947424102293417182819059);
    constexpr T kCos2 = T(-0.809016994374947424102293417182819059);
    constexpr T kSin1 = T(0.951056516295153572116439333379382143);
    constexpr T kSin2 = T(0.587785252292473129168705954639072769);
    const Number<V> a = x[1] + x[4];
    const Number<V> b = x[2] + x[3];
    const Number<V> c = x[1] - x[4];
    const Number<V> d = x[2] - x[3];
    const Number<V> first = x[0] + kCos1 * a + kCos2 * b;
    const Number<V> second = x[0] + kCos2 * a + kCos1 * b;
    const Number<V> first_turned = Turned(kSin1 * c + kSin2 * d);
    const Number<V> second_turned = Turned(kSin2 * c - kSin1 * d);
    x[0] = x[0] + a + b;
    x[1] = first + first_turned;
    x[2] = second + second_turned;
    x[3] = second - second_turned;
    x[4] = first - first_turned;
  }
};

template <>
struct Butterfly<8> {
  template <typename T, typename V>
  static inline void Run(Number<V>* x) {
    constexpr T kHalfRoot = T(0.707106781186547524400844362104849039);  // of 2
    Number<V> even[4] = {x[0] + x[4], x[1] + x[5], x[2] + x[6], x[3] + x[7]};
    Number<V> odd[4] = {x[0] - x[4], x[1] - x[5], Turned(x[2] - x[6]), x[3] - x[7]};
    // Turned by an eighth and by three eighths.
    odd[1] = kHalfRoot * (odd[1] + Turned(odd[1]));
    odd[3] = kHalfRoot * (Turned(odd[3]) - odd[3]);
    Butterfly<4>::template Run<T>(even);
    Butterfly<4>::template Run<T>(odd);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      x[2 * j] = even[j];
      x[2 * j + 1] = odd[j];
    }
  }
};

// What one pass reads and writes. `lanes` elements that belong together are neighbours.
template <typename T>
struct PassData {
  const FftPass<T>* pass;
  int64_t lanes;
  const T* x_re;
  const T* x_im;
  T* y_re;
  T* y_im;
};

// The lanes that V has of element p of the results, whose twiddles are `re` and `im`. Those of
// element 0 are 1, and are left out.
template <int kRadix, bool kTwiddles, typename V, typename T>
inline void RunLanes(const PassData<T>& data, int64_t from, int64_t step, int64_t to, const T* re,
                     const T* im) {
  Number<V> x[kRadix];
#pragma GCC unroll 8
  for (int k = 0; k < kRadix; ++k) {
    x[k].re = LoadFrom<V>(data.x_re + from + k * step);
    x[k].im = LoadFrom<V>(data.x_im + from + k * step);
  }
  Butterfly<kRadix>::template Run<T>(x);
#pragma GCC unroll 8
  for (int j = 0; j < kRadix; ++j) {
    T* const y_re = data.y_re + to + j * data.lanes;
    T* const y_im = data.y_im + to + j * data.lanes;
    if (!kTwiddles || j == 0) {
      StoreTo<V>(y_re, x[j].re);
      StoreTo<V>(y_im, x[j].im);
    } else {
      StoreTo<V>(y_re, re[j] * x[j].re - im[j] * x[j].im);
      StoreTo<V>(y_im, im[j] * x[j].re + re[j] * x[j].im);
    }
  }
}

// Of a single sequence, elements p to p + those of V: neighbours that have twiddles of their own.
template <int kRadix, typename V, typename T>
inline void RunNeighbours(const PassData<T>& data, int64_t p) {
  constexpr int64_t kCount = NumbersIn<V, T>();
  const int64_t rest = data.pass->rest;
  Number<V> x[kRadix];
#pragma GCC unroll 8
  for (int k = 0; k < kRadix; ++k) {
    x[k].re = LoadFrom<V>(data.x_re + p + k * rest);
    x[k].im = LoadFrom<V>(data.x_im + p + k * rest);
  }
  Butterfly<kRadix>::template Run<T>(x);
  V re[kRadix] = {x[0].re};
  V im[kRadix] = {x[0].im};
#pragma GCC unroll 8
  for (int j = 1; j < kRadix; ++j) {
    const V w_re = LoadFrom<V>(data.pass->twiddle_re.data() + (j - 1) * rest + p);
    const V w_im = LoadFrom<V>(data.pass->twiddle_im.data() + (j - 1) * rest + p);
    re[j] = w_re * x[j].re - w_im * x[j].im;
    im[j] = w_im * x[j].re + w_re * x[j].im;
  }
  Shuffle<V, T>::template InterleaveAll<kRadix>(re);
  Shuffle<V, T>::template InterleaveAll<kRadix>(im);
#pragma GCC unroll 8
  for (int i = 0; i < kRadix; ++i) {
    StoreTo<V>(data.y_re + p * kRadix + i * kCount, re[i]);
    StoreTo<V>(data.y_im + p * kRadix + i * kCount, im[i]);
  }
}

// The first elements of a single sequence by vectors; returns how many they are. The bits are those
// of the loop over lanes.
template <int kRadix, int kBytes, typename T>
inline int64_t RunSingle(const PassData<T>& data) {
  constexpr int64_t kStep = kLanes<T, kBytes>;
  const int64_t end = data.pass->rest / kStep * kStep;
  for (int64_t p = 0; p < end; p += kStep) RunNeighbours<kRadix, Vector<T, kBytes>>(data, p);
  return end;
}

template <int kRadix, int kBytes, typename T>
inline void RunRadix(const PassData<T>& data) {
  const int64_t rest = data.pass->rest;
  const int64_t step = rest * data.lanes;
  int64_t begin = 1;
  if constexpr ((kRadix & (kRadix - 1)) == 0) {
    if (data.lanes == 1) begin = std::max<int64_t>(1, RunSingle<kRadix, kBytes>(data));
  }
  ForLanes<T, kBytes>(0, data.lanes, [&](auto of, int64_t q) {
    using V = typename decltype(of)::Type;
    RunLanes<kRadix, false, V, T>(data, q, step, q, nullptr, nullptr);
  });
  for (int64_t p = begin; p < rest; ++p) {
    T re[kRadix] = {};
    T im[kRadix] = {};
#pragma GCC unroll 8
    for (int j = 1; j < kRadix; ++j) {
      re[j] = data.pass->twiddle_re[(j - 1) * rest + p];
      im[j] = data.pass->twiddle_im[(j - 1) * rest + p];
    }
    const int64_t from = p * data.lanes;
    const int64_t to = from * kRadix;
    ForLanes<T, kBytes>(0, data.lanes, [&](auto of, int64_t q) {
      using V = typename decltype(of)::Type;
      RunLanes<kRadix, true, V, T>(data, from + q, step, to + q, re, im);
    });
  }
}

// y += x times w
template <typename T>
inline void AddMultiple(int64_t n, const T* x_re, const T* x_im, T w_re, T w_im, T* __restrict y_re,
                        T* __restrict y_im) {
  for (int64_t q = 0; q < n; ++q) {
    y_re[q] += x_re[q] * w_re - x_im[q] * w_im;
    y_im[q] += x_re[q] * w_im + x_im[q] * w_re;
  }
}

// y *= w
template <typename T>
inline void Multiply(int64_t n, T w_re, T w_im, T* __restrict y_re, T* __restrict y_im) {
  for (int64_t q = 0; q < n; ++q) {
    const T re = y_re[q];
    y_re[q] = re * w_re - y_im[q] * w_im;
    y_im[q] = re * w_im + y_im[q] * w_re;
  }
}

// Any radix, by its definition.
template <typename T>
inline void RunAnyRadix(const PassData<T>& data) {
  const FftPass<T>& pass = *data.pass;
  const int64_t lanes = data.lanes;
  const int64_t step = pass.rest * lanes;
  for (int64_t p = 0; p < pass.rest; ++p) {
    for (int64_t j = 0; j < pass.radix; ++j) {
      const int64_t from = p * lanes;
      T* const y_re = data.y_re + (p * pass.radix + j) * lanes;
      T* const y_im = data.y_im + (p * pass.radix + j) * lanes;
      std::copy_n(data.x_re + from, lanes, y_re);
      std::copy_n(data.x_im + from, lanes, y_im);
      for (int64_t k = 1; k < pass.radix; ++k) {
        const int64_t root = j * k % pass.radix;
        AddMultiple(lanes, data.x_re + from + k * step, data.x_im + from + k * step,
                    pass.root_re[root], pass.root_im[root], y_re, y_im);
      }
      if (j == 0) continue;
      const int64_t twiddle = (j - 1) * pass.rest + p;
      Multiply(lanes, pass.twiddle_re[twiddle], pass.twiddle_im[twiddle], y_re, y_im);
    }
  }
}

template <typename T>
struct PassOf {
  template <int kBytes>
  struct Loop {
    static void Run(const PassData<T>* data) {
      switch (data->pass->radix) {
        case 2: return RunRadix<2, kBytes>(*data);
        case 3: return RunRadix<3, kBytes>(*data);
        case 4: return RunRadix<4, kBytes>(*data);
        case 5: return RunRadix<5, kBytes>(*data);
        case 8: return RunRadix<8, kBytes>(*data);
        default: return RunAnyRadix(*data);
      }
    }
  };
};

// ---- Plans ----

// The radices of the passes, or nothing where one of them is too large.
std::vector<int64_t> RadicesOf(int64_t n) {
  std::vector<int64_t> radices;
  // As few passes as there can be: 16 is left for two passes of 4, rather than of 8 and 2.
  int twos = 0;
  for (int64_t odd = n; odd % 2 == 0; odd /= 2) ++twos;
  for (; twos >= 3 && twos != 4; twos -= 3, n /= 8) radices.push_back(8);
  for (int64_t radix : {4, 2, 3, 5}) {
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  }
  for (int64_t radix = 7; radix <= kLargestRadix && n > 1; radix += 2) {
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  }
  if (n > 1) radices.clear();
  return radices;
}

bool HasButterfly(int64_t radix) { return radix <= 5 || radix == 8; }

template <typename T>
FftPass<T> MakePass(int64_t radix, int64_t rest) {
  FftPass<T> pass{radix, rest, {}, {}, {}, {}};
  double re = 0;
  double im = 0;
  for (int64_t j = 1; j < radix; ++j) {
    for (int64_t p = 0; p < rest; ++p) {
      RootOfOne(p * j, radix * rest, &re, &im);
      pass.twiddle_re.push_back(static_cast<T>(re));
      pass.twiddle_im.push_back(static_cast<T>(im));
    }
  }
  if (HasButterfly(radix)) return pass;
  for (int64_t j = 0; j < radix; ++j) {
    RootOfOne(j, radix, &re, &im);
    pass.root_re.push_back(static_cast<T>(re));
    pass.root_im.push_back(static_cast<T>(im));
  }
  return pass;
}

}  // namespace

void RootOfOne(int64_t k, int64_t n, double* re, double* im) {
  // Within an eighth of the circle sines and cosines are exact to the last place: the rest follows
  // by reflections. The angle is 2 pi k / (8 n).
  constexpr double kPi = 3.14159265358979323846;
  k *= 8;
  const bool below = k <= 4 * n;
  if (!below) k = 8 * n - k;
  const bool left = k > 2 * n;
  if (left) k = 4 * n - k;
  const bool steep = k > n;
  if (steep) k = 2 * n - k;
  const double angle = kPi * static_cast<double>(k) / static_cast<double>(4 * n);
  double x = std::cos(angle);
  double y = std::sin(angle);
  if (steep) std::swap(x, y);
  *re = left ? -x : x;
  *im = below ? -y : y;
}

template <typename T>
Fft<T>::Fft(int64_t n) : n_(n) {
  const std::vector<int64_t> radices = RadicesOf(n);
  int64_t rest = n;
  for (int64_t radix : radices) {
    rest /= radix;
    passes_.push_back(MakePass<T>(radix, rest));
  }
  if (n == 1 || !radices.empty()) return;

  int64_t longer = 1;
  while (longer < 2 * n - 1) longer *= 2;
  padded_ = std::make_unique<const Fft>(longer);
  chirp_re_.resize(static_cast<size_t>(n));
  chirp_im_.resize(static_cast<size_t>(n));
  std::vector<T> memory(static_cast<size_t>(padded_->MemorySize(1)));
  const Parts<T> filter = padded_->Input(1, memory.data());
  std::fill(memory.begin(), memory.end(), T(0));
  int64_t square = 0;  // j * j modulo 2 n
  for (int64_t j = 0; j < n; ++j) {
    double re = 0;
    double im = 0;
    RootOfOne(square, 2 * n, &re, &im);
    square = (square + 2 * j + 1) % (2 * n);
    chirp_re_[j] = static_cast<T>(re);
    chirp_im_[j] = static_cast<T>(im);
    for (int64_t place : {j, (longer - j) % longer}) {
      filter.re[place] = static_cast<T>(re);
      filter.im[place] = static_cast<T>(-im);
    }
  }
  const Parts<T> transformed = padded_->Run(1, memory.data());
  const T scale = T(1) / static_cast<T>(longer);
  for (int64_t k = 0; k < longer; ++k) {
    filter_re_.push_back(transformed.re[k] * scale);
    filter_im_.push_back(transformed.im[k] * scale);
  }
}

template <typename T>
Parts<T> Fft<T>::Input(int64_t lanes, T* memory) const {
  return {memory, memory + ArraySize(lanes)};
}

template <typename T>
Parts<T> Fft<T>::Run(int64_t lanes, T* memory) const {
  if (padded_ != nullptr) return RunPadded(lanes, memory);
  const int64_t size = ArraySize(lanes);
  Parts<T> from = {memory, memory + size};
  Parts<T> to = {memory + 2 * size, memory + 3 * size};
  for (const FftPass<T>& pass : passes_) {
    const PassData<T> data = {
        &pass, lanes * (n_ / (pass.radix * pass.rest)), from.re, from.im, to.re, to.im};
    RunVectorLoop<PassOf<T>::template Loop>(&data);
    std::swap(from, to);
  }
  return from;
}

// The convolution of x times the chirp with the conjugate of the chirp, times the chirp. A
// transform backwards is that of the conjugate, conjugated.
template <typename T>
Parts<T> Fft<T>::RunPadded(int64_t lanes, T* memory) const {
  const int64_t longer = padded_->n_;
  const Parts<T> x = padded_->Input(lanes, memory);
  for (int64_t j = 0; j < n_; ++j) {
    Multiply(lanes, chirp_re_[j], chirp_im_[j], x.re + j * lanes, x.im + j * lanes);
  }
  std::fill(x.re + n_ * lanes, x.re + longer * lanes, T(0));
  std::fill(x.im + n_ * lanes, x.im + longer * lanes, T(0));
  const Parts<T> found = padded_->Run(lanes, memory);
  // Products go where a second transform reads them, which may be where they are.
  for (int64_t k = 0; k < longer; ++k) {
    T* const re = found.re + k * lanes;
    T* const im = found.im + k * lanes;
    Multiply(lanes, filter_re_[k], filter_im_[k], re, im);
    for (int64_t q = 0; q < lanes; ++q) im[q] = -im[q];
  }
  if (found.re != x.re) {
    std::copy_n(found.re, longer * lanes, x.re);
    std::copy_n(found.im, longer * lanes, x.im);
  }
  const Parts<T> sums = padded_->Run(lanes, memory);
  for (int64_t k = 0; k < n_; ++k) {
    T* const re = sums.re + k * lanes;
    T* const im = sums.im + k * lanes;
    for (int64_t q = 0; q < lanes; ++q) im[q] = -im[q];
    Multiply(lanes, chirp_re_[k], chirp_im_[k], re, im);
  }
  return sums;
}

template <typename T>
std::shared_ptr<const Fft<T>> FftOfLength(int64_t n) {
  return PlanOfLength<Fft<T>>(n);
}

template class Fft<float>;
template class Fft<double>;
template std::shared_ptr<const Fft<float>> FftOfLength<float>(int64_t n);
template std::shared_ptr<const Fft<double>> FftOfLength<double>(int64_t n);

}  // namespace millstream::kernels
