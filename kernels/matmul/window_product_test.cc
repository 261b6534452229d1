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
    ArrangeStrips(matrix.data(), depth, size.columns, 0, StripsOf(size.columns), strips.data());
    product = {strips.data(), size.columns, offsets.data(), size.pieces, size.length, {}};
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

}  // namespace
}  // namespace millstream::kernels
