#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/random/distributions.h"
#include "kernels/random/philox.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

constexpr int64_t kSeed = 7;
constexpr int64_t kSeed2 = 9;

template <typename T>
void Prepare(const std::vector<int32_t>& shape, KernelTester* t) {
  t->Attr("T", MS_INT32).Attr("dtype", ms::DTypeOf<T>()).Attr("Tout", ms::DTypeOf<T>());
  t->Attr("seed", kSeed).Attr("seed2", kSeed2).Outputs({ms::DTypeOf<T>()});
  t->Input<int32_t>({static_cast<int64_t>(shape.size())}, shape);
}

// What two executions of one node in a row give.
template <typename T>
void ExpectTwoRuns(const std::string& op, const std::vector<T>& first, const std::vector<T>& second,
                   double tolerance) {
  KernelTester t(op);
  Prepare<T>({static_cast<int32_t>(first.size())}, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_TRUE(IsNear(t.template Output<T>(0), first, tolerance, tolerance)) << op;
  EXPECT_EQ(t.reserved_blocks(), 256 * first.size());
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_TRUE(IsNear(t.template Output<T>(0), second, tolerance, tolerance)) << op;
}

// The numbers are those of other programs with the same seeds; they pin the stream, how far an
// execution advances it, and the formulas.
TEST(RandomUniformTest, GivesTheKnownBits) {
  ExpectTwoRuns<float>(
      "RandomUniform",
      {0x1.129bccp-1f, 0x1.e4982p-2f, 0x1.db05bp-2f, 0x1.08eb04p-1f, 0x1.666fe4p-1f},
      {0x1.20de6p-2f, 0x1.1491ep-3f, 0x1.86c0bcp-1f, 0x1.9dfb74p-1f, 0x1.1f6308p-2f}, 0);
  ExpectTwoRuns<double>("RandomUniform",
                        {0x1.29bce2cf24c10p-2, 0x1.6c16c25847582p-1, 0x1.337f37bba99ecp-1,
                         0x1.aefc51e09bad6p-1, 0x1.d73e3e2fcfc80p-1},
                        {0x1.06f319e452478p-2, 0x1.b02fb2e77edd0p-4, 0x1.f630974698d68p-3,
                         0x1.60b80e8204ef8p-2, 0x1.c3e110f0b48f8p-2},
                        0);
}

TEST(RandomStandardNormalTest, GivesTheKnownNumbers) {
  ExpectTwoRuns<float>(
      "RandomStandardNormal",
      {0x1.7e9bb2p-3f, -0x1.19b8fcp+0f, -0x1.153f6ep-3f, -0x1.3b6636p+0f, -0x1.ac9522p-1f},
      {0x1.319310p+0f, 0x1.0d4020p+0f, -0x1.5f38e4p-1f, 0x1.0ec978p-2f, 0x1.ec6ea4p-1f}, 1e-6);
  ExpectTwoRuns<double>("RandomStandardNormal",
                        {-0x1.866ce4462025dp+0, -0x1.8560282723783p-2, -0x1.b16e788f4db6fp-1,
                         0x1.19de8c0a7916ap-1, 0x1.3fa71cda96851p-2},
                        {0x1.03cd7f6d7b6e9p+0, 0x1.4cb5d7791b70ep+0, 0x1.63d682182e26ap+0,
                         -0x1.e014d40d9054ap-1, -0x1.d109e2824da77p-2},
                        1e-14);
}

TEST(TruncatedNormalTest, GivesTheKnownNumbers) {
  ExpectTwoRuns<float>(
      "TruncatedNormal",
      {0x1.7e9bb2p-3f, -0x1.19b8fcp+0f, -0x1.153f6ep-3f, -0x1.3b6636p+0f, 0x1.26e3a8p-2f},
      {0x1.319310p+0f, 0x1.0d4020p+0f, -0x1.5f38e4p-1f, 0x1.0ec978p-2f, 0x1.55d13cp+0f}, 1e-6);
  ExpectTwoRuns<double>("TruncatedNormal",
                        {-0x1.866ce4462025dp+0, -0x1.8560282723783p-2, 0x1.aca3c055bc34bp-2,
                         0x1.2bd653eb0d408p+0, -0x1.9b88f97d45f88p-3},
                        {0x1.03cd7f6d7b6e9p+0, 0x1.4cb5d7791b70ep+0, -0x1.3461e49996748p+0,
                         0x1.51b39b8bba489p-1, 0x1.d5e6e7ffed181p-1},
                        1e-14);
}

template <typename T>
std::vector<T> OfBits(const std::vector<uint16_t>& patterns) {
  std::vector<T> values;
  for (uint16_t bits : patterns) values.push_back(T::FromBits(bits));
  return values;
}

TEST(NarrowRandomTest, UniformNumbersHaveTheKnownBits) {
  ExpectTwoRuns<Float16>("RandomUniform", OfBits<Float16>({0x39e6, 0x3a08, 0x31b0, 0x3982, 0x3bf2}),
                         OfBits<Float16>({0x3b98, 0x3478, 0x29e0, 0x39ba, 0x2e10}), 0);
  ExpectTwoRuns<BFloat16>("RandomUniform",
                          OfBits<BFloat16>({0x3f66, 0x3d00, 0x3ed8, 0x3f02, 0x3f72}),
                          OfBits<BFloat16>({0x3f18, 0x3e70, 0x3ebc, 0x3f3a, 0x3f42}), 0);
}

TEST(NarrowRandomTest, NormalNumbersAreRoundedFloats) {
  ExpectTwoRuns<Float16>("RandomStandardNormal",
                         OfBits<Float16>({0x31fa, 0xbc67, 0xb055, 0xbcee, 0xbab2}),
                         OfBits<Float16>({0x3cc6, 0x3c35, 0xb97d, 0x343b, 0x3bb2}), 0);
  ExpectTwoRuns<BFloat16>("RandomStandardNormal",
                          OfBits<BFloat16>({0x3e3f, 0xbf8d, 0xbe0b, 0xbf9e, 0xbf56}),
                          OfBits<BFloat16>({0x3f99, 0x3f87, 0xbf30, 0x3e87, 0x3f76}), 0);
  ExpectTwoRuns<Float16>("TruncatedNormal",
                         OfBits<Float16>({0x31fa, 0xbc67, 0xb055, 0xbcee, 0x349c}),
                         OfBits<Float16>({0x3cc6, 0x3c35, 0xb97d, 0x343b, 0x3d57}), 0);
  ExpectTwoRuns<BFloat16>("TruncatedNormal",
                          OfBits<BFloat16>({0x3e3f, 0xbf8d, 0xbe0b, 0xbf9e, 0x3e93}),
                          OfBits<BFloat16>({0x3f99, 0x3f87, 0xbf30, 0x3e87, 0x3fab}), 0);
}

template <typename T>
std::vector<std::vector<T>> TwoIntegerRuns(int32_t size, T low, T high) {
  KernelTester t("RandomUniformInt");
  Prepare<T>({size}, &t);
  t.Input<T>({}, {low}).template Input<T>({}, {high});
  std::vector<std::vector<T>> runs;
  for (int run = 0; run < 2; ++run) {
    EXPECT_TRUE(IsOk(t.Run()));
    runs.push_back(t.template Output<T>(0));
  }
  return runs;
}

TEST(RandomUniformIntTest, GivesTheKnownNumbers) {
  EXPECT_EQ(
      TwoIntegerRuns<int32_t>(5, -5, 1000),
      (std::vector<std::vector<int32_t>>{{776, 915, 483, 143, 150}, {462, 31, 639, 826, 133}}));
  EXPECT_EQ(
      TwoIntegerRuns<int64_t>(5, -5, 1000),
      (std::vector<std::vector<int64_t>>{{316, 811, 132, 399, 40}, {243, 525, 17, 870, 986}}));
}

TEST(RandomUniformIntTest, SpansTheWholeTypeWithoutOverflow) {
  const auto low_runs = TwoIntegerRuns<int64_t>(1000, INT64_MIN, INT64_MIN + 3);
  for (int64_t value : low_runs[0]) EXPECT_LT(value, INT64_MIN + 3);
  const auto wide_runs = TwoIntegerRuns<int32_t>(1000, INT32_MIN, INT32_MAX);
  for (int32_t value : wide_runs[0]) EXPECT_LT(value, INT32_MAX);
}

TEST(RandomUniformIntTest, RefusesAnEmptyRangeUnlessNothingIsDrawn) {
  for (int32_t size : {0, 3}) {
    KernelTester t("RandomUniformInt");
    Prepare<int32_t>({size}, &t);
    t.Input<int32_t>({}, {5}).Input<int32_t>({}, {5});
    const ms::Status status = t.Run();
    if (size == 0) {
      EXPECT_TRUE(IsOk(status));
      continue;
    }
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
    EXPECT_EQ(status.message(),
              "minval must be smaller than maxval, but minval = 5 and maxval = 5");
  }
}

TEST(RandomUniformTest, MakesEachOutputFromItsOwnWord) {
  constexpr int64_t kSize = 100003;
  KernelTester t("RandomUniform");
  Prepare<float>({static_cast<int32_t>(kSize)}, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  const std::vector<float> values = t.Output<float>(0);
  for (int64_t i = 0; i < kSize; ++i) {
    const PhiloxBlock block = PhiloxAt({kSeed, {static_cast<uint64_t>(i / 4), kSeed2}});
    ASSERT_EQ(values[i], UniformFloat(block[i % 4])) << i;
  }
}

TEST(RandomStandardNormalTest, HasTheMomentsOfANormalDistribution) {
  KernelTester t("RandomStandardNormal");
  Prepare<double>({300, 1001}, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  double sum = 0;
  double sum_of_squares = 0;
  for (double value : t.Output<double>(0)) {
    sum += value;
    sum_of_squares += value * value;
  }
  EXPECT_NEAR(sum / 300300, 0, 0.01);
  EXPECT_NEAR(sum_of_squares / 300300, 1, 0.02);
}

TEST(TruncatedNormalTest, StaysBelowTwo) {
  KernelTester t("TruncatedNormal");
  Prepare<float>({50001}, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  double sum_of_squares = 0;
  for (float value : t.Output<float>(0)) {
    ASSERT_LT(std::abs(value), 2);
    sum_of_squares += static_cast<double>(value) * static_cast<double>(value);
  }
  // The variance of a standard normal number given that it lies within two of zero.
  EXPECT_NEAR(sum_of_squares / 50001, 0.7737, 0.02);
}

// Those of other programs: the part of the stream that each number has, batches fastest, and how
// far the state moves.
TEST(StatefulRandomBinomialTest, GivesTheKnownNumbers) {
  using Ints = std::vector<int64_t>;
  KernelTester t("StatefulRandomBinomial");
  t.Attr("S", MS_INT32).Attr("T", MS_FLOAT64).Attr("dtype", MS_INT64).Outputs({MS_INT64});
  t.Variable<int64_t>({3}, {7, 0, 5}).Input<int64_t>({}, {1}).Input<int32_t>({3}, {2, 2, 3});
  t.Input<double>({2, 1}, {30, 400}).Input<double>({3}, {0.25, 0.5, 0.99});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int64_t>(0), (Ints{6, 10, 29, 116, 197, 396, 6, 11, 30, 95, 216, 398}));
  EXPECT_EQ(t.VariableValue<int64_t>(0), (Ints{384007, 0, 5}));
}

TEST(RandomUniformTest, DrawsNothingForAnEmptyShape) {
  KernelTester t("RandomUniform");
  Prepare<float>({3, 0}, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(t.reserved_blocks(), 0u);
}

TEST(RandomUniformTest, NamesTheWrongDimension) {
  KernelTester t("RandomUniform");
  Prepare<float>({2, -1}, &t);
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "shape[1] = -1 is negative");
}

}  // namespace
}  // namespace millstream::kernels
