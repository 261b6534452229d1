#include "core/device/random_stream.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

AttrMap Seeds(int64_t seed, int64_t seed2) {
  AttrMap attrs;
  SetAttr(&attrs, "seed", seed);
  SetAttr(&attrs, "seed2", seed2);
  return attrs;
}

std::vector<uint32_t> Draw(RandomNumbers* numbers, int count) {
  std::vector<uint32_t> drawn;
  for (int i = 0; i < count; ++i) drawn.push_back(numbers->Next());
  return drawn;
}

// The known answer of the generator's authors for a key and a counter of zeros (kat_vectors of
// Random123), which begins at the second seed here.
TEST(RandomStreamTest, GivesTheKnownAnswer) {
  AttrMap without_seeds;
  RandomStream stream(without_seeds);
  RandomNumbers numbers(&stream);
  EXPECT_THAT(Draw(&numbers, 4), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
}

TEST(RandomStreamTest, ContinuesBehindWhatWasReserved) {
  RandomStream whole(Seeds(1, 2));
  RandomNumbers numbers(&whole);
  std::vector<uint32_t> expected = Draw(&numbers, 12);
  RandomStream parts(Seeds(1, 2));
  RandomNumbers first(&parts, 2);
  RandomNumbers second(&parts, 1);
  EXPECT_EQ(Draw(&first, 8), std::vector<uint32_t>(expected.begin(), expected.begin() + 8));
  EXPECT_EQ(Draw(&second, 4), std::vector<uint32_t>(expected.begin() + 8, expected.end()));
}

TEST(RandomStreamTest, DrawsAnotherStreamWithoutSeeds) {
  RandomStream first(Seeds(0, 0));
  RandomStream second(Seeds(0, 0));
  RandomNumbers one(&first);
  RandomNumbers other(&second);
  EXPECT_NE(Draw(&one, 4), Draw(&other, 4));
}

TEST(RandomStreamTest, NumbersBelowAreBelow) {
  RandomStream stream(Seeds(3, 4));
  RandomNumbers numbers(&stream);
  std::vector<int> counts(3);
  for (int i = 0; i < 300; ++i) ++counts.at(numbers.Below(3));
  for (const int count : counts) EXPECT_GT(count, 50);
}

}  // namespace
}  // namespace millstream
