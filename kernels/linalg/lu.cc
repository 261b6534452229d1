#include "kernels/linalg/lu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/linalg/block_product.h"
#include "kernels/linalg/triangle.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kPanel = 32;  // columns that are eliminated before the others see it

// The larger of the parts of a number, to compare sizes and to scale.
double LargerPart(double x) { return std::fabs(x); }
double LargerPart(Complex x) { return std::max(std::fabs(x.real()), std::fabs(x.imag())); }

double TimesPowerOfTwo(double x, int exponent) { return std::ldexp(x, exponent); }
Complex TimesPowerOfTwo(Complex x, int exponent) {
  return {std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent)};
}

// Short rows, as a loop that a compiler sees.
inline void SubtractShort(int64_t n, double factor, const double* __restrict x,
                          double* __restrict y) {
  for (int64_t i = 0; i < n; ++i) y[i] -= factor * x[i];
}
inline void SubtractShort(int64_t n, Complex factor, const Complex* x, Complex* y) {
  SubtractMultiple(n, factor, x, y);
}

template <typename T>
struct Elimination {
  int64_t n;
  T* matrix;
  int64_t* order;
  int sign;
};

// Eliminates columns [first, last) below the diagonal, and only there. Rows are exchanged whole.
template <typename T>
void FactorPanel(Elimination<T>* all, int64_t first, int64_t last) {
  const int64_t n = all->n;
  T* const matrix = all->matrix;
  for (int64_t k = first; k < last; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (LargerPart(matrix[i * n + k]) > LargerPart(matrix[pivot * n + k])) pivot = i;
    }
    T* const row = matrix + k * n;
    if (pivot != k) {
      std::swap_ranges(row, row + n, matrix + pivot * n);
      std::swap(all->order[k], all->order[pivot]);
      all->sign = -all->sign;
    }
    if (row[k] == T(0)) continue;  // and so is all below it
    for (int64_t i = k + 1; i < n; ++i) {
      T* const below = matrix + i * n;
      below[k] /= row[k];
      SubtractShort(last - k - 1, below[k], row + k + 1, below + k + 1);
    }
  }
}

void FactorPanelOf(Elimination<double>* all, int64_t first, int64_t last) {
  RunLoop<&FactorPanel<double>>(all, first, last);
}
void FactorPanelOf(Elimination<Complex>* all, int64_t first, int64_t last) {
  FactorPanel(all, first, last);
}

// Columns [begin, end), which are right of a panel: rows of U beside it, and what these and the
// panel subtract below it.
template <typename T>
void EliminateColumns(const Elimination<T>& all, int64_t first, int64_t last, int64_t begin,
                      int64_t end) {
  const int64_t n = all.n;
  for (int64_t i = first; i < last; ++i) {
    T* const row = all.matrix + i * n;
    for (int64_t j = first; j < i; ++j) {
      SubtractMultiple(end - begin, row[j], all.matrix + j * n + begin, row + begin);
    }
  }
  const BlockProduct<T> product = {n - last,
                                   n,
                                   last - first,
                                   all.matrix + last * n + first,
                                   n,
                                   1,
                                   all.matrix + first * n,
                                   n,
                                   all.matrix + last * n,
                                   n};
  SubtractProduct(product, begin, end);
}

}  // namespace

template <typename T>
int Factorize(int64_t n, T* matrix, int64_t* order, Stop* stop) {
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  Elimination<T> all = {n, matrix, order, 1};
  for (int64_t first = 0; first < n; first += kPanel) {
    if (first > 0 && (*stop)()) break;
    const int64_t last = std::min(first + kPanel, n);
    FactorPanelOf(&all, first, last);
    const int64_t units = (n - last + kProductColumns - 1) / kProductColumns;
    if (units == 0) break;
    const double nanoseconds = static_cast<double>((n - last) * kPanel * kProductColumns) / 8;
    stop->Share(units, nanoseconds, [&](int64_t begin, int64_t end) {
      EliminateColumns(all, first, last, last + begin * kProductColumns,
                       std::min(n, last + end * kProductColumns));
    });
  }
  return all.sign;
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
  for (int64_t i = 0; i < n; ++i) inverse[i * n + order[i]] = T(1);
  SolveTriangle(n, n, factors, {/*is_lower=*/true, /*has_unit_diagonal=*/true}, inverse, stop);
  SolveTriangle(n, n, factors, {/*is_lower=*/false, /*has_unit_diagonal=*/false}, inverse, stop);
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
