#include "kernels/linalg/row_arithmetic.h"

#include <algorithm>
#include <cmath>

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

void SubtractNumbers(int64_t n, double factor, const double* __restrict x, double* __restrict y) {
  for (int64_t i = 0; i < n; ++i) y[i] -= factor * x[i];
}

// Four rows and columns.
void TransposeTile(const double* from, int64_t from_step, double* to, int64_t to_step) {
  using Four = Vector<double, 32>;
  const Four a = Load<32>(from);
  const Four b = Load<32>(from + from_step);
  const Four c = Load<32>(from + 2 * from_step);
  const Four d = Load<32>(from + 3 * from_step);
  const Four even_ab = __builtin_shufflevector(a, b, 0, 4, 2, 6);
  const Four odd_ab = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  const Four even_cd = __builtin_shufflevector(c, d, 0, 4, 2, 6);
  const Four odd_cd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  Store(__builtin_shufflevector(even_ab, even_cd, 0, 1, 4, 5), to);
  Store(__builtin_shufflevector(odd_ab, odd_cd, 0, 1, 4, 5), to + to_step);
  Store(__builtin_shufflevector(even_ab, even_cd, 2, 3, 6, 7), to + 2 * to_step);
  Store(__builtin_shufflevector(odd_ab, odd_cd, 2, 3, 6, 7), to + 3 * to_step);
}

// In blocks of the width of a cache line, which is then used as a whole: lines of a matrix whose
// rows are a power of two long drive each other out.
void TransposeNumbers(int64_t rows, int64_t columns, const double* from, int64_t from_step,
                      double* to, int64_t to_step) {
  constexpr int64_t kBlock = 8;
  for (int64_t row = 0; row < rows; row += kBlock) {
    for (int64_t column = 0; column < columns; column += kBlock) {
      const double* const x = from + row * from_step + column;
      double* const y = to + column * to_step + row;
      if (row + kBlock <= rows && column + kBlock <= columns) {
        for (int64_t i = 0; i < kBlock; i += 4) {
          TransposeTile(x + i * from_step, from_step, y + i, to_step);
          TransposeTile(x + i * from_step + 4, from_step, y + 4 * to_step + i, to_step);
        }
        continue;
      }
      for (int64_t i = 0; i < std::min(kBlock, rows - row); ++i) {
        for (int64_t j = 0; j < std::min(kBlock, columns - column); ++j) {
          y[j * to_step + i] = x[i * from_step + j];
        }
      }
    }
  }
}

void DivideNumbers(int64_t n, double divisor, double* x) {
  for (int64_t i = 0; i < n; ++i) x[i] /= divisor;
}

void RotateNumbers(int64_t n, double c, double s, double* __restrict x, double* __restrict y) {
  for (int64_t i = 0; i < n; ++i) {
    const double old = x[i];
    x[i] = c * old + s * y[i];
    y[i] = c * y[i] - s * old;
  }
}

// Eight lanes in every instruction set: narrower ones make each of several vectors.
using Lanes = Vector<double, 64>;
constexpr int64_t kLaneCount = 8;

// Parts alternate in x and y. In vectors by hand: of a loop that adds and subtracts in turn GCC 12
// makes fused operations, whatever -ffp-contract says, so that an element's bits would depend on
// whether it is in a vector or behind the last one.
void SubtractPairs(int64_t n, double re, double im, const double* x, double* y) {
  const Lanes ims = {-im, im, -im, im, -im, im, -im, im};
  int64_t i = 0;
  for (; i + kLaneCount <= 2 * n; i += kLaneCount) {
    const Lanes from = Load<64>(x + i);
    const Lanes crossed = __builtin_shufflevector(from, from, 1, 0, 3, 2, 5, 4, 7, 6);
    Store(Load<64>(y + i) - (re * from + ims * crossed), y + i);
  }
  for (; i < 2 * n; i += 2) {
    y[i] -= re * x[i] - im * x[i + 1];
    y[i + 1] -= re * x[i + 1] + im * x[i];
  }
}

// The sums over the even and the odd places of x[i] * y[i].
struct PairSums {
  double even;
  double odd;
};

PairSums AddLanes(Lanes sums, const double* x, const double* y, int64_t begin, int64_t n) {
  PairSums total = {((sums[0] + sums[2]) + (sums[4] + sums[6])),
                    ((sums[1] + sums[3]) + (sums[5] + sums[7]))};
  for (int64_t i = begin; i < n; ++i) {
    (i % 2 == 0 ? total.even : total.odd) += x[i] * y[i];
  }
  return total;
}

void SumPairs(int64_t n, const double* x, const double* y, PairSums* total) {
  Lanes sums = {};
  int64_t i = 0;
  for (; i + kLaneCount <= n; i += kLaneCount) sums += Load<64>(x + i) * Load<64>(y + i);
  *total = AddLanes(sums, x, y, i, n);
}

// With y[i ^ 1] in place of y[i]: even places have re * im, odd ones im * re. `n` is even.
void SumCrossedPairs(int64_t n, const double* x, const double* y, PairSums* total) {
  Lanes sums = {};
  int64_t i = 0;
  for (; i + kLaneCount <= n; i += kLaneCount) {
    const Lanes from = Load<64>(y + i);
    sums += Load<64>(x + i) * __builtin_shufflevector(from, from, 1, 0, 3, 2, 5, 4, 7, 6);
  }
  *total = AddLanes(sums, x, y, n, n);
  for (; i < n; i += 2) {
    total->even += x[i] * y[i + 1];
    total->odd += x[i + 1] * y[i];
  }
}

void MultiplyRows(int64_t rows, int64_t columns, int64_t stride, const double* a, const double* x,
                  double* y) {
  constexpr int kRows = 4;
  int64_t row = 0;
  for (; row + kRows <= rows; row += kRows, a += kRows * stride) {
    Lanes sums[kRows] = {};
    int64_t j = 0;
    for (; j + kLaneCount <= columns; j += kLaneCount) {
      const Lanes factor = Load<64>(x + j);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) sums[i] += Load<64>(a + i * stride + j) * factor;
    }
    for (int i = 0; i < kRows; ++i) {
      const PairSums total = AddLanes(sums[i], a + i * stride, x, j, columns);
      y[row + i] = total.even + total.odd;
    }
  }
  for (; row < rows; ++row, a += stride) {
    PairSums total;
    SumPairs(columns, a, x, &total);
    y[row] = total.even + total.odd;
  }
}

void AddFourRows(int64_t n, int64_t stride, const double* factors, const double* a,
                 double* __restrict y) {
  const double* const b = a + stride;
  const double* const c = b + stride;
  const double* const d = c + stride;
  for (int64_t j = 0; j < n; ++j) {
    y[j] =
        (((y[j] + factors[0] * a[j]) + factors[1] * b[j]) + factors[2] * c[j]) + factors[3] * d[j];
  }
}

void FindLargest(int64_t n, const double* x, int64_t* place) {
  Lanes largest = Broadcast<64>(std::fabs(x[0]));
  Lanes places = {};
  Lanes here = {0, 1, 2, 3, 4, 5, 6, 7};
  int64_t i = 0;
  for (; i + kLaneCount <= n; i += kLaneCount, here += static_cast<double>(kLaneCount)) {
    const Lanes from = Load<64>(x + i);
    const Lanes sizes = from < 0 ? -from : from;
    places = sizes > largest ? here : places;
    largest = sizes > largest ? sizes : largest;
  }
  double size = largest[0];
  double first = places[0];
  for (int64_t lane = 1; lane < kLaneCount; ++lane) {
    if (largest[lane] > size || (largest[lane] == size && places[lane] < first)) {
      size = largest[lane];
      first = places[lane];
    }
  }
  *place = static_cast<int64_t>(first);
  for (; i < n; ++i) {
    if (!(std::fabs(x[i]) > size)) continue;
    size = std::fabs(x[i]);
    *place = i;
  }
}

const double* PartsOf(const Complex* x) { return reinterpret_cast<const double*>(x); }
double* PartsOf(Complex* x) { return reinterpret_cast<double*>(x); }

}  // namespace

namespace internal {

void SubtractLongMultiple(int64_t n, double factor, const double* x, double* y) {
  RunLoop<&SubtractNumbers>(n, factor, x, y);
}

void SubtractLongMultiple(int64_t n, Complex factor, const Complex* x, Complex* y) {
  RunLoop<&SubtractPairs>(n, factor.real(), factor.imag(), PartsOf(x), PartsOf(y));
}

}  // namespace internal

void Transpose(int64_t rows, int64_t columns, const double* from, int64_t from_step, double* to,
               int64_t to_step, bool conjugate) {
  RunLoop<&TransposeNumbers>(rows, columns, from, from_step, to, to_step);
}

void Transpose(int64_t rows, int64_t columns, const Complex* from, int64_t from_step, Complex* to,
               int64_t to_step, bool conjugate) {
  constexpr int64_t kBlock = 8;
  for (int64_t row = 0; row < rows; row += kBlock) {
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = row; i < std::min(row + kBlock, rows); ++i) {
        const Complex x = from[i * from_step + j];
        to[j * to_step + i] = conjugate ? std::conj(x) : x;
      }
    }
  }
}

void Divide(int64_t n, double divisor, double* x) { RunLoop<&DivideNumbers>(n, divisor, x); }

void Divide(int64_t n, Complex divisor, Complex* x) {
  for (int64_t i = 0; i < n; ++i) x[i] /= divisor;
}

int64_t PlaceOfLargest(int64_t n, const double* x) {
  int64_t place = 0;
  RunLoop<&FindLargest>(n, x, &place);
  return place;
}

int64_t PlaceOfLargest(int64_t n, const Complex* x) {
  const auto size = [&](int64_t i) {
    return std::max(std::fabs(x[i].real()), std::fabs(x[i].imag()));
  };
  int64_t place = 0;
  for (int64_t i = 1; i < n; ++i) {
    if (size(i) > size(place)) place = i;
  }
  return place;
}

double SumOfProducts(int64_t n, const double* x, const double* y) {
  PairSums sums;
  RunLoop<&SumPairs>(n, x, y, &sums);
  return sums.even + sums.odd;
}

double SumOfConjugateProducts(int64_t n, const double* x, const double* y) {
  return SumOfProducts(n, x, y);
}

Complex SumOfProducts(int64_t n, const Complex* x, const Complex* y) {
  PairSums straight;
  PairSums crossed;
  RunLoop<&SumPairs>(2 * n, PartsOf(x), PartsOf(y), &straight);
  RunLoop<&SumCrossedPairs>(2 * n, PartsOf(x), PartsOf(y), &crossed);
  return {straight.even - straight.odd, crossed.even + crossed.odd};
}

Complex SumOfConjugateProducts(int64_t n, const Complex* x, const Complex* y) {
  PairSums straight;
  PairSums crossed;
  RunLoop<&SumPairs>(2 * n, PartsOf(x), PartsOf(y), &straight);
  RunLoop<&SumCrossedPairs>(2 * n, PartsOf(x), PartsOf(y), &crossed);
  return {straight.even + straight.odd, crossed.even - crossed.odd};
}

void RowProducts(int64_t rows, int64_t columns, int64_t stride, const double* a, const double* x,
                 double* y) {
  RunLoop<&MultiplyRows>(rows, columns, stride, a, x, y);
}

void RowProducts(int64_t rows, int64_t columns, int64_t stride, const Complex* a, const Complex* x,
                 Complex* y) {
  for (int64_t i = 0; i < rows; ++i) y[i] = SumOfConjugateProducts(columns, a + i * stride, x);
}

void AddRows(int64_t rows, int64_t columns, int64_t stride, const double* factors, const double* a,
             double* y) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    RunLoop<&AddFourRows>(columns, stride, factors + i, a + i * stride, y);
  }
  for (; i < rows; ++i) SubtractMultiple(columns, -factors[i], a + i * stride, y);
}

void AddRows(int64_t rows, int64_t columns, int64_t stride, const Complex* factors,
             const Complex* a, Complex* y) {
  for (int64_t i = 0; i < rows; ++i) {
    SubtractMultiple(columns, -std::conj(factors[i]), a + i * stride, y);
  }
}

void Rotate(int64_t n, double c, double s, double* x, double* y) {
  RunLoop<&RotateNumbers>(n, c, s, x, y);
}

void Rotate(int64_t n, double c, double s, Complex* x, Complex* y) {
  RunLoop<&RotateNumbers>(2 * n, c, s, PartsOf(x), PartsOf(y));
}

}  // namespace millstream::kernels
