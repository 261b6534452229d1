// Rows of complex numbers that are real numbers in fact, as those that a cast has made: the
// transform of a real row (real_fft.h) takes half of the work, and determines the rest of the row.
#ifndef MILLSTREAM_KERNELS_SIGNAL_REAL_ROWS_H_
#define MILLSTREAM_KERNELS_SIGNAL_REAL_ROWS_H_

#include <cstdint>

#include "kernels/signal/fft.h"

namespace millstream::kernels {

// If the imaginary parts of all n numbers of a row are zero, reads the n / 2 pairs of its real
// parts and returns true. If not, what x holds is of no use. REQUIRES: n is even.
template <typename T>
bool LoadRealRow(const T* row, int64_t n, Parts<T> x);

// Writes all n numbers of a row of which y has numbers 0 to n / 2: number n - k is the conjugate of
// number k. Real and imaginary parts have a factor each. REQUIRES: n is even.
template <typename T>
void StoreMirroredRow(Parts<T> y, int64_t n, T scale_re, T scale_im, T* row);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SIGNAL_REAL_ROWS_H_
