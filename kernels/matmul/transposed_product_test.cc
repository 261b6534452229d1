#include "kernels/matmul/transposed_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/matmul/window_product.h"
#include "kernels/simd/instruction_set.h"
#include "kernels/testing/fractions.h"

namespace millstream::kernels {
namespace {

using testing::Fractions;

struct Case {
  int64_t depth;
  int64_t rows;
  int64_t columns;
};

// Runs in every instruction set that the processor has.
class TransposedProductTest : public ::testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override {
    if (GetParam() > WidestInstructionSet()) GTEST_SKIP() << "the processor lacks the set";
    LimitInstructionSet(GetParam());
  }
  void TearDown() override { LimitInstructionSet(WidestInstructionSet()); }
};

INSTANTIATE_TEST_SUITE_P(Sets, TransposedProductTest,
                         ::testing::Values(InstructionSet::kBaseline, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

// Around the sizes of tiles in every instruction set.
TEST_P(TransposedProductTest, IsAddedToTheSums) {
  for (const Case& size :
       {Case{1, 1, 1}, Case{5, 3, 8}, Case{48, 4, 16}, Case{7, 6, 17}, Case{3, 7, 31},
        Case{40, 12, 32}, Case{9, 23, 33}, Case{2, 27, 64}, Case{0, 5, 20}, Case{4, 0, 20}}) {
    SCOPED_TRACE(::testing::Message() << size.depth << " x " << size.rows << " x " << size.columns);
    const int64_t left_step = size.rows + 3;
    const std::vector<float> left = Fractions(size.depth * left_step, 1);
    const std::vector<float> right = Fractions(size.depth * size.columns, 2);
    std::vector<float> strips(StripsSize(size.depth, size.columns));
    ArrangeStrips({right.data(), size.columns, 1}, size.depth, size.columns, 0,
                  StripsOf(size.columns), strips.data());
    const int64_t step = StripsOf(size.columns) * kStripColumns + 5;
    const std::vector<float> before = Fractions(size.rows * step, 3);
    std::vector<float> sums = before;
    AddTransposedProduct({left.data(), left_step, size.depth, size.rows, strips.data(),
                          size.columns, sums.data(), step});
    for (int64_t i = 0; i < size.rows; ++i) {
      for (int64_t j = 0; j < step; ++j) {
        const int64_t at = i * step + j;
        double expected = static_cast<double>(before[at]);
        double terms = std::fabs(expected);
        for (int64_t k = 0; j < size.columns && k < size.depth; ++k) {
          const double term = static_cast<double>(left[k * left_step + i]) *
                              static_cast<double>(right[k * size.columns + j]);
          expected += term;
          terms += std::fabs(term);
        }
        // What lies behind the columns gets zeros added, or nothing.
        const double unit = std::numeric_limits<float>::epsilon();
        const double bound =
            j < size.columns ? unit * terms * static_cast<double>(size.depth + 1) : 0;
        ASSERT_LE(std::fabs(static_cast<double>(sums[at]) - expected), bound) << i << ", " << j;
      }
    }
  }
}

}  // namespace
}  // namespace millstream::kernels
