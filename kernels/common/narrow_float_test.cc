#include "kernels/common/narrow_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>
#include <vector>

namespace millstream::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The number that a pattern of the format stands for, by the format's definition.
template <typename T>
float ByDefinition(uint16_t bits) {
  constexpr int kFractionBits = std::is_same_v<T, Float16> ? 10 : 7;
  constexpr int kBias = std::is_same_v<T, Float16> ? 15 : 127;
  constexpr int kSpecial = 2 * kBias + 1;
  const int exponent = (bits & 0x7fff) >> kFractionBits;
  const int fraction = bits & ((1 << kFractionBits) - 1);
  float magnitude;
  if (exponent == kSpecial) {
    magnitude = fraction == 0 ? kInfinity : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), 1 - kBias - kFractionBits);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction + (1 << kFractionBits)),
                           exponent - kBias - kFractionBits);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

template <typename T>
class NarrowFloatTest : public ::testing::Test {};
using NarrowFloats = ::testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(NarrowFloatTest, NarrowFloats);

TYPED_TEST(NarrowFloatTest, EveryPatternWidensToItsNumberAndBack) {
  for (int pattern = 0; pattern < 0x10000; ++pattern) {
    const uint16_t bits = static_cast<uint16_t>(pattern);
    const float wide = TypeParam::FromBits(bits);
    const float expected = ByDefinition<TypeParam>(bits);
    ASSERT_EQ(std::signbit(wide), std::signbit(expected)) << pattern;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide)) << pattern;
      const uint16_t quiet = std::numeric_limits<TypeParam>::quiet_NaN().bits;
      ASSERT_EQ(TypeParam(wide).bits, bits | quiet) << pattern;
    } else {
      ASSERT_EQ(wide, expected) << pattern;
      ASSERT_EQ(TypeParam(wide).bits, bits) << pattern;
    }
  }
}

// Between neighbours the middle goes to the even one and everything else to the nearer one; with
// monotony that settles every float.
TYPED_TEST(NarrowFloatTest, RoundsToTheNearestAndTiesToEven) {
  const uint16_t infinity = std::numeric_limits<TypeParam>::infinity().bits;
  for (uint16_t bits = 0; bits < infinity; ++bits) {
    const uint16_t next = static_cast<uint16_t>(bits + 1);
    const double low = ByDefinition<TypeParam>(bits);
    // Beyond the largest number the next one would be at the same distance as the one before.
    const double high = next == infinity
                            ? 2 * low - static_cast<double>(ByDefinition<TypeParam>(bits - 1))
                            : static_cast<double>(ByDefinition<TypeParam>(next));
    const float middle = static_cast<float>((low + high) / 2);
    const uint16_t even = (bits & 1) == 0 ? bits : next;
    for (const uint16_t sign : {uint16_t{0}, uint16_t{0x8000}}) {
      const auto narrow = [&](float x) { return TypeParam(sign != 0 ? -x : x).bits; };
      ASSERT_EQ(narrow(middle), sign | even) << bits;
      ASSERT_EQ(narrow(std::nextafter(middle, 0.0f)), sign | bits) << bits;
      ASSERT_EQ(narrow(std::nextafter(middle, kInfinity)), sign | next) << bits;
    }
  }
}

TYPED_TEST(NarrowFloatTest, WhatIsTooLargeBecomesInfinityAndWhatIsTooSmallZero) {
  const auto infinity = std::numeric_limits<TypeParam>::infinity();
  EXPECT_EQ(TypeParam(std::numeric_limits<float>::max()).bits, infinity.bits);
  EXPECT_EQ(TypeParam(kInfinity).bits, infinity.bits);
  EXPECT_EQ(TypeParam(-kInfinity).bits, infinity.bits | 0x8000);
  EXPECT_EQ(TypeParam(std::numeric_limits<float>::denorm_min()).bits, 0);
  EXPECT_EQ(TypeParam(-std::numeric_limits<float>::denorm_min()).bits, 0x8000);
}

TYPED_TEST(NarrowFloatTest, ANaNIsNeverRoundedToInfinity) {
  for (uint32_t payload : {0x000001u, 0x001fffu, 0x00ffffu, 0x400000u, 0x7fffffu}) {
    for (uint32_t sign : {0x00000000u, 0x80000000u}) {
      const float nan = narrow_float::FloatOfBits(sign | 0x7f800000 | payload);
      const TypeParam narrow(nan);
      EXPECT_TRUE(std::isnan(static_cast<float>(narrow))) << payload;
      EXPECT_EQ(narrow.bits >> 15, sign >> 31) << payload;
    }
  }
}

TYPED_TEST(NarrowFloatTest, ArraysAreConvertedAsElementsAre) {
  std::vector<TypeParam> narrow;
  for (int pattern = 0; pattern < 0x10000; pattern += 3) {
    narrow.push_back(TypeParam::FromBits(static_cast<uint16_t>(pattern)));
  }
  const int64_t n = static_cast<int64_t>(narrow.size());
  std::vector<float> wide(narrow.size());
  WidenElements(narrow.data(), n, wide.data());
  // Numbers between those of the format, too.
  std::vector<float> between = wide;
  for (float& x : between) x *= 1.0009765f;
  std::vector<TypeParam> back(narrow.size());
  NarrowElements(between.data(), n, back.data());
  for (size_t i = 0; i < narrow.size(); ++i) {
    ASSERT_EQ(narrow_float::BitsOfFloat(wide[i]),
              narrow_float::BitsOfFloat(static_cast<float>(narrow[i])))
        << i;
    ASSERT_EQ(back[i].bits, TypeParam(between[i]).bits) << i;
  }
}

TYPED_TEST(NarrowFloatTest, LimitsAreTheFormats) {
  using Limits = std::numeric_limits<TypeParam>;
  EXPECT_TRUE(std::isinf(static_cast<float>(Limits::infinity())));
  EXPECT_TRUE(std::isnan(static_cast<float>(Limits::quiet_NaN())));
  EXPECT_EQ(Limits::max().bits + 1, Limits::infinity().bits);
  EXPECT_EQ(static_cast<float>(Limits::lowest()), -static_cast<float>(Limits::max()));
  EXPECT_EQ(static_cast<float>(Limits::epsilon()),
            static_cast<float>(TypeParam::FromBits(TypeParam(1.0f).bits + 1)) - 1.0f);
  EXPECT_EQ(std::ldexp(1.0f, 1 - Limits::digits), static_cast<float>(Limits::epsilon()));
}

TYPED_TEST(NarrowFloatTest, WidensByItselfAndNarrowsOnlyWhenAsked) {
  static_assert(std::is_convertible_v<TypeParam, float>);
  static_assert(!std::is_convertible_v<float, TypeParam>);
  static_assert(std::is_same_v<decltype(TypeParam() + TypeParam()), float>);
  const TypeParam x(1.5f);
  const TypeParam y(2.0f);
  EXPECT_EQ(x * y, 3.0f);
  EXPECT_LT(x, y);
  EXPECT_EQ(ms::DTypeOf<TypeParam>(), TypeParam::kDType);
}

// What numpy.float16 gives.
TEST(Float16Test, KnownPatterns) {
  EXPECT_EQ(Float16(1.0f).bits, 0x3c00);
  EXPECT_EQ(Float16(-2.0f).bits, 0xc000);
  EXPECT_EQ(Float16(0.1f).bits, 0x2e66);
  EXPECT_EQ(Float16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Float16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Float16(5.9604645e-8f).bits, 0x0001);
  EXPECT_EQ(Float16(2.9802322e-8f).bits, 0x0000);
  EXPECT_EQ(Float16(6.097555e-5f).bits, 0x03ff);
}

TEST(BFloat16Test, KnownPatterns) {
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(-2.0f).bits, 0xc000);
  EXPECT_EQ(BFloat16(0.1f).bits, 0x3dcd);
  EXPECT_EQ(BFloat16(3.14159265f).bits, 0x4049);
}

}  // namespace
}  // namespace millstream::kernels
