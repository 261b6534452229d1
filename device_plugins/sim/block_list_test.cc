#include "device_plugins/sim/block_list.h"

#include <map>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream::sim {
namespace {

using ::testing::Optional;

constexpr uint64_t kUnit = BlockList::kGranularity;
constexpr uint64_t kBegin = 1 << 20;

TEST(BlockListTest, SizesAreRoundedUp) {
  BlockList blocks(kBegin, 10 * kUnit);
  EXPECT_THAT(blocks.Take(1, 0), Optional(kBegin));
  EXPECT_THAT(blocks.Take(kUnit + 1, 1), Optional(kBegin + kUnit));
  EXPECT_EQ(blocks.SizeAt(kBegin + kUnit), 2 * kUnit);
  EXPECT_EQ(blocks.SizeAt(kBegin + 2 * kUnit), 0u);
  EXPECT_EQ(blocks.taken_bytes(), 3 * kUnit);
  EXPECT_EQ(blocks.num_taken(), 2u);
}

TEST(BlockListTest, TheSmallestBlockWithRoomIsTaken) {
  BlockList blocks(kBegin, 20 * kUnit);
  // Holes of 4, 2 and 3, between blocks of 1.
  uint64_t holes[3];
  const uint64_t sizes[] = {4, 2, 3};
  for (int i = 0; i < 3; ++i) {
    holes[i] = *blocks.Take(sizes[i] * kUnit, 0);
    blocks.Take(kUnit, 0);
  }
  for (uint64_t hole : holes) EXPECT_TRUE(blocks.Give(hole));
  EXPECT_EQ(blocks.largest_free(), 8 * kUnit);
  EXPECT_THAT(blocks.Take(3 * kUnit, 0), Optional(holes[2]));
  EXPECT_THAT(blocks.Take(kUnit, 0), Optional(holes[1]));
  EXPECT_THAT(blocks.Take(kUnit, 0), Optional(holes[1] + kUnit));
  EXPECT_THAT(blocks.Take(kUnit, 0), Optional(holes[0]));
}

TEST(BlockListTest, NeighboursMerge) {
  BlockList blocks(kBegin, 3 * kUnit);
  const uint64_t a = *blocks.Take(kUnit, 0);
  const uint64_t b = *blocks.Take(kUnit, 0);
  const uint64_t c = *blocks.Take(kUnit, 0);
  EXPECT_EQ(blocks.largest_free(), 0u);
  EXPECT_TRUE(blocks.Give(a));
  EXPECT_TRUE(blocks.Give(c));
  EXPECT_EQ(blocks.largest_free(), kUnit) << "two holes of one";
  EXPECT_EQ(blocks.Take(2 * kUnit, 0), std::nullopt);
  EXPECT_TRUE(blocks.Give(b));
  EXPECT_EQ(blocks.largest_free(), 3 * kUnit);
  EXPECT_FALSE(blocks.Give(b)) << "it is free already";
  EXPECT_FALSE(blocks.Give(kBegin + 1));
}

TEST(BlockListTest, AlignmentLeavesAFreeBlockBefore) {
  BlockList blocks(kBegin, 64 * kUnit);
  ASSERT_TRUE(blocks.Take(kUnit, 0).has_value());
  const uint64_t aligned = *blocks.Take(kUnit, 4096);
  EXPECT_EQ(aligned, kBegin + 4096);
  EXPECT_THAT(blocks.Take(4096 - kUnit, 0), Optional(kBegin + kUnit));
}

TEST(BlockListTest, WhatCannotBeIsRefused) {
  BlockList blocks(kBegin, 2 * kUnit);
  EXPECT_EQ(blocks.Take(2 * kUnit + 1, 0), std::nullopt);
  EXPECT_EQ(blocks.Take(UINT64_MAX, 0), std::nullopt);
  EXPECT_EQ(blocks.Take(1, uint64_t{1} << 63), std::nullopt);
  EXPECT_EQ(blocks.taken_bytes(), 0u);
}

TEST(BlockListTest, CoversIsInsideOfOneBlock) {
  BlockList blocks(kBegin, 4 * kUnit);
  blocks.Take(kUnit, 0);
  const uint64_t b = *blocks.Take(kUnit, 0);
  EXPECT_TRUE(blocks.Covers(kBegin, kUnit));
  EXPECT_TRUE(blocks.Covers(b + 8, kUnit - 8));
  EXPECT_FALSE(blocks.Covers(b + 8, kUnit - 7));
  EXPECT_FALSE(blocks.Covers(kBegin, 2 * kUnit)) << "two blocks";
  EXPECT_FALSE(blocks.Covers(kBegin - 1, 1));
  EXPECT_FALSE(blocks.Covers(b + 2 * kUnit, 1));
  EXPECT_FALSE(blocks.Covers(b, UINT64_MAX));
}

// Against the definitions, over many random requests.
TEST(BlockListTest, BlocksNeverOverlapAndNothingGetsLost) {
  std::mt19937 random(7);
  constexpr uint64_t kSize = 64 * kUnit;
  BlockList blocks(kBegin, kSize);
  std::map<uint64_t, uint64_t> model;
  for (int i = 0; i < 20000; ++i) {
    if (!model.empty() && random() % 2 == 0) {
      const auto victim = std::next(model.begin(), random() % model.size());
      EXPECT_TRUE(blocks.Give(victim->first));
      model.erase(victim);
    } else {
      const uint64_t size = (1 + random() % 12) * kUnit;
      const uint64_t alignment = kUnit << (random() % 4);
      const std::optional<uint64_t> begin = blocks.Take(size, alignment);
      if (begin.has_value()) {
        EXPECT_EQ(*begin % alignment, 0u);
        model[*begin] = size;
      }
    }
    uint64_t end = kBegin;
    uint64_t taken = 0;
    uint64_t largest_hole = 0;
    for (const auto& [begin, size] : model) {
      ASSERT_GE(begin, end);
      largest_hole = std::max(largest_hole, begin - end);
      end = begin + size;
      taken += size;
    }
    ASSERT_LE(end, kBegin + kSize);
    largest_hole = std::max(largest_hole, kBegin + kSize - end);
    ASSERT_EQ(blocks.largest_free(), largest_hole);
    ASSERT_EQ(blocks.taken_bytes(), taken);
  }
}

}  // namespace
}  // namespace millstream::sim
