#include <limits>
#include <string>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

TEST(AssertTest, PassesWhenTheConditionHolds) {
  KernelTester t("Assert");
  t.Attr("T", std::vector<MS_DType>{MS_INT32}).Attr("summarize", int64_t{3});
  t.Input<bool>({}, {true}).Input<int32_t>({2}, {1, 2}).Outputs({});
  EXPECT_TRUE(IsOk(t.Run()));
}

TEST(AssertTest, ShowsTheFirstElementsOfEachTensor) {
  KernelTester t("Assert");
  t.Attr("T", std::vector<MS_DType>{MS_INT32, MS_STRING, MS_FLOAT32, MS_INT8});
  t.Attr("summarize", int64_t{2});
  t.Input<bool>({}, {false}).Input<int32_t>({3}, {1, -2, 3});
  t.Input<std::string>({}, {"reason"}).Input<float>({2}, {0.5f, 2.0f}).Input<int8_t>({1}, {65});
  ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "assertion failed: [1 -2 ...] [reason] [0.5 2] [65]");
}

TEST(AssertTest, ShowsAllElementsWhenNoneAreToBeLeftOut) {
  KernelTester t("Assert");
  t.Attr("T", std::vector<MS_DType>{MS_BOOL}).Attr("summarize", int64_t{-1});
  t.Input<bool>({}, {false}).Input<bool>({4}, {true, false, true, true});
  EXPECT_EQ(t.Run().message(), "assertion failed: [1 0 1 1]");
}

TEST(AssertTest, ConditionMustBeAScalar) {
  KernelTester t("Assert");
  t.Attr("T", std::vector<MS_DType>{MS_INT32}).Attr("summarize", int64_t{3});
  t.Input<bool>({1}, {true}).Input<int32_t>({}, {1});
  EXPECT_EQ(t.Run().code(), MS_INVALID_ARGUMENT);
}

template <typename T>
class CheckNumericsTest : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(CheckNumericsTest, FloatTypes);

template <typename T>
ms::Status Check(std::vector<float> values, std::vector<T>* out = nullptr) {
  std::vector<T> elements;
  for (const float value : values) elements.push_back(T(value));
  KernelTester t("CheckNumerics");
  t.Attr("T", ms::DTypeOf<T>()).Attr("message", std::string("loss"));
  t.template Input<T>({static_cast<int64_t>(values.size())}, elements);
  ms::Status status = t.Run();
  if (status.ok() && out != nullptr) *out = t.template Output<T>(0);
  return status;
}

TYPED_TEST(CheckNumericsTest, PassesOnFiniteElements) {
  std::vector<TypeParam> out;
  ASSERT_TRUE(IsOk(Check<TypeParam>({1, -2, 0}, &out)));
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(static_cast<double>(out[1]), -2.0);
  EXPECT_TRUE(IsOk(Check<TypeParam>({})));
}

TYPED_TEST(CheckNumericsTest, SaysWhatItFound) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Check<TypeParam>({1, kNan}).message(), "loss: argument 'tensor' holds NaN");
  EXPECT_EQ(Check<TypeParam>({-kInfinity}).message(), "loss: argument 'tensor' holds an infinity");
  EXPECT_EQ(Check<TypeParam>({kInfinity, kNan}).message(),
            "loss: argument 'tensor' holds NaN and an infinity");
  EXPECT_EQ(Check<TypeParam>({kNan}).code(), MS_INVALID_ARGUMENT);
}

TEST(LargeCheckNumericsTest, FindsOneElementOfMany) {
  std::vector<float> values(300001, 1.0f);
  values[299999] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Check<float>(values).code(), MS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace millstream::kernels
