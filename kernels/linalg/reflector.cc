#include "kernels/linalg/reflector.h"

#include <algorithm>
#include <cmath>

namespace millstream::kernels {
namespace {

double ImaginaryPart(double) { return 0; }
double ImaginaryPart(Complex x) { return x.imag(); }

double WithParts(double re, double, const double*) { return re; }
Complex WithParts(double re, double im, const Complex*) { return {re, im}; }

// The numbers that an element has.
constexpr int64_t PartsOf(const double*) { return 1; }
constexpr int64_t PartsOf(const Complex*) { return 2; }

double SumOfSquares(int64_t n, const double* x) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum;
}

void RotateNumbers(int64_t n, double c, double s, double* __restrict x, double* __restrict y) {
  for (int64_t i = 0; i < n; ++i) {
    const double old = x[i];
    x[i] = c * old + s * y[i];
    y[i] = c * y[i] - s * old;
  }
}

}  // namespace

template <typename T>
Reflection<T> MakeReflector(int64_t n, T* x) {
  const int64_t parts = PartsOf(x);
  const T alpha = x[0];
  const double rest = SumOfSquares((n - 1) * parts, reinterpret_cast<const double*>(x + 1));
  x[0] = T(1);
  if (rest == 0 && ImaginaryPart(alpha) == 0) return {T(0), RealPart(alpha)};
  const double norm = std::sqrt(RealPart(Product(alpha, Conjugate(alpha))) + rest);
  const double beta = RealPart(alpha) >= 0 ? -norm : norm;
  const T scale = T(1) / (alpha - beta);
  for (int64_t i = 1; i < n; ++i) x[i] = Product(x[i], scale);
  return {
      WithParts((beta - RealPart(alpha)) / beta, -ImaginaryPart(alpha) / beta, &alpha),
      beta,
  };
}

template <typename T>
void ReflectFromLeft(const T* v, T tau, const Block<T>& block, T* memory) {
  if (tau == T(0)) return;
  std::fill(memory, memory + block.columns, T(0));
  for (int64_t i = 0; i < block.rows; ++i) {
    SubtractMultiple(block.columns, -Conjugate(v[i]), block.elements + i * block.stride, memory);
  }
  for (int64_t i = 0; i < block.rows; ++i) {
    SubtractMultiple(block.columns, Product(tau, v[i]), memory, block.elements + i * block.stride);
  }
}

template <typename T>
void ReflectFromRight(const T* v, T tau, const Block<T>& block) {
  if (tau == T(0)) return;
  for (int64_t i = 0; i < block.rows; ++i) {
    T* const row = block.elements + i * block.stride;
    // Four sums, so that an addition need not wait for the one before it.
    T sums[4] = {};
    int64_t j = 0;
    for (; j + 4 <= block.columns; j += 4) {
      for (int64_t k = 0; k < 4; ++k) sums[k] += Product(row[j + k], v[j + k]);
    }
    for (; j < block.columns; ++j) sums[0] += Product(row[j], v[j]);
    const T factor = Product(tau, (sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (j = 0; j < block.columns; ++j) row[j] -= Product(factor, Conjugate(v[j]));
  }
}

void Rotate(int64_t n, double c, double s, double* x, double* y) { RotateNumbers(n, c, s, x, y); }
void Rotate(int64_t n, double c, double s, Complex* x, Complex* y) {
  RotateNumbers(2 * n, c, s, reinterpret_cast<double*>(x), reinterpret_cast<double*>(y));
}

template <typename T>
bool ScaleToOne(int64_t count, T* matrix, int* exponent) {
  auto* const numbers = reinterpret_cast<double*>(matrix);
  const int64_t n = count * PartsOf(matrix);
  double largest = 0;
  bool finite = true;
  for (int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::fabs(numbers[i]));
    finite = finite && std::isfinite(numbers[i]);
  }
  *exponent = finite && largest > 0 ? std::ilogb(largest) : 0;
  if (*exponent != 0) {
    for (int64_t i = 0; i < n; ++i) numbers[i] = std::ldexp(numbers[i], -*exponent);
  }
  return finite;
}

#define MS_REFLECTORS_OF_TYPE(T)                                                         \
  template Reflection<T> MakeReflector<T>(int64_t n, T * x);                             \
  template void ReflectFromLeft<T>(const T* v, T tau, const Block<T>& block, T* memory); \
  template void ReflectFromRight<T>(const T* v, T tau, const Block<T>& block);           \
  template bool ScaleToOne<T>(int64_t count, T * matrix, int* exponent)
MS_REFLECTORS_OF_TYPE(double);
MS_REFLECTORS_OF_TYPE(Complex);
#undef MS_REFLECTORS_OF_TYPE

}  // namespace millstream::kernels
