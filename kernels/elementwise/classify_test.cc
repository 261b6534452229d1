// IsNan, IsInf, IsFinite.
#include <gtest/gtest.h>

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

// 2000 numbers: NaN, infinity, -infinity, the largest, the smallest and 0, over and over.
template <typename T>
void ExpectClasses(MS_DType dtype, double largest) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double numbers[] = {std::nan(""), kInfinity, -kInfinity, largest, 1e-7, 0};
  std::vector<T> x;
  std::vector<bool> is_nan, is_inf, is_finite;
  for (int i = 0; i < 2000; ++i) {
    x.push_back(T(static_cast<float>(numbers[i % 6])));
    is_nan.push_back(i % 6 == 0);
    is_inf.push_back(i % 6 == 1 || i % 6 == 2);
    is_finite.push_back(i % 6 > 2);
  }
  const auto classes = [&](const char* op) {
    KernelTester t(op);
    t.Attr("T", dtype).Input<T>({20, 100}, x).Outputs({MS_BOOL});
    EXPECT_TRUE(IsOk(t.Run())) << op;
    return t.Output<bool>(0);
  };
  EXPECT_EQ(classes("IsNan"), is_nan);
  EXPECT_EQ(classes("IsInf"), is_inf);
  EXPECT_EQ(classes("IsFinite"), is_finite);
}

TEST(ClassifyTest, Float32) { ExpectClasses<float>(MS_FLOAT32, 3e38); }
TEST(ClassifyTest, Float64) { ExpectClasses<double>(MS_FLOAT64, 3e38); }
TEST(ClassifyTest, Float16) { ExpectClasses<Float16>(MS_FLOAT16, 65504); }
TEST(ClassifyTest, BFloat16) { ExpectClasses<BFloat16>(MS_BFLOAT16, 3e38); }

TEST(ClassifyTest, AnEmptyTensorHasNoClasses) {
  KernelTester t("IsNan");
  t.Attr("T", MS_FLOAT32).Input<float>({3, 0}, {}).Outputs({MS_BOOL});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{3, 0}));
}

}  // namespace
}  // namespace millstream::kernels
