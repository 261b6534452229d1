#include "kernels/matmul/kept_strips.h"

#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace millstream::kernels {
namespace {

std::vector<float> Numbers(int64_t count) {
  std::vector<float> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  return numbers;
}

TEST(KeptStripsTest, EqualWeightsHaveOneCopy) {
  const std::vector<float> one = Numbers(5 * 19);
  const std::vector<float> other = Numbers(5 * 19);
  const KeptStrips first = KeepStrips({one.data(), 5, 19, false});
  EXPECT_EQ(KeepStrips({other.data(), 5, 19, false}), first);
  EXPECT_EQ((*first)[0].values[1], 2.0f);
  EXPECT_EQ((*first)[5].values[2], 19.0f);
  EXPECT_EQ((*first)[5].values[3], 0.0f);
}

TEST(KeptStripsTest, OtherWeightsHaveOthers) {
  std::vector<float> numbers = Numbers(6 * 6);
  const KeptStrips first = KeepStrips({numbers.data(), 6, 6, false});
  const KeptStrips transposed = KeepStrips({numbers.data(), 6, 6, true});
  EXPECT_NE(transposed, first);
  EXPECT_EQ((*transposed)[0].values[1], 7.0f);
  EXPECT_NE(KeepStrips({numbers.data(), 4, 9, false}), first);
  numbers[35] = -1;
  EXPECT_NE(KeepStrips({numbers.data(), 6, 6, false}), first);
}

TEST(KeptStripsTest, WeightsOfSeveralStripsThatDifferInOneNumber) {
  for (const bool is_transposed : {false, true}) {
    std::vector<float> numbers = Numbers(3 * 35);
    const KeptStrips first = KeepStrips({numbers.data(), 3, 35, is_transposed});
    EXPECT_EQ(KeepStrips({numbers.data(), 3, 35, is_transposed}), first);
    numbers[34] = -1;
    EXPECT_NE(KeepStrips({numbers.data(), 3, 35, is_transposed}), first);
  }
}

std::vector<StripRow> ComputedStrips(int64_t rows) {
  std::vector<StripRow> strips(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < kStripColumns; ++j) {
      strips[i].values[j] = static_cast<float>(i * kStripColumns + j) / 2;
    }
  }
  return strips;
}

TEST(KeptStripsTest, EqualComputedStripsAreOneCopy) {
  const KeptStrips first = KeepComputedStrips(ComputedStrips(11));
  EXPECT_EQ((*first)[10].values[1], 80.5f);
  EXPECT_EQ(KeepComputedStrips(ComputedStrips(11)), first);
  EXPECT_NE(KeepComputedStrips(ComputedStrips(10)), first);
  std::vector<StripRow> others = ComputedStrips(11);
  others[10].values[15] = -1;
  EXPECT_NE(KeepComputedStrips(others), first);
}

// A zero of the other sign makes other products.
TEST(KeptStripsTest, ComputedStripsAreComparedByTheirBits) {
  std::vector<StripRow> strips = ComputedStrips(2);
  const KeptStrips first = KeepComputedStrips(strips);
  strips[0].values[0] = -strips[0].values[0];
  EXPECT_NE(KeepComputedStrips(strips), first);
}

TEST(KeptStripsTest, ComputedStripsThatNobodyKeepsAreFreed) {
  std::weak_ptr<const std::vector<StripRow>> kept = KeepComputedStrips(ComputedStrips(3));
  EXPECT_TRUE(kept.expired());
  EXPECT_EQ(KeepComputedStrips({})->size(), 0u);
}

TEST(KeptStripsTest, WhatNobodyKeepsIsFreed) {
  const std::vector<float> numbers = Numbers(7 * 3);
  std::weak_ptr<const std::vector<StripRow>> kept = KeepStrips({numbers.data(), 7, 3, false});
  EXPECT_TRUE(kept.expired());
  EXPECT_NE(KeepStrips({numbers.data(), 7, 3, false}), nullptr);
}

}  // namespace
}  // namespace millstream::kernels
