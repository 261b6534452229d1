#include "kernels/linalg/self_adjoint_product.h"

#include <algorithm>

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// Eight lanes in every instruction set, so that the bits are the same.
using Lanes = Vector<double, 64>;
using Places = Vector<int64_t, 64>;
static_assert(kLanes<double, 64> == kProductRows);

constexpr int kRows = 4;  // that share a pass over x and y
constexpr Places kPlaces = {0, 1, 2, 3, 4, 5, 6, 7};

double SumOf(const Lanes& lanes) {
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

// Rows from place `first` on of the kProductRows from row `begin` on.
void AddFourRows(const UpperRows<double>& rows, int64_t begin, int64_t first, const double* x,
                 double* y) {
  const double* const a = rows.a + (begin + first) * rows.stride;
  Lanes factors[kRows];
  Lanes sums[kRows];
  const Lanes zeros = {};
  const Lanes of_diagonal = Load<64>(x + begin);
  Lanes of_columns = Load<64>(y + begin);
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
    const Lanes elements = Load<64>(a + i * rows.stride + begin);
    const int64_t place = first + i;
    factors[i] = Broadcast<64>(x[begin + place]);
    sums[i] = (kPlaces >= place ? elements : zeros) * of_diagonal;
    of_columns += (kPlaces > place ? elements : zeros) * factors[i];
  }
  Store(of_columns, y + begin);
  int64_t j = begin + kProductRows;
  for (; j + kProductRows <= rows.n; j += kProductRows) {
    const Lanes of_rows = Load<64>(x + j);
    of_columns = Load<64>(y + j);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const Lanes elements = Load<64>(a + i * rows.stride + j);
      sums[i] += elements * of_rows;
      of_columns += elements * factors[i];
    }
    Store(of_columns, y + j);
  }
  for (int i = 0; i < kRows; ++i) {
    const double* const row = a + i * rows.stride;
    double sum = SumOf(sums[i]);
    for (int64_t rest = j; rest < rows.n; ++rest) {
      sum += row[rest] * x[rest];
      y[rest] += row[rest] * factors[i][0];
    }
    y[begin + first + i] += sum;
  }
}

void AddRowsOfHalf(const UpperRows<double>& rows, const double* x, double* y) {
  int64_t row = rows.begin;
  for (; row < rows.end && row + kProductRows <= rows.n; row += kProductRows) {
    AddFourRows(rows, row, 0, x, y);
    AddFourRows(rows, row, kRows, x, y);
  }
  for (; row < rows.end; ++row) {
    const double* const a = rows.a + row * rows.stride;
    y[row] += a[row] * x[row];
    for (int64_t j = row + 1; j < rows.n; ++j) {
      y[row] += a[j] * x[j];
      y[j] += a[j] * x[row];
    }
  }
}

}  // namespace

void AddSelfAdjointProduct(const UpperRows<double>& rows, const double* x, double* y) {
  RunLoop<&AddRowsOfHalf>(rows, x, y);
}

void AddSelfAdjointProduct(const UpperRows<Complex>& rows, const Complex* x, Complex* y) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const Complex* const a = rows.a + row * rows.stride;
    y[row] += SumOfConjugateProducts(rows.n - row, a + row, x + row);
    SubtractMultiple(rows.n - row - 1, -x[row], a + row + 1, y + row + 1);
  }
}

}  // namespace millstream::kernels
