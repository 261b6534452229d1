#include "kernels/linalg/reflector.h"

#include <algorithm>
#include <cmath>

namespace millstream::kernels {
namespace {

double ImaginaryPart(double) { return 0; }
double ImaginaryPart(Complex x) { return x.imag(); }

double WithParts(double re, double, const double*) { return re; }
Complex WithParts(double re, double im, const Complex*) { return {re, im}; }

// Squares that sum to less may have lost bits below the range of double, or all of them.
constexpr double kLeastSquares = 1e-250;

// The numbers that an element has.
constexpr int64_t PartsOf(const double*) { return 1; }
constexpr int64_t PartsOf(const Complex*) { return 2; }

}  // namespace

template <typename T>
Reflection<T> MakeReflector(int64_t n, T* x) {
  const int64_t parts = PartsOf(x);
  const T alpha = x[0];
  const auto* const numbers = reinterpret_cast<const double*>(x + 1);
  const double rest = SumOfProducts((n - 1) * parts, numbers, numbers);
  const double squares = RealPart(Product(alpha, Conjugate(alpha))) + rest;
  if (squares < kLeastSquares) {
    // A part of a matrix may be small beside the rest. Scaling changes neither v nor tau.
    int exponent = 0;
    if (ScaleToOne(n, x, &exponent) && exponent != 0) {
      Reflection<T> scaled = MakeReflector(n, x);
      scaled.beta = std::ldexp(scaled.beta, exponent);
      return scaled;
    }
  }
  x[0] = T(1);
  if (rest == 0 && ImaginaryPart(alpha) == 0) return {T(0), RealPart(alpha)};
  const double norm = std::sqrt(squares);
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
    const T factor = Product(tau, SumOfProducts(block.columns, row, v));
    for (int64_t j = 0; j < block.columns; ++j) row[j] -= Product(factor, Conjugate(v[j]));
  }
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
  // By two powers, as one may be beyond the range. std::ldexp of each number takes longer.
  const int half = *exponent / 2;
  const double first = std::ldexp(1.0, -half);
  const double second = std::ldexp(1.0, half - *exponent);
  for (int64_t i = 0; *exponent != 0 && i < n; ++i) numbers[i] = numbers[i] * first * second;
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
