// Discrete Fourier transforms of one dimension: y[k] is the sum of x[j] exp(-2 pi i j k / n).
//
// A length whose prime factors are small is transformed by one pass a factor (T. Stockham:
// High-Speed Convolution and Correlation, 1966; a factor of 4 or 8 counts as one). Any other
// becomes a convolution of a length that is a power of two (L. Bluestein: A Linear Filtering
// Approach to the Computation of Discrete Fourier Transform, 1970).
//
// Several sequences, the lanes, are transformed at once. Real and imaginary parts are in two
// arrays, in which element j of lane l is at j * lanes + l, so that all loops but those of the
// first passes of a single sequence are loops over neighbours.
#ifndef MILLSTREAM_KERNELS_SIGNAL_FFT_H_
#define MILLSTREAM_KERNELS_SIGNAL_FFT_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace millstream::kernels {

// Real and imaginary parts.
template <typename T>
struct Parts {
  T* re;
  T* im;
};

// One pass: sequences of radix * rest elements become radix times as many ones of `rest` elements.
template <typename T>
struct FftPass {
  int64_t radix;
  int64_t rest;
  // exp(-2 pi i p j / (radix * rest)) at (j - 1) * rest + p, of 0 < j < radix and p < rest.
  std::vector<T> twiddle_re;
  std::vector<T> twiddle_im;
  // exp(-2 pi i j / radix), for radices without a butterfly of their own.
  std::vector<T> root_re;
  std::vector<T> root_im;
};

// T is float or double.
template <typename T>
class Fft {
 public:
  // REQUIRES: n >= 1.
  explicit Fft(int64_t n);

  int64_t size() const { return n_; }
  // Of how many T the memory of Run is. Each of its arrays has room for n + 1 elements.
  int64_t MemorySize(int64_t lanes) const { return 4 * ArraySize(lanes); }
  // Where the caller puts the lanes before Run.
  Parts<T> Input(int64_t lanes, T* memory) const;
  // Transforms the lanes, and says where the results are in the memory.
  Parts<T> Run(int64_t lanes, T* memory) const;

 private:
  // Of one array of parts, with room for one element more than the length (real_fft.h). With that
  // and the cache line between them, elements that a pass reads together do not compete for one
  // place of the cache where lengths are powers of two.
  int64_t ArraySize(int64_t lanes) const {
    return (PaddedSize() + 1) * lanes + 64 / static_cast<int64_t>(sizeof(T));
  }
  int64_t PaddedSize() const { return padded_ == nullptr ? n_ : padded_->n_; }
  Parts<T> RunPadded(int64_t lanes, T* memory) const;

  const int64_t n_;
  std::vector<FftPass<T>> passes_;
  // Bluestein's: the transform of the longer length, the chirp exp(-pi i j j / n), and the
  // transform of what is convolved with, divided by the longer length.
  std::unique_ptr<const Fft> padded_;
  std::vector<T> chirp_re_, chirp_im_;
  std::vector<T> filter_re_, filter_im_;
};

// A plan for the length, which may be one that is kept from an earlier call.
template <typename T>
std::shared_ptr<const Fft<T>> FftOfLength(int64_t n);

// exp(-2 pi i k / n) for 0 <= k < n, rounded once.
void RootOfOne(int64_t k, int64_t n, double* re, double* im);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SIGNAL_FFT_H_
