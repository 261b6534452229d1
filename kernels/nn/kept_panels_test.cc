#include "kernels/nn/kept_panels.h"

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

TEST(KeptPanelsTest, EqualWeightsHaveOneCopy) {
  const std::vector<float> one = Numbers(5 * 19);
  const std::vector<float> other = Numbers(5 * 19);
  const KeptPanels first = KeepPanels({one.data(), 5, 19, false});
  EXPECT_EQ(KeepPanels({other.data(), 5, 19, false}), first);
  EXPECT_EQ((*first)[0].values[1], 2.0f);
  EXPECT_EQ((*first)[5].values[2], 19.0f);
  EXPECT_EQ((*first)[5].values[3], 0.0f);
}

TEST(KeptPanelsTest, OtherWeightsHaveOthers) {
  std::vector<float> numbers = Numbers(6 * 6);
  const KeptPanels first = KeepPanels({numbers.data(), 6, 6, false});
  const KeptPanels transposed = KeepPanels({numbers.data(), 6, 6, true});
  EXPECT_NE(transposed, first);
  EXPECT_EQ((*transposed)[0].values[1], 7.0f);
  EXPECT_NE(KeepPanels({numbers.data(), 4, 9, false}), first);
  numbers[35] = -1;
  EXPECT_NE(KeepPanels({numbers.data(), 6, 6, false}), first);
}

TEST(KeptPanelsTest, WhatNobodyKeepsIsFreed) {
  const std::vector<float> numbers = Numbers(7 * 3);
  std::weak_ptr<const std::vector<PanelRow>> kept = KeepPanels({numbers.data(), 7, 3, false});
  EXPECT_TRUE(kept.expired());
  EXPECT_NE(KeepPanels({numbers.data(), 7, 3, false}), nullptr);
}

}  // namespace
}  // namespace millstream::kernels
