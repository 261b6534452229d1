#include "kernels/random/philox.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace millstream::kernels {
namespace {

// The known answers that the authors of the generator publish with it (Random123, kat_vectors).
TEST(PhiloxTest, GivesThePublishedAnswers) {
  EXPECT_EQ(PhiloxAt({0, {0, 0}}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(PhiloxAt({UINT64_MAX, {UINT64_MAX, UINT64_MAX}}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(PhiloxAt({0x299f31d0a4093822, {0x85a308d3243f6a88, 0x0370734413198a2e}}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

void ExpectFillIsBlockAfterBlock(const PhiloxPosition& start, uint64_t count) {
  std::vector<uint32_t> words(4 * count);
  PhiloxFill(start, count, words.data());
  std::vector<uint32_t> expected;
  for (uint64_t i = 0; i < count; ++i) {
    const PhiloxBlock block = PhiloxAt(start.Advanced(i));
    expected.insert(expected.end(), block.begin(), block.end());
  }
  EXPECT_EQ(words, expected) << count << " blocks";
}

TEST(PhiloxTest, FillsAnyNumberOfBlocks) {
  for (uint64_t count = 0; count < 70; ++count) {
    ExpectFillIsBlockAfterBlock({0x123456789abcdef0, {0xfffffffa, 77}}, count);
  }
}

TEST(PhiloxTest, CarriesTheCounterInto64BitsMore) {
  ExpectFillIsBlockAfterBlock({5, {UINT64_MAX - 20, 9}}, 64);
  const PhiloxPosition advanced = PhiloxPosition{5, {UINT64_MAX - 1, 9}}.Advanced(3);
  EXPECT_EQ(advanced.counter[0], 1u);
  EXPECT_EQ(advanced.counter[1], 10u);
}

}  // namespace
}  // namespace millstream::kernels
