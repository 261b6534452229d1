// Unique and UniqueWithCounts of integers in narrow and wide ranges.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

// Compares the outputs with what a map finds.
template <typename T, typename Index>
void ExpectUniqueWithCounts(const std::vector<T>& x) {
  std::map<T, Index> known;
  std::vector<T> y;
  std::vector<Index> places;
  std::vector<Index> counts;
  for (const T value : x) {
    const auto [found, is_new] = known.emplace(value, static_cast<Index>(y.size()));
    if (is_new) {
      y.push_back(value);
      counts.push_back(0);
    }
    places.push_back(found->second);
    ++counts[static_cast<size_t>(found->second)];
  }
  const MS_DType out_idx = ms::DTypeOf<Index>();
  KernelTester t("UniqueWithCounts");
  t.Attr("T", ms::DTypeOf<T>()).Attr("out_idx", out_idx);
  t.Outputs({ms::DTypeOf<T>(), out_idx, out_idx}).DynamicOnly();
  t.Input<T>({static_cast<int64_t>(x.size())}, x);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<T>(0), y);
  EXPECT_EQ(t.Output<Index>(1), places);
  EXPECT_EQ(t.Output<Index>(2), counts);
}

// `count` numbers in [low, low + width]; a width of all bits gives any.
template <typename T>
std::vector<T> Numbers(int64_t count, T low, uint64_t width) {
  std::mt19937_64 random(11);
  std::vector<T> x(static_cast<size_t>(count));
  for (T& value : x) {
    const uint64_t step = width == ~uint64_t{0} ? random() : random() % (width + 1);
    value = static_cast<T>(static_cast<uint64_t>(low) + step);
  }
  return x;
}

template <typename T>
class UniqueIntegersTest : public ::testing::Test {};
using Types =
    ::testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(UniqueIntegersTest, Types);

TYPED_TEST(UniqueIntegersTest, RangesAroundZeroAndAtBothEnds) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  const T below_zero = static_cast<T>(std::is_signed_v<T> ? -50 : 0);
  for (const T low : {below_zero, Limits::min(), static_cast<T>(Limits::max() - 100)}) {
    ExpectUniqueWithCounts<T, int32_t>(Numbers<T>(500, low, 100));
    ExpectUniqueWithCounts<T, int64_t>(Numbers<T>(500, low, 100));
  }
}

TYPED_TEST(UniqueIntegersTest, WideRanges) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  ExpectUniqueWithCounts<T, int32_t>(Numbers<T>(3000, 0, ~uint64_t{0}));
  ExpectUniqueWithCounts<T, int64_t>({Limits::max(), Limits::min(), Limits::max(), 0});
}

// Four slots an element are the most that a table has: x reaches to one less, that many, one more.
TEST(UniqueTest, RangesAtTheLimitOfATable) {
  for (const int64_t last : {39, 40, 41}) {
    ExpectUniqueWithCounts<int64_t, int32_t>({7, 7 + last, 8, 7, 9, 7 + last, 8, 8, 8, 7});
  }
}

TEST(UniqueTest, OneElementAndNone) {
  ExpectUniqueWithCounts<int64_t, int32_t>({std::numeric_limits<int64_t>::min()});
  ExpectUniqueWithCounts<int32_t, int64_t>({});
}

// The table of other keys grows: at 128 different keys first.
TEST(UniqueTest, AnyNumberOfDifferentKeysOfAWideRange) {
  for (const int64_t different : {127, 128, 129, 512, 513, 5000}) {
    std::vector<int64_t> x;
    for (int64_t i = 0; i < 3 * different; ++i) x.push_back((i % different) * 1000003 - 500);
    ExpectUniqueWithCounts<int64_t, int32_t>(x);
    ExpectUniqueWithCounts<double, int32_t>(std::vector<double>(x.begin(), x.end()));
  }
}

}  // namespace
}  // namespace millstream::kernels
