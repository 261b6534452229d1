#include "kernels/linalg/lu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/linalg/matrices.h"

namespace millstream::kernels {
namespace {

// Of a smaller matrix the whole computation is short.
constexpr int64_t kLargeMatrix = 128;

// The larger of the parts of a number, to compare sizes and to scale.
double LargerPart(double x) { return std::fabs(x); }
double LargerPart(Complex x) { return std::max(std::fabs(x.real()), std::fabs(x.imag())); }

double TimesPowerOfTwo(double x, int exponent) { return std::ldexp(x, exponent); }
Complex TimesPowerOfTwo(Complex x, int exponent) {
  return {std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent)};
}

bool ShouldStop(int64_t n, Stop* stop) { return n >= kLargeMatrix && (*stop)(); }

}  // namespace

template <typename T>
int Factorize(int64_t n, T* matrix, int64_t* order, Stop* stop) {
  int sign = 1;
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  for (int64_t k = 0; k < n && !ShouldStop(n, stop); ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (LargerPart(matrix[i * n + k]) > LargerPart(matrix[pivot * n + k])) pivot = i;
    }
    T* const row = matrix + k * n;
    if (pivot != k) {
      std::swap_ranges(row, row + n, matrix + pivot * n);
      std::swap(order[k], order[pivot]);
      sign = -sign;
    }
    if (row[k] == T(0)) continue;  // and so is all below it
    for (int64_t i = k + 1; i < n; ++i) {
      T* const below = matrix + i * n;
      below[k] /= row[k];
      SubtractMultiple(n - k - 1, below[k], row + k + 1, below + k + 1);
    }
  }
  return sign;
}

template <typename T>
bool IsSingular(int64_t n, const T* factors) {
  for (int64_t i = 0; i < n; ++i) {
    if (!(LargerPart(factors[i * n + i]) > 0)) return true;
  }
  return false;
}

// Solves L Y = P, then U X = Y, for all columns at the same time.
template <typename T>
void InvertFactors(int64_t n, const T* factors, const int64_t* order, T* inverse, Stop* stop) {
  std::fill(inverse, inverse + n * n, T(0));
  for (int64_t i = 0; i < n && !ShouldStop(n, stop); ++i) {
    T* const row = inverse + i * n;
    row[order[i]] = T(1);
    for (int64_t j = 0; j < i; ++j) {
      SubtractMultiple(n, factors[i * n + j], inverse + j * n, row);
    }
  }
  for (int64_t i = n - 1; i >= 0 && !ShouldStop(n, stop); --i) {
    T* const row = inverse + i * n;
    for (int64_t j = i + 1; j < n; ++j) {
      SubtractMultiple(n, factors[i * n + j], inverse + j * n, row);
    }
    const T pivot = factors[i * n + i];
    for (int64_t j = 0; j < n; ++j) row[j] /= pivot;
  }
}

template <typename T>
T Scaled<T>::Rounded() const {
  constexpr int64_t kBeyondAll = 4096;
  return TimesPowerOfTwo(value, static_cast<int>(std::clamp(exponent, -kBeyondAll, kBeyondAll)));
}

template <typename T>
double Scaled<T>::LogOfAbs() const {
  constexpr double kLogOfTwo = 0.693147180559945309417;
  return std::log(std::abs(value)) + static_cast<double>(exponent) * kLogOfTwo;
}

template <typename T>
T Scaled<T>::Sign() const {
  return value == T(0) ? value : value / std::abs(value);
}

template <typename T>
Scaled<T> Determinant(int64_t n, const T* factors, int sign) {
  Scaled<T> product = {T(sign), 0};
  for (int64_t i = 0; i < n; ++i) {
    product.value *= factors[i * n + i];
    const double size = LargerPart(product.value);
    if (size == 0) return {T(0), 0};  // without a sign
    if (!std::isfinite(size)) return {product.value, 0};
    const int exponent = std::ilogb(size);
    product.value = TimesPowerOfTwo(product.value, -exponent);
    product.exponent += exponent;
  }
  return product;
}

#define MS_LU_OF_TYPE(T)                                                                        \
  template int Factorize<T>(int64_t n, T * matrix, int64_t * order, Stop * stop);               \
  template bool IsSingular<T>(int64_t n, const T* factors);                                     \
  template void InvertFactors<T>(int64_t n, const T* factors, const int64_t* order, T* inverse, \
                                 Stop* stop);                                                   \
  template struct Scaled<T>;                                                                    \
  template Scaled<T> Determinant<T>(int64_t n, const T* factors, int sign)
MS_LU_OF_TYPE(double);
MS_LU_OF_TYPE(Complex);
#undef MS_LU_OF_TYPE

}  // namespace millstream::kernels
