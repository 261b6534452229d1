#include "kernels/matmul/window_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/simd/instruction_set.h"
#include "kernels/testing/fractions.h"

namespace millstream::kernels {
namespace {

using testing::Fractions;

constexpr float kGuard = 1234.5f;

struct Case {
  int64_t rows;
  int64_t columns;
  int64_t pieces;
  int64_t length;
};

// Around the sizes of tiles in every instruction set.
const Case kCases[] = {{1, 1, 1, 1},   {3, 8, 1, 5},   {4, 9, 2, 3},    {5, 16, 3, 7},
                       {6, 17, 1, 40}, {7, 24, 2, 16}, {11, 31, 5, 3},  {12, 32, 1, 64},
                       {13, 33, 3, 9}, {25, 40, 1, 8}, {49, 48, 2, 20}, {60, 65, 1, 33}};

// Runs in every instruction set that the processor has.
class WindowProductTest : public ::testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override {
    if (GetParam() > WidestInstructionSet()) GTEST_SKIP() << "the processor lacks the set";
    LimitInstructionSet(GetParam());
  }
  void TearDown() override { LimitInstructionSet(WidestInstructionSet()); }
};

INSTANTIATE_TEST_SUITE_P(Sets, WindowProductTest,
                         ::testing::Values(InstructionSet::kBaseline, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

// Rows that overlap and that are far from each other, as windows of an image are.
struct Problem {
  explicit Problem(const Case& problem_size)
      : size(problem_size),
        numbers(Fractions(size.rows * 3 + size.pieces * (size.length + 2), 1)),
        matrix(Fractions(size.pieces * size.length * size.columns, 2)),
        bias(Fractions(size.columns, 3)),
        added(Fractions(size.rows * size.columns, 4)) {
    for (int64_t i = 0; i < size.rows; ++i) starts.push_back(numbers.data() + (i * 7 % size.rows));
    for (int64_t i = 0; i < size.pieces; ++i) offsets.push_back(i * (size.length + 2));
    const int64_t depth = size.pieces * size.length;
    strips.resize(StripsSize(depth, size.columns));
    ArrangeStrips({matrix.data(), size.columns, 1}, depth, size.columns, 0, StripsOf(size.columns),
                  strips.data());
    product = {
        strips.data(), size.columns, offsets.data(), size.pieces, size.length, size.columns, {}};
  }

  // In double precision.
  double Sum(int64_t row, int64_t column) const {
    double sum = 0;
    for (int64_t piece = 0; piece < size.pieces; ++piece) {
      for (int64_t k = 0; k < size.length; ++k) {
        sum += double{starts[row][offsets[piece] + k]} *
               double{matrix[(piece * size.length + k) * size.columns + column]};
      }
    }
    return sum;
  }

  std::vector<float> Compute() const {
    std::vector<float> output(size.rows * size.columns + 1, kGuard);
    MultiplyWindows(product, starts.data(), size.rows, 0, StripsOf(size.columns), output.data());
    EXPECT_EQ(output.back(), kGuard);
    output.pop_back();
    return output;
  }

  Case size;
  std::vector<float> numbers;
  std::vector<float> matrix;
  std::vector<float> bias;
  std::vector<float> added;
  std::vector<const float*> starts;
  std::vector<int64_t> offsets;
  std::vector<float> strips;
  WindowProduct product;
};

// A sum of `terms` products of fractions is off by no more than this: each of `terms` roundings is
// off by half a unit of the last place of a partial sum of at most `terms`.
float Bound(int64_t terms) {
  const auto count = static_cast<float>(terms);
  return count * count * std::numeric_limits<float>::epsilon();
}

TEST_P(WindowProductTest, SumsOfProducts) {
  for (const Case& size : kCases) {
    const Problem problem(size);
    const std::vector<float> output = problem.Compute();
    for (int64_t i = 0; i < size.rows * size.columns; ++i) {
      ASSERT_NEAR(output[i], problem.Sum(i / size.columns, i % size.columns),
                  Bound(size.pieces * size.length))
          << size.rows << " x " << size.columns;
    }
  }
}

TEST_P(WindowProductTest, WhatFollowsHasTheBitsOfSeparateOperations) {
  for (const Case& size : kCases) {
    Problem problem(size);
    std::vector<float> expected = problem.Compute();
    problem.product.epilogue = {problem.bias.data(), problem.added.data(), 0.0f, 0.5f};
    for (int64_t i = 0; i < size.rows * size.columns; ++i) {
      const float sum = expected[i] + problem.bias[i % size.columns] + problem.added[i];
      expected[i] = std::min(std::max(sum, 0.0f), 0.5f);
    }
    EXPECT_EQ(problem.Compute(), expected);
  }
}

TEST_P(WindowProductTest, PartsHaveTheBitsOfTheWhole) {
  for (const Case& size : kCases) {
    const Problem problem(size);
    const std::vector<float> expected = problem.Compute();
    const int64_t strips = StripsOf(size.columns);
    std::vector<float> output(expected.size(), kGuard);
    for (int64_t row = 0; row < size.rows; row += 5) {
      for (int64_t strip = 0; strip < strips; ++strip) {
        MultiplyWindows(problem.product, problem.starts.data() + row,
                        std::min<int64_t>(5, size.rows - row), strip, strip + 1,
                        output.data() + row * size.columns);
      }
    }
    EXPECT_EQ(output, expected);
  }
}

TEST_P(WindowProductTest, NotANumberStaysAndZerosKeepTheirSign) {
  Problem problem({6, 16, 1, 4});
  std::fill(problem.numbers.begin(), problem.numbers.end(),
            std::numeric_limits<float>::quiet_NaN());
  problem.product.epilogue.least = 0;
  problem.product.epilogue.most = 6;
  for (float value : problem.Compute()) EXPECT_TRUE(std::isnan(value));
  std::fill(problem.numbers.begin(), problem.numbers.end(), 0.0f);
  problem.product.epilogue = {};
  const std::vector<float> bias(16, -0.0f);
  const std::vector<float> plain = problem.Compute();
  problem.product.epilogue.bias = bias.data();
  const std::vector<float> with_bias = problem.Compute();
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(std::signbit(plain[i]), std::signbit(with_bias[i]));
  }
}

// ---- MultiplyStrips ----

// Integers from -8 to 8, whose products and sums here are exact.
std::vector<float> Integers(int64_t count, int64_t salt) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(((i + salt) * 7919) % 17 - 8));
  }
  return values;
}

struct Sizes {
  int64_t rows;
  int64_t depth;
  int64_t columns;
};

std::vector<float> Expected(const Sizes& sizes, const std::vector<float>& a,
                            const std::vector<float>& b) {
  std::vector<float> c(sizes.rows * sizes.columns);
  for (int64_t i = 0; i < sizes.rows; ++i) {
    for (int64_t k = 0; k < sizes.depth; ++k) {
      for (int64_t j = 0; j < sizes.columns; ++j) {
        c[i * sizes.columns + j] += a[i * sizes.depth + k] * b[k * sizes.columns + j];
      }
    }
  }
  return c;
}

// How a matrix lies in memory.
enum class Lie { kRowMajor, kTransposed, kWithGaps };

std::vector<float> Arranged(const Sizes& sizes, const std::vector<float>& b, Lie lie) {
  const StridedMatrix steps = lie == Lie::kRowMajor ? StridedMatrix{nullptr, sizes.columns, 1}
                              : lie == Lie::kTransposed
                                  ? StridedMatrix{nullptr, 1, sizes.depth}
                                  : StridedMatrix{nullptr, 2, 2 * sizes.depth};
  std::vector<float> lying(2 * b.size());
  for (int64_t k = 0; k < sizes.depth; ++k) {
    for (int64_t j = 0; j < sizes.columns; ++j) {
      lying[k * steps.row_step + j * steps.column_step] = b[k * sizes.columns + j];
    }
  }
  std::vector<float> strips(StripsSize(sizes.depth, sizes.columns), kGuard);
  ArrangeStrips({lying.data(), steps.row_step, steps.column_step}, sizes.depth, sizes.columns, 0,
                StripsOf(sizes.columns), strips.data());
  return strips;
}

class StripProductTest : public WindowProductTest {
 protected:
  // The result's rows do not follow each other: what lies between them stays.
  static void Check(const Sizes& sizes) {
    SCOPED_TRACE(::testing::Message()
                 << sizes.rows << " x " << sizes.depth << " x " << sizes.columns);
    const std::vector<float> a = Integers(sizes.rows * sizes.depth, 1);
    const std::vector<float> b = Integers(sizes.depth * sizes.columns, 2);
    const std::vector<float> strips = Arranged(sizes, b, Lie::kRowMajor);
    EXPECT_EQ(Arranged(sizes, b, Lie::kTransposed), strips);
    EXPECT_EQ(Arranged(sizes, b, Lie::kWithGaps), strips);
    const int64_t step = sizes.columns + 3;
    std::vector<float> c(sizes.rows * step, kGuard);
    MultiplyStrips({a.data(), sizes.depth, sizes.rows, strips.data(), sizes.depth, sizes.columns,
                    c.data(), step});
    const std::vector<float> expected = Expected(sizes, a, b);
    for (int64_t i = 0; i < sizes.rows; ++i) {
      for (int64_t j = 0; j < step; ++j) {
        const float value = j < sizes.columns ? expected[i * sizes.columns + j] : kGuard;
        ASSERT_EQ(c[i * step + j], value) << "row " << i << ", column " << j;
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Sets, StripProductTest,
                         ::testing::Values(InstructionSet::kBaseline, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

TEST_P(StripProductTest, EverySizeOfRemainder) {
  for (const int64_t rows : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 17, 47, 48, 49, 100}) {
    for (const int64_t columns : {0, 1, 7, 15, 16, 17, 33, 64, 70, 131}) Check({rows, 5, columns});
  }
}

TEST_P(StripProductTest, SumsOfAnyLength) {
  for (const int64_t depth : {0, 1, 2, 3, 4, 255, 256, 257, 600}) Check({7, depth, 21});
}

// Few rows have loops of their own for several strips.
TEST_P(StripProductTest, FewRows) {
  for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7}) {
    for (const int64_t columns : {31, 64, 127, 128, 129, 300}) {
      for (const int64_t depth : {0, 1, 300}) Check({rows, depth, columns});
    }
  }
}

// Rows that are a multiple of 4,096 bytes apart are multiplied few at a time.
TEST_P(StripProductTest, RowsThatCollideInTheCache) {
  for (const int64_t rows : {1, 6, 7, 11, 12, 13, 48, 53}) {
    for (const int64_t columns : {10, 16, 64, 100}) Check({rows, 1024, columns});
  }
}

TEST_P(StripProductTest, TheDistanceOfRowsChangesNoBit) {
  const Sizes sizes = {29, 1024, 75};
  const std::vector<float> a = Fractions(sizes.rows * sizes.depth, 1);
  const std::vector<float> strips =
      Arranged(sizes, Fractions(sizes.depth * sizes.columns, 2), Lie::kRowMajor);
  const auto multiply = [&](int64_t row_step) {
    std::vector<float> rows(sizes.rows * row_step, kGuard);
    for (int64_t i = 0; i < sizes.rows; ++i) {
      std::copy_n(a.begin() + i * sizes.depth, sizes.depth, rows.begin() + i * row_step);
    }
    std::vector<float> c(sizes.rows * sizes.columns);
    MultiplyStrips({rows.data(), row_step, sizes.rows, strips.data(), sizes.depth, sizes.columns,
                    c.data(), sizes.columns});
    return c;
  };
  const std::vector<float> together = multiply(sizes.depth);
  EXPECT_EQ(multiply(sizes.depth + 16), together);
  EXPECT_EQ(multiply(2 * sizes.depth), together);
}

// An element's bits are those of its row and its column alone.
TEST_P(StripProductTest, RowsAndStripsMayBeCutAnywhere) {
  const Sizes sizes = {13, 300, 150};
  const std::vector<float> a = Fractions(sizes.rows * sizes.depth, 1);
  const std::vector<float> b = Fractions(sizes.depth * sizes.columns, 2);
  const std::vector<float> strips = Arranged(sizes, b, Lie::kRowMajor);
  const auto multiply = [&](int64_t row, int64_t rows, int64_t column, int64_t columns,
                            std::vector<float>* c) {
    MultiplyStrips({a.data() + row * sizes.depth, sizes.depth, rows,
                    strips.data() + column * sizes.depth, sizes.depth, columns,
                    c->data() + row * sizes.columns + column, sizes.columns});
  };
  std::vector<float> whole(sizes.rows * sizes.columns);
  multiply(0, sizes.rows, 0, sizes.columns, &whole);
  std::vector<float> parts(whole.size());
  multiply(0, 5, 0, sizes.columns, &parts);
  multiply(5, 8, 0, 16, &parts);
  multiply(5, 8, 16, sizes.columns - 16, &parts);
  EXPECT_EQ(parts, whole);
  for (const int64_t count : {1, 2, 3, 4, 5, 6, 7}) {
    std::fill(parts.begin(), parts.end(), kGuard);
    for (int64_t row = 0; row < sizes.rows; row += count) {
      multiply(row, std::min(count, sizes.rows - row), 0, sizes.columns, &parts);
    }
    EXPECT_EQ(parts, whole) << count << " rows at a time";
  }
}

TEST_P(StripProductTest, InfinitiesStayInTheirRowsAndColumns) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Sizes sizes = {3, 4, 20};
  const std::vector<float> a(sizes.rows * sizes.depth, 1.0f);
  std::vector<float> b(sizes.depth * sizes.columns, 1.0f);
  b[17] = kInfinity;
  const std::vector<float> strips = Arranged(sizes, b, Lie::kRowMajor);
  std::vector<float> c(sizes.rows * sizes.columns);
  MultiplyStrips({a.data(), sizes.depth, sizes.rows, strips.data(), sizes.depth, sizes.columns,
                  c.data(), sizes.columns});
  for (int64_t i = 0; i < static_cast<int64_t>(c.size()); ++i) {
    EXPECT_EQ(c[i], i % sizes.columns == 17 ? kInfinity : 4.0f) << i;
  }
}

}  // namespace
}  // namespace millstream::kernels
