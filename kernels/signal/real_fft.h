// Discrete Fourier transforms of real numbers, of an even length n: a real sequence x is read as
// n / 2 complex numbers x[2 j] + i x[2 j + 1], whose transform determines that of x (J. Cooley,
// P. Lewis, P. Welch: The Fast Fourier Transform Algorithm: Programming Considerations in the
// Calculation of Sine, Cosine and Laplace Transforms, 1970).
#ifndef MILLSTREAM_KERNELS_SIGNAL_REAL_FFT_H_
#define MILLSTREAM_KERNELS_SIGNAL_REAL_FFT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/signal/fft.h"

namespace millstream::kernels {

// T is float or double. Lanes, memory and parts are as in Fft.
template <typename T>
class RealFft {
 public:
  // REQUIRES: n >= 2, and n is even.
  explicit RealFft(int64_t n);

  int64_t size() const { return n_; }
  int64_t MemorySize(int64_t lanes) const { return half_->MemorySize(lanes); }
  Parts<T> Input(int64_t lanes, T* memory) const { return half_->Input(lanes, memory); }
  // From n / 2 pairs of real numbers to elements 0 to n / 2 of their transform.
  Parts<T> Run(int64_t lanes, T* memory) const;
  // From conjugates of elements 0 to n / 2, of which the first and the last count as real, to n
  // times the n / 2 pairs of real numbers, conjugated. The input is changed.
  Parts<T> RunInverse(int64_t lanes, T* memory) const;

 private:
  const int64_t n_;
  const std::shared_ptr<const Fft<T>> half_;
  // exp(-2 pi i k / n) for k < n / 4.
  std::vector<T> twiddle_re_, twiddle_im_;
};

// A plan for the length, which may be one that is kept from an earlier call.
template <typename T>
std::shared_ptr<const RealFft<T>> RealFftOfLength(int64_t n);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SIGNAL_REAL_FFT_H_
