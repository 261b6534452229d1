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
  EXPECT_EQ(Check<TypeParam>({1, kNan}).message(),
            "loss : Tensor had NaN values (argument 'tensor')");
  EXPECT_EQ(Check<TypeParam>({-kInfinity}).message(),
            "loss : Tensor had Inf values (argument 'tensor')");
  EXPECT_EQ(Check<TypeParam>({kInfinity, kNan}).message(),
            "loss : Tensor had Inf and NaN values (argument 'tensor')");
  EXPECT_EQ(Check<TypeParam>({kNan}).code(), MS_INVALID_ARGUMENT);
}

TEST(LargeCheckNumericsTest, FindsOneElementOfMany) {
  std::vector<float> values(300001, 1.0f);
  values[299999] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Check<float>(values).code(), MS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace millstream::kernels
