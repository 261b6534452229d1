// The elementwise kernels on float16 and bfloat16, whose loops are those of float.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

template <typename T>
std::vector<T> Narrow(const std::vector<float>& values) {
  std::vector<T> narrow;
  for (float value : values) narrow.push_back(T(value));
  return narrow;
}

// More than one tile, of a size that no tile divides.
constexpr int64_t kMany = 2500;

// kMany numbers that every 16-bit type holds.
template <typename T>
std::vector<T> Many() {
  std::vector<T> values;
  for (int64_t i = 0; i < kMany; ++i) values.push_back(T(static_cast<float>(i % 97 - 40) / 8));
  return values;
}

template <typename T>
class NarrowTypesTest : public ::testing::Test {
 protected:
  // op(x, y), broadcast.
  template <typename Result = T>
  std::vector<Result> Binary(const std::string& op, std::vector<int64_t> x_shape,
                             const std::vector<T>& x, std::vector<int64_t> y_shape,
                             const std::vector<T>& y) {
    KernelTester t(op);
    t.Attr("T", T::kDType).Attr("incompatible_shape_error", true);
    t.Outputs({ms::DTypeOf<Result>()});
    t.template Input<T>(x_shape, x).template Input<T>(y_shape, y);
    EXPECT_TRUE(IsOk(t.Run())) << op;
    return t.template Output<Result>(0);
  }

  std::vector<T> Unary(const std::string& op, const std::vector<T>& x) {
    KernelTester t(op);
    t.Attr("T", T::kDType);
    t.template Input<T>({static_cast<int64_t>(x.size())}, x);
    EXPECT_TRUE(IsOk(t.Run())) << op;
    return t.template Output<T>(0);
  }
};
using NarrowFloats = ::testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(NarrowTypesTest, NarrowFloats);

TYPED_TEST(NarrowTypesTest, OperandsOfOneShapeAreComputedInFloatAndRounded) {
  using T = TypeParam;
  const std::vector<T> x = Many<T>();
  const std::vector<T> y(x.rbegin(), x.rend());
  const std::vector<T> sum = this->Binary("AddV2", {kMany}, x, {kMany}, y);
  const std::vector<T> product = this->Binary("Mul", {kMany}, x, {kMany}, y);
  for (int64_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(sum[i].bits, T(x[i] + y[i]).bits) << i;
    ASSERT_EQ(product[i].bits, T(x[i] * y[i]).bits) << i;
  }
}

TYPED_TEST(NarrowTypesTest, OperandsThatRepeatInARowOrOverRowsAreComputed) {
  using T = TypeParam;
  const std::vector<T> x = Many<T>();
  const std::vector<T> two = Narrow<T>({2.0f});
  const std::vector<T> scaled = this->Binary("Mul", {kMany}, x, {}, two);
  const std::vector<T> difference = this->Binary("Sub", {}, two, {kMany}, x);
  for (int64_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(scaled[i].bits, T(x[i] * 2).bits) << i;
    ASSERT_EQ(difference[i].bits, T(2 - x[i]).bits) << i;
  }
  const std::vector<T> rows =
      this->Binary("AddV2", {2, 1, 3}, Narrow<T>({1, 2, 3, 4, 5, 6}), {2, 1}, Narrow<T>({10, 20}));
  EXPECT_EQ(rows, Narrow<T>({11, 12, 13, 21, 22, 23, 14, 15, 16, 24, 25, 26}));
}

TYPED_TEST(NarrowTypesTest, ComparisonsGiveBools) {
  using T = TypeParam;
  const float nan = std::nanf("");
  const std::vector<T> x = Narrow<T>({1, 2, nan, 0.0f});
  const std::vector<T> y = Narrow<T>({2, 1, nan, -0.0f});
  const auto compare = [&](const std::string& op) {
    return this->template Binary<bool>(op, {4}, x, {4}, y);
  };
  using Bools = std::vector<bool>;
  EXPECT_EQ(compare("Less"), (Bools{true, false, false, false}));
  EXPECT_EQ(compare("LessEqual"), (Bools{true, false, false, true}));
  EXPECT_EQ(compare("Greater"), (Bools{false, true, false, false}));
  EXPECT_EQ(compare("GreaterEqual"), (Bools{false, true, false, true}));
  EXPECT_EQ(compare("Equal"), (Bools{false, false, false, true}));
  EXPECT_EQ(compare("NotEqual"), (Bools{true, true, true, false}));

  const std::vector<T> many = Many<T>();
  const std::vector<bool> positive =
      this->template Binary<bool>("Greater", {kMany}, many, {}, Narrow<T>({0}));
  for (int64_t i = 0; i < kMany; ++i) ASSERT_EQ(positive[i], many[i] > 0) << i;
}

TYPED_TEST(NarrowTypesTest, FunctionsAreComputedInFloatAndRounded) {
  using T = TypeParam;
  const std::vector<T> x = Many<T>();
  const std::vector<T> tanh = this->Unary("Tanh", x);
  const std::vector<T> floor = this->Unary("Floor", x);
  const std::vector<T> negative = this->Unary("Neg", x);
  const std::vector<T> relu = this->Unary("Relu", x);
  for (int64_t i = 0; i < kMany; ++i) {
    const float right = std::tanh(static_cast<float>(x[i]));
    // float's last place may decide a tie.
    ASSERT_NEAR(tanh[i], right, static_cast<float>(std::numeric_limits<T>::epsilon())) << i;
    ASSERT_EQ(floor[i], std::floor(static_cast<float>(x[i]))) << i;
    ASSERT_EQ(negative[i].bits, x[i].bits ^ 0x8000) << i;
    ASSERT_EQ(relu[i], x[i] > 0 ? x[i] : 0.0f) << i;
  }
  EXPECT_EQ(this->Unary("Sqrt", Narrow<T>({4, 2.25f})), Narrow<T>({2, 1.5f}));
  EXPECT_EQ(this->Unary("Rsqrt", Narrow<T>({4, 0.25f})), Narrow<T>({0.5f, 2}));
  EXPECT_EQ(this->Unary("Sign", Narrow<T>({-3, 0, 5})), Narrow<T>({-1, 0, 1}));
  EXPECT_EQ(this->Unary("Abs", Narrow<T>({-3, 0, 5})), Narrow<T>({3, 0, 5}));
  EXPECT_EQ(this->Unary("OnesLike", x), std::vector<T>(x.size(), T(1)));
}

TYPED_TEST(NarrowTypesTest, FloorDivAndFloorModRoundDown) {
  using T = TypeParam;
  EXPECT_EQ(this->Binary("FloorDiv", {3}, Narrow<T>({7, -7, 1}), {3}, Narrow<T>({2, 2, 0.25f})),
            Narrow<T>({3, -4, 4}));
  EXPECT_EQ(this->Binary("FloorMod", {2}, Narrow<T>({7, -7}), {2}, Narrow<T>({4, 4})),
            Narrow<T>({3, 1}));
}

TYPED_TEST(NarrowTypesTest, TruncateDivCutsTowardsZero) {
  using T = TypeParam;
  EXPECT_EQ(this->Binary("TruncateDiv", {3}, Narrow<T>({7, -7, 1}), {3}, Narrow<T>({2, 2, -0.3f})),
            Narrow<T>({3, -3, -3}));
}

TEST(NarrowFloorDivTest, QuotientsAreRoundedToTheTypeBeforeTheirFloorIsTaken) {
  const auto floor_div = [](auto x, auto y) {
    using T = decltype(x);
    KernelTester t("FloorDiv");
    t.Attr("T", T::kDType);
    t.Input<T>({1}, {x}).template Input<T>({1}, {y});
    EXPECT_TRUE(IsOk(t.Run()));
    return static_cast<float>(t.Output<T>(0).at(0));
  };
  // 513.875..., 4.995...: nearer to the next whole number than to any other of the type.
  EXPECT_EQ(floor_div(Float16(17.125f), Float16(1.0f / 30)), 514);
  EXPECT_EQ(floor_div(BFloat16(0.5f), BFloat16(0.1f)), 5);
}

TYPED_TEST(NarrowTypesTest, SumsOfManyAreRoundedOnce) {
  using T = TypeParam;
  // One after the other, each small term would be lost.
  const float small = static_cast<float>(std::numeric_limits<T>::epsilon()) / 2;
  KernelTester t("AddN");
  t.Attr("T", T::kDType).Attr("N", int64_t{4});
  t.template Input<T>({kMany}, std::vector<T>(kMany, T(1.0f)));
  for (int i = 0; i < 3; ++i) t.template Input<T>({kMany}, std::vector<T>(kMany, T(small)));
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.template Output<T>(0), std::vector<T>(kMany, T(1.0f + 3 * small)));
}

TYPED_TEST(NarrowTypesTest, GradientsAndBiasesAreComputed) {
  using T = TypeParam;
  const std::vector<T> y = Narrow<T>({0.5f, 2, 4});
  const std::vector<T> dy = Narrow<T>({1, 2, 3});
  const auto gradient = [&](const std::string& op) { return this->Binary(op, {3}, y, {3}, dy); };
  EXPECT_EQ(gradient("TanhGrad"), Narrow<T>({0.75f, -6, -45}));
  EXPECT_EQ(gradient("SigmoidGrad"), Narrow<T>({0.25f, -4, -36}));
  EXPECT_EQ(gradient("SqrtGrad"), Narrow<T>({1, 0.5f, 0.375f}));
  EXPECT_EQ(gradient("RsqrtGrad"), Narrow<T>({-0.0625f, -8, -96}));
  EXPECT_EQ(gradient("ReciprocalGrad"), Narrow<T>({-0.25f, -8, -48}));
  EXPECT_EQ(this->Binary("ReluGrad", {3}, dy, {3}, Narrow<T>({-1, 0, 1})), Narrow<T>({0, 0, 3}));

  KernelTester t("BiasAdd");
  t.Attr("T", T::kDType).Attr("data_format", "NHWC");
  t.template Input<T>({2, 2}, Narrow<T>({1, 2, 3, 4})).template Input<T>({2}, Narrow<T>({10, 20}));
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.template Output<T>(0), Narrow<T>({11, 22, 13, 24}));
}

}  // namespace
}  // namespace millstream::kernels
