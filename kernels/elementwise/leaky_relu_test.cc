// LeakyRelu and LeakyReluGrad.
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

// Numbers whose products with 0.5 are exact in every type.
template <typename T>
std::vector<T> Numbers(int step) {
  std::vector<T> x;
  for (int i = 0; i < 3001; ++i) x.push_back(T(static_cast<float>(i * step % 61 - 30)));
  return x;
}

template <typename T>
void ExpectFormulas(MS_DType dtype) {
  const std::vector<T> x = Numbers<T>(7);
  const std::vector<T> dy = Numbers<T>(11);
  std::vector<T> y;
  std::vector<T> dx;
  for (size_t i = 0; i < x.size(); ++i) {
    const float feature = static_cast<float>(x[i]);
    const float gradient = static_cast<float>(dy[i]);
    y.push_back(T(feature > 0 ? feature : 0.5f * feature));
    dx.push_back(T(feature > 0 ? gradient : 0.5f * gradient));
  }
  KernelTester relu("LeakyRelu");
  relu.Attr("T", dtype).Attr("alpha", 0.5f).Input<T>({3001}, x);
  ASSERT_TRUE(IsOk(relu.Run()));
  EXPECT_EQ(relu.Output<T>(0), y);
  KernelTester grad("LeakyReluGrad");
  grad.Attr("T", dtype).Attr("alpha", 0.5f).Input<T>({3001}, dy);
  grad.Input<T>({3001}, x);
  ASSERT_TRUE(IsOk(grad.Run()));
  EXPECT_EQ(grad.Output<T>(0), dx);
}

TEST(LeakyReluTest, Float32) { ExpectFormulas<float>(MS_FLOAT32); }
TEST(LeakyReluTest, Float64) { ExpectFormulas<double>(MS_FLOAT64); }
TEST(LeakyReluTest, Float16) { ExpectFormulas<Float16>(MS_FLOAT16); }
TEST(LeakyReluTest, BFloat16) { ExpectFormulas<BFloat16>(MS_BFLOAT16); }

TEST(LeakyReluTest, ANegativeNumberMayBecomeLarger) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  KernelTester t("LeakyRelu");
  t.Attr("T", MS_FLOAT32).Attr("alpha", 1.5f);
  t.Input<float>({5}, {-2, 2, -kInfinity, kInfinity, std::nanf("")});
  ASSERT_TRUE(IsOk(t.Run()));
  const std::vector<float> y = t.Output<float>(0);
  EXPECT_EQ(std::vector<float>(y.begin(), y.end() - 1),
            (std::vector<float>{-3, 2, -kInfinity, kInfinity}));
  EXPECT_TRUE(std::isnan(y[4]));
}

TEST(LeakyReluTest, TheGradientNamesTheArgumentsThatDiffer) {
  KernelTester t("LeakyReluGrad");
  t.Attr("T", MS_FLOAT32).Attr("alpha", 0.2f).Input<float>({2}, {1, 2}).Input<float>({1}, {1});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(std::string(status.message()).find("features"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace millstream::kernels
