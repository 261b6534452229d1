#include "framework/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace millstream {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Every finite non-negative pattern `bits` below `infinity`, with the middle to the next one.
template <typename ToFloat, typename FromFloat>
void ExpectRoundsToNearestEven(uint16_t infinity, ToFloat to_float, FromFloat from_float) {
  for (uint16_t bits = 0; bits + 1 < infinity; ++bits) {
    const uint16_t next = static_cast<uint16_t>(bits + 1);
    const float low = to_float(bits);
    const float middle = low / 2 + to_float(next) / 2;
    ASSERT_EQ(from_float(low), bits);
    ASSERT_EQ(from_float(-low), bits | 0x8000);
    // The middle between the smallest number and zero may itself be lost.
    if (middle <= low) continue;
    ASSERT_EQ(from_float(middle), (bits & 1) == 0 ? bits : next) << bits;
    ASSERT_EQ(from_float(std::nextafter(middle, kInfinity)), next) << bits;
    ASSERT_EQ(from_float(std::nextafter(middle, 0.0f)), bits) << bits;
  }
}

TEST(HalfTest, FloatsAreRoundedToTheNearestAndTiesToEven) {
  ExpectRoundsToNearestEven(0x7c00, &HalfToFloat, &FloatToHalf);
  ExpectRoundsToNearestEven(0x7f80, &BFloat16ToFloat, &FloatToBFloat16);
}

TEST(HalfTest, WhatIsTooLargeIsInfinity) {
  EXPECT_EQ(FloatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToHalf(-kInfinity), 0xfc00);
  EXPECT_EQ(FloatToBFloat16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(FloatToBFloat16(kInfinity), 0x7f80);
}

TEST(HalfTest, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(nan))));
  EXPECT_TRUE(std::isnan(BFloat16ToFloat(FloatToBFloat16(nan))));
}

}  // namespace
}  // namespace millstream
