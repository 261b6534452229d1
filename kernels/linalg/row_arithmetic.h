// Arithmetic on rows of numbers, in the widest vectors that there are. Contracted to fused
// operations nowhere, so that all instruction sets give the same bits.
#ifndef MILLSTREAM_KERNELS_LINALG_ROW_ARITHMETIC_H_
#define MILLSTREAM_KERNELS_LINALG_ROW_ARITHMETIC_H_

#include <complex>
#include <cstdint>

namespace millstream::kernels {

using Complex = std::complex<double>;

namespace internal {
void SubtractLongMultiple(int64_t n, double factor, const double* x, double* y);
void SubtractLongMultiple(int64_t n, Complex factor, const Complex* x, Complex* y);
}  // namespace internal

// y -= factor * x, by parts: the product of std::complex looks for infinite ones, which takes most
// of the time.
inline void SubtractMultiple(int64_t n, double factor, const double* x, double* y) {
  constexpr int64_t kLong = 8;
  if (n >= kLong) return internal::SubtractLongMultiple(n, factor, x, y);
  for (int64_t i = 0; i < n; ++i) y[i] -= factor * x[i];
}
inline void SubtractMultiple(int64_t n, Complex factor, const Complex* x, Complex* y) {
  constexpr int64_t kLong = 4;
  if (n >= kLong) return internal::SubtractLongMultiple(n, factor, x, y);
  for (int64_t i = 0; i < n; ++i) {
    const double re = factor.real() * x[i].real() - factor.imag() * x[i].imag();
    const double im = factor.real() * x[i].imag() + factor.imag() * x[i].real();
    y[i] = {y[i].real() - re, y[i].imag() - im};
  }
}

// to[j * to_step + i] = from[i * from_step + j], or its conjugate, for rows i and columns j. The
// blocks may not overlap.
void Transpose(int64_t rows, int64_t columns, const double* from, int64_t from_step, double* to,
               int64_t to_step, bool conjugate);
void Transpose(int64_t rows, int64_t columns, const Complex* from, int64_t from_step, Complex* to,
               int64_t to_step, bool conjugate);

// x /= divisor.
void Divide(int64_t n, double divisor, double* x);
void Divide(int64_t n, Complex divisor, Complex* x);

// The first of the places of the largest absolute value, of complex numbers the larger one of both
// parts. A NaN is the largest where it comes first, and elsewhere is none. REQUIRES: n > 0.
int64_t PlaceOfLargest(int64_t n, const double* x);
int64_t PlaceOfLargest(int64_t n, const Complex* x);

// The sum of x[i] * y[i], and that of conj(x[i]) * y[i]; in eight lanes, which are added in the
// end.
double SumOfProducts(int64_t n, const double* x, const double* y);
Complex SumOfProducts(int64_t n, const Complex* x, const Complex* y);
double SumOfConjugateProducts(int64_t n, const double* x, const double* y);
Complex SumOfConjugateProducts(int64_t n, const Complex* x, const Complex* y);

// y[i] is the sum of conj(a[i * stride + j]) * x[j] over j, with the bits of
// SumOfConjugateProducts; several rows share a pass over x.
void RowProducts(int64_t rows, int64_t columns, int64_t stride, const double* a, const double* x,
                 double* y);
void RowProducts(int64_t rows, int64_t columns, int64_t stride, const Complex* a, const Complex* x,
                 Complex* y);

// y[j] += conj(factors[i]) * a[i * stride + j] for all i in order; several rows share a pass over
// y.
void AddRows(int64_t rows, int64_t columns, int64_t stride, const double* factors, const double* a,
             double* y);
void AddRows(int64_t rows, int64_t columns, int64_t stride, const Complex* factors,
             const Complex* a, Complex* y);

// (x, y) = (c x + s y, c y - s x).
void Rotate(int64_t n, double c, double s, double* x, double* y);
void Rotate(int64_t n, double c, double s, Complex* x, Complex* y);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_ROW_ARITHMETIC_H_
