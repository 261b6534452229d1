#include "kernels/linalg/lu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/linalg/block_product.h"
#include "kernels/linalg/block_solve.h"
#include "kernels/linalg/triangle.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kPanel = kMostSolvedRows;  // columns that are eliminated before the others see it
constexpr int64_t kFewColumns = 4;           // of a panel, which are eliminated one after the other

// The larger of the parts of a number, to compare sizes and to scale.
double LargerPart(double x) { return std::fabs(x); }
double LargerPart(Complex x) { return std::max(std::fabs(x.real()), std::fabs(x.imag())); }

double TimesPowerOfTwo(double x, int exponent) { return std::ldexp(x, exponent); }
Complex TimesPowerOfTwo(Complex x, int exponent) {
  return {std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent)};
}

template <typename T>
struct Elimination {
  int64_t n;
  T* matrix;
  int64_t* order;
  int sign;
};

template <typename T>
void ExchangeRows(Elimination<T>* all, int64_t i, int64_t j) {
  std::swap(all->order[i], all->order[j]);
  all->sign = -all->sign;
}

// A matrix of few rows, row after row.
template <typename T>
void EliminateRows(Elimination<T>* all) {
  const int64_t n = all->n;
  T* const matrix = all->matrix;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (LargerPart(matrix[i * n + k]) > LargerPart(matrix[pivot * n + k])) pivot = i;
    }
    T* const row = matrix + k * n;
    if (pivot != k) {
      std::swap_ranges(row, row + n, matrix + pivot * n);
      ExchangeRows(all, k, pivot);
    }
    if (row[k] == T(0)) continue;  // and so is all below it
    for (int64_t i = k + 1; i < n; ++i) {
      T* const below = matrix + i * n;
      below[k] /= row[k];
      SubtractMultiple(n - k - 1, below[k], row + k + 1, below + k + 1);
    }
  }
}

// Columns of a matrix from a row on, each of which lies in one piece: columns of a matrix whose
// rows are a power of two long share a few places of the caches.
template <typename T>
class Panel {
 public:
  static int64_t Numbers(int64_t n) { return kPanel * StepOf(n); }

  // Columns [first, last) of the matrix. `memory` has Numbers(n) numbers.
  Panel(Elimination<T>* all, int64_t first, int64_t last, T* memory)
      : all_(*all),
        first_(first),
        height_(all->n - first),
        width_(last - first),
        step_(StepOf(height_)),
        columns_(memory) {}

  // Eliminates below the diagonal. Exchanges whole rows of the matrix.
  void Factor() {
    T* const outside = all_.matrix + first_ * (all_.n + 1);
    Transpose(height_, width_, outside, all_.n, columns_, step_, /*conjugate=*/false);
    FactorColumns(0, width_);
    Transpose(width_, height_, columns_, step_, outside, all_.n, /*conjugate=*/false);
    for (int64_t k = 0; k < width_; ++k) ExchangeOutside(k);
  }

 private:
  // Of doubles, an odd number of cache lines.
  static int64_t StepOf(int64_t height) { return ((height / 8 + 1) | 1) * 8; }

  // Columns [begin, end), when what the columns before them contribute was subtracted: those of one
  // half, what these subtract from the others, and the others.
  void FactorColumns(int64_t begin, int64_t end) {
    if (end - begin <= kFewColumns) {
      for (int64_t k = begin; k < end; ++k) FactorColumn(k, end);
      return;
    }
    const int64_t middle = begin + (end - begin) / 2;
    FactorColumns(begin, middle);
    for (int64_t j = middle; j < end; ++j) {
      T* const right = columns_ + j * step_;
      for (int64_t k = begin; k < middle; ++k) {
        SubtractMultiple(middle - k - 1, right[k], columns_ + k * step_ + k + 1, right + k + 1);
      }
    }
    const BlockProduct<T> product = {end - middle,
                                     height_,
                                     middle - begin,
                                     columns_ + middle * step_ + begin,
                                     step_,
                                     1,
                                     columns_ + begin * step_,
                                     step_,
                                     columns_ + middle * step_,
                                     step_};
    SubtractProduct(product, middle, height_);
    FactorColumns(middle, end);
  }

  // Exchanges rows of the whole panel, and subtracts from the columns before `end`.
  void FactorColumn(int64_t k, int64_t end) {
    T* const column = columns_ + k * step_;
    const int64_t pivot = k + PlaceOfLargest(height_ - k, column + k);
    pivots_[k] = pivot;
    if (pivot != k) {
      for (int64_t j = 0; j < width_; ++j) {
        std::swap(columns_[j * step_ + k], columns_[j * step_ + pivot]);
      }
      ExchangeRows(&all_, first_ + k, first_ + pivot);
    }
    if (column[k] == T(0)) return;  // and so is all below it
    Divide(height_ - k - 1, column[k], column + k + 1);
    for (int64_t j = k + 1; j < end; ++j) {
      T* const right = columns_ + j * step_;
      SubtractMultiple(height_ - k - 1, right[k], column + k + 1, right + k + 1);
    }
  }

  void ExchangeOutside(int64_t k) {
    if (pivots_[k] == k) return;
    T* const one = all_.matrix + (first_ + k) * all_.n;
    T* const other = all_.matrix + (first_ + pivots_[k]) * all_.n;
    const int64_t last = first_ + width_;
    std::swap_ranges(one, one + first_, other);
    std::swap_ranges(one + last, one + all_.n, other + last);
  }

  Elimination<T>& all_;
  const int64_t first_;
  const int64_t height_;
  const int64_t width_;
  const int64_t step_;
  T* const columns_;
  int64_t pivots_[kPanel];
};

// Columns [begin, end), which are right of a panel: rows of U beside it, and what these and the
// panel subtract below it.
template <typename T>
void EliminateColumns(const Elimination<T>& all, int64_t first, int64_t last, int64_t begin,
                      int64_t end) {
  const int64_t n = all.n;
  const BlockSystem<T> system = {last - first,
                                 all.matrix + first * n + first,
                                 n,
                                 1,
                                 /*has_unit_diagonal=*/true,
                                 all.matrix + first * n,
                                 n};
  SolveBlock(system, begin, end);
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
int64_t FactorNumbers(int64_t n) {
  return n <= kPanel ? 0 : Panel<T>::Numbers(n);
}

template <typename T>
int Factorize(int64_t n, T* matrix, int64_t* order, T* memory, Stop* stop) {
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  Elimination<T> all = {n, matrix, order, 1};
  if (n <= kPanel) {
    EliminateRows(&all);
    return all.sign;
  }
  for (int64_t first = 0; first < n; first += kPanel) {
    if (first > 0 && (*stop)()) break;
    const int64_t last = std::min(first + kPanel, n);
    Panel<T>(&all, first, last, memory).Factor();
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

// Solves L Y = I, then U X = Y, for all columns at the same time. Column i of X is column order[i]
// of the inverse. Y is lower triangular.
template <typename T>
void InvertFactors(int64_t n, const T* factors, const int64_t* order, T* inverse, T* memory,
                   Stop* stop) {
  std::fill(inverse, inverse + n * n, T(0));
  for (int64_t i = 0; i < n; ++i) inverse[i * n + i] = T(1);
  SolveTriangle(n, n, factors,
                {/*is_lower=*/true, /*has_unit_diagonal=*/true, /*has_lower_right_side=*/true},
                inverse, stop);
  SolveTriangle(n, n, factors, {/*is_lower=*/false, /*has_unit_diagonal=*/false}, inverse, stop);
  T few[kPanel];
  T* const row = n <= kPanel ? few : memory;
  for (int64_t i = 0; i < n; ++i) {
    T* const from = inverse + i * n;
    for (int64_t j = 0; j < n; ++j) row[order[j]] = from[j];
    std::copy(row, row + n, from);
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
  template int64_t FactorNumbers<T>(int64_t n);                                                 \
  template int Factorize<T>(int64_t n, T * matrix, int64_t * order, T * memory, Stop * stop);   \
  template bool IsSingular<T>(int64_t n, const T* factors);                                     \
  template void InvertFactors<T>(int64_t n, const T* factors, const int64_t* order, T* inverse, \
                                 T* memory, Stop* stop);                                        \
  template struct Scaled<T>;                                                                    \
  template Scaled<T> Determinant<T>(int64_t n, const T* factors, int sign)
MS_LU_OF_TYPE(double);
MS_LU_OF_TYPE(Complex);
#undef MS_LU_OF_TYPE

}  // namespace millstream::kernels
