#include "kernels/matmul/vector_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/testing/fractions.h"

namespace millstream::kernels {
namespace {

constexpr float kGuard = 1234.5f;

using testing::Fractions;

struct Case {
  int64_t rows;
  int64_t columns;
};

// Around the widths of vectors, of the pieces that threads get, and of what is summed at a time.
const Case kCases[] = {{1, 1},   {1, 300},  {300, 1},   {7, 15},     {8, 16},      {9, 17},
                       {16, 33}, {31, 100}, {257, 130}, {100, 2049}, {1000, 1200}, {3, 5000}};

// A sum of `terms` products of fractions is off by no more than this: each of `terms` roundings is
// off by half a unit of the last place of a partial sum of at most `terms`.
float Bound(int64_t terms) {
  const auto count = static_cast<float>(terms);
  return count * count * std::numeric_limits<float>::epsilon();
}

TEST(VectorProductTest, ARowTimesAMatrix) {
  for (const Case& size : kCases) {
    const std::vector<float> x = Fractions(size.rows, 1);
    const std::vector<float> matrix = Fractions(size.rows * size.columns, 2);
    for (int threads : {1, 2, 3, 7}) {
      std::vector<float> y(static_cast<size_t>(size.columns) + 1, kGuard);
      RowTimesMatrix(x.data(), matrix.data(), size.rows, size.columns, threads, y.data());
      EXPECT_EQ(y.back(), kGuard);
      for (int64_t j = 0; j < size.columns; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < size.rows; ++i) {
          sum += double{x[i]} * double{matrix[i * size.columns + j]};
        }
        ASSERT_NEAR(y[j], sum, Bound(size.rows)) << size.rows << " x " << size.columns;
      }
    }
  }
}

TEST(VectorProductTest, AMatrixTimesAColumn) {
  for (const Case& size : kCases) {
    const std::vector<float> x = Fractions(size.columns, 1);
    const std::vector<float> matrix = Fractions(size.rows * size.columns, 2);
    for (int threads : {1, 2, 3, 7}) {
      std::vector<float> y(static_cast<size_t>(size.rows) + 1, kGuard);
      MatrixTimesColumn(matrix.data(), x.data(), size.rows, size.columns, threads, y.data());
      EXPECT_EQ(y.back(), kGuard);
      for (int64_t i = 0; i < size.rows; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < size.columns; ++j) {
          sum += double{matrix[i * size.columns + j]} * double{x[j]};
        }
        ASSERT_NEAR(y[i], sum, Bound(size.columns)) << size.rows << " x " << size.columns;
      }
    }
  }
}

TEST(VectorProductTest, BitsDoNotDependOnTheNumberOfThreads) {
  for (const Case& size : kCases) {
    const std::vector<float> matrix = Fractions(size.rows * size.columns, 2);
    const std::vector<float> row = Fractions(size.rows, 3);
    const std::vector<float> column = Fractions(size.columns, 4);
    std::vector<float> across(static_cast<size_t>(size.columns));
    std::vector<float> along(static_cast<size_t>(size.rows));
    RowTimesMatrix(row.data(), matrix.data(), size.rows, size.columns, 1, across.data());
    MatrixTimesColumn(matrix.data(), column.data(), size.rows, size.columns, 1, along.data());
    for (int threads : {2, 3, 5}) {
      std::vector<float> y(across.size());
      RowTimesMatrix(row.data(), matrix.data(), size.rows, size.columns, threads, y.data());
      EXPECT_EQ(y, across) << threads << " threads, " << size.rows << " x " << size.columns;
      std::vector<float> z(along.size());
      MatrixTimesColumn(matrix.data(), column.data(), size.rows, size.columns, threads, z.data());
      EXPECT_EQ(z, along) << threads << " threads, " << size.rows << " x " << size.columns;
    }
  }
}

}  // namespace
}  // namespace millstream::kernels
