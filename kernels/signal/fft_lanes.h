// How sequences of complex numbers in a tensor become the lanes of a transform (fft.h), and back.
#ifndef MILLSTREAM_KERNELS_SIGNAL_FFT_LANES_H_
#define MILLSTREAM_KERNELS_SIGNAL_FFT_LANES_H_

#include <cstdint>

#include "kernels/signal/fft.h"

namespace millstream::kernels {

// The most lanes at once: float32 numbers of a cache line.
inline constexpr int64_t kMostLanes = 16;

// Sequence l is at starts[l], real parts first. Its elements are `step` complex numbers apart.
template <typename T>
struct Sequences {
  T* starts[kMostLanes];
  int64_t lanes;  // how many there are
  int64_t step;
};

// Elements [0, count) of the sequences, imaginary parts times `sign`.
template <typename T>
void LoadLanes(const Sequences<const T>& from, int64_t count, T sign, Parts<T> x);

// The same back, with a factor for real parts and one for imaginary parts.
template <typename T>
void StoreLanes(Parts<T> y, int64_t count, T scale_re, T scale_im, const Sequences<T>& to);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SIGNAL_FFT_LANES_H_
