#include "kernels/linalg/row_arithmetic.h"

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

void SubtractNumbers(int64_t n, double factor, const double* __restrict x, double* __restrict y) {
  for (int64_t i = 0; i < n; ++i) y[i] -= factor * x[i];
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
