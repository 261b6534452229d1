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

TEST(KeptStripsTest, WhatNobodyKeepsIsFreed) {
  const std::vector<float> numbers = Numbers(7 * 3);
  std::weak_ptr<const std::vector<StripRow>> kept = KeepStrips({numbers.data(), 7, 3, false});
  EXPECT_TRUE(kept.expired());
  EXPECT_NE(KeepStrips({numbers.data(), 7, 3, false}), nullptr);
}

TEST(StripPartsTest, PartsAreWholeStripsOfAllColumns) {
  for (const int64_t columns : {1, 16, 17, 130, 1000}) {
    for (const int64_t threads : {1, 2, 3, 8}) {
      const StripParts parts(1, 1 << 16, columns, threads);
      EXPECT_LE(parts.count(), threads);
      EXPECT_EQ(parts.first_column(0), 0);
      EXPECT_EQ(parts.first_column(parts.count()), columns);
      for (int64_t part = 0; part < parts.count(); ++part) {
        EXPECT_EQ(parts.first_column(part) % kStripColumns, 0);
        EXPECT_LT(parts.first_column(part), parts.first_column(part + 1));
      }
    }
  }
}

TEST(StripPartsTest, FewWeightsAreOnePart) {
  EXPECT_EQ(StripParts(1, 256, 256, 8).count(), 1);
  EXPECT_EQ(StripParts(1, 784, 256, 2).count(), 2);
  EXPECT_EQ(StripParts(1, 784, 256, 8).count(), 3);
  EXPECT_EQ(StripParts(2, 784, 256, 8).count(), 3);
  EXPECT_EQ(StripParts(4, 784, 256, 8).count(), 6);
  EXPECT_EQ(StripParts(1, 0, 256, 8).count(), 1);
  EXPECT_EQ(StripParts(0, 784, 0, 8).count(), 1);
}

}  // namespace
}  // namespace millstream::kernels
