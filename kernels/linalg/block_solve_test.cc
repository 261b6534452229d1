#include "kernels/linalg/block_solve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/linalg/row_arithmetic.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kColumns = 45;

std::vector<double> Random(int64_t count) {
  std::mt19937 generator(11);
  std::uniform_real_distribution<double> distribution(-1, 1);
  std::vector<double> numbers(static_cast<size_t>(count));
  for (double& number : numbers) number = distribution(generator);
  return numbers;
}

// A triangle with large numbers on the diagonal, and NaN where nothing may be read.
std::vector<double> Triangle(int64_t rows, bool is_lower) {
  std::vector<double> a = Random(rows * rows);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < rows; ++j) {
      double& element = a[static_cast<size_t>(i * rows + j)];
      if (i == j) element += 2;
      if (is_lower ? j > i : j < i) element = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return a;
}

struct Kind {
  bool is_lower;
  bool has_unit_diagonal;
};
constexpr Kind kKinds[] = {{true, true}, {true, false}, {false, true}, {false, false}};

BlockSystem<double> SystemOf(const Kind& kind, int64_t rows, const double* a, double* c) {
  const int64_t start = kind.is_lower ? 0 : rows - 1;
  const int64_t sign = kind.is_lower ? 1 : -1;
  return {rows,           a + start * (rows + 1), sign * rows,
          sign,           kind.has_unit_diagonal, c + start * kColumns,
          sign * kColumns};
}

TEST(BlockSolveTest, TheTriangleTimesTheSolutionIsTheRightHandSide) {
  for (const Kind& kind : kKinds) {
    for (int64_t rows = 1; rows <= kMostSolvedRows; ++rows) {
      const std::vector<double> a = Triangle(rows, kind.is_lower);
      const std::vector<double> right = Random(rows * kColumns);
      std::vector<double> x = right;
      SolveBlock(SystemOf(kind, rows, a.data(), x.data()), 0, kColumns);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t k = 0; k < kColumns; ++k) {
          double sum = 0;
          double sizes = 0;
          for (int64_t j = kind.is_lower ? 0 : i; j < (kind.is_lower ? i + 1 : rows); ++j) {
            const double factor = i == j && kind.has_unit_diagonal ? 1 : a[i * rows + j];
            sum += factor * x[j * kColumns + k];
            sizes += std::fabs(factor * x[j * kColumns + k]);
          }
          ASSERT_NEAR(sum, right[i * kColumns + k], 1e-14 * sizes)
              << "row " << i << " of " << rows << ", column " << k;
        }
      }
    }
  }
}

TEST(BlockSolveTest, AColumnAloneHasTheBitsOfTheSameAmongMany) {
  for (const Kind& kind : kKinds) {
    const std::vector<double> a = Triangle(29, kind.is_lower);
    const std::vector<double> right = Random(29 * kColumns);
    std::vector<double> among = right;
    SolveBlock(SystemOf(kind, 29, a.data(), among.data()), 0, kColumns);
    std::vector<double> alone = right;
    for (int64_t column = 0; column < kColumns; ++column) {
      SolveBlock(SystemOf(kind, 29, a.data(), alone.data()), column, column + 1);
    }
    EXPECT_EQ(among, alone);
  }
}

TEST(BlockSolveTest, OtherColumnsAreLeftAlone) {
  const std::vector<double> a = Triangle(10, true);
  const std::vector<double> right = Random(10 * kColumns);
  std::vector<double> x = right;
  SolveBlock(SystemOf({true, false}, 10, a.data(), x.data()), 3, 40);
  for (int64_t i = 0; i < 10; ++i) {
    for (const int64_t column : {0, 2, 40, 44}) {
      EXPECT_EQ(x[i * kColumns + column], right[i * kColumns + column]);
    }
  }
}

TEST(BlockSolveTest, TheAdjointOfAComplexTriangle) {
  const Complex a[] = {{2, 0}, {1, 2}, {0, 0}, {1, 1}};  // upper: row 0, then row 1
  Complex x[] = {{2, 4}, {5, 1}};
  BlockSystem<Complex> system = {2, a, 1, 2, /*has_unit_diagonal=*/false, x, 1};
  system.conjugate_a = true;
  SolveBlock(system, 0, 1);
  // x0 = (2 + 4i) / 2, and x1 = (5 + i - (1 - 2i) x0) / (1 - i) = i / (1 - i).
  EXPECT_EQ(x[0], Complex(1, 2));
  EXPECT_LT(std::abs(x[1] - Complex(-0.5, 0.5)), 1e-15);
}

TEST(RowArithmeticTest, ATransposedBlockHasColumnsForRows) {
  for (const int64_t rows : {1, 7, 8, 19, 32}) {
    for (const int64_t columns : {1, 8, 13, 40}) {
      const int64_t from_step = columns + 3;
      const int64_t to_step = rows + 5;
      const std::vector<double> from = Random(rows * from_step);
      std::vector<double> to(static_cast<size_t>(columns * to_step), 7);
      Transpose(rows, columns, from.data(), from_step, to.data(), to_step, /*conjugate=*/true);
      for (int64_t j = 0; j < columns; ++j) {
        for (int64_t i = 0; i < to_step; ++i) {
          ASSERT_EQ(to[j * to_step + i], i < rows ? from[i * from_step + j] : 7);
        }
      }
    }
  }
}

TEST(RowArithmeticTest, TheFirstOfTheLargestIsFound) {
  for (const int64_t n : {1, 7, 8, 9, 40}) {
    for (int64_t place = 0; place < n; ++place) {
      std::vector<double> x(static_cast<size_t>(n), 1);
      x[place] = -3;
      x[n - 1] = place == n - 1 ? -3 : 3;
      EXPECT_EQ(PlaceOfLargest(n, x.data()), place) << n;
      const std::vector<Complex> parts(x.begin(), x.end());
      EXPECT_EQ(PlaceOfLargest(n, parts.data()), place) << n;
    }
  }
}

TEST(RowArithmeticTest, ANaNIsTheLargestWhereItComesFirst) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const int64_t n : {5, 24}) {
    for (const int64_t place : {0, 1, 4}) {
      std::vector<double> x(static_cast<size_t>(n), 1);
      x[3] = 2;
      x[place] = nan;
      EXPECT_EQ(PlaceOfLargest(n, x.data()), place == 0 ? 0 : 3);
    }
  }
}

}  // namespace
}  // namespace millstream::kernels
