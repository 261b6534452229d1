#include "kernels/common/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace millstream::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The largest error over the arguments, in units in the last place of the right result.
template <typename Ours, typename Right>
double LargestError(const std::vector<float>& arguments, Ours ours, Right right) {
  double largest = 0;
  for (float x : arguments) {
    const double want = right(static_cast<double>(x));
    const float rounded = static_cast<float>(want);
    const float next = std::nextafter(std::fabs(rounded), kInfinity);
    const double unit = static_cast<double>(next) - std::fabs(static_cast<double>(rounded));
    largest = std::max(largest, std::fabs(static_cast<double>(ours(x)) - want) / unit);
  }
  return largest;
}

std::vector<float> Range(float from, float to, int n) {
  std::vector<float> values;
  for (int i = 0; i < n; ++i) {
    values.push_back(from + (to - from) * static_cast<float>(i) / static_cast<float>(n - 1));
  }
  return values;
}

TEST(VectorMathTest, ExpIsRightToTwoUnits) {
  const auto ours = [](float x) { return Exp(x); };
  const auto right = [](double x) { return std::exp(x); };
  EXPECT_LT(LargestError(Range(-87.0f, 88.7f, 200001), ours, right), 2);
  EXPECT_LT(LargestError(Range(-1.0f, 1.0f, 20001), ours, right), 2);
  // Results are subnormal here.
  EXPECT_LT(LargestError(Range(-103.0f, -87.4f, 2001), ours, right), 2);
}

TEST(VectorMathTest, ExpAtTheEnds) {
  EXPECT_EQ(Exp(0.0f), 1.0f);
  EXPECT_EQ(Exp(89.0f), kInfinity);
  EXPECT_EQ(Exp(kInfinity), kInfinity);
  EXPECT_EQ(Exp(-105.0f), 0.0f);
  EXPECT_EQ(Exp(-kInfinity), 0.0f);
  EXPECT_TRUE(std::isnan(Exp(kNaN)));
}

TEST(VectorMathTest, LogIsRightToTwoUnits) {
  const auto ours = [](float x) { return Log(x); };
  const auto right = [](double x) { return std::log(x); };
  EXPECT_LT(LargestError(Range(1e-3f, 4.0f, 200001), ours, right), 2);
  EXPECT_LT(LargestError(Range(4.0f, 3e38f, 20001), ours, right), 2);
  EXPECT_LT(LargestError(Range(1e-45f, 1e-37f, 20001), ours, right), 2);
}

TEST(VectorMathTest, LogAtTheEnds) {
  EXPECT_EQ(Log(1.0f), 0.0f);
  EXPECT_EQ(Log(0.0f), -kInfinity);
  EXPECT_EQ(Log(-0.0f), -kInfinity);
  EXPECT_EQ(Log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(Log(-1.0f)));
  EXPECT_TRUE(std::isnan(Log(kNaN)));
}

TEST(VectorMathTest, TanhIsRightToTwoUnits) {
  const auto ours = [](float x) { return Tanh(x); };
  const auto right = [](double x) { return std::tanh(x); };
  EXPECT_LT(LargestError(Range(-10.0f, 10.0f, 200001), ours, right), 2);
  EXPECT_LT(LargestError(Range(-0.001f, 0.001f, 2001), ours, right), 2);
  // Where the polynomial and the exponential meet, where errors are largest, and where the
  // exponential no longer counts.
  EXPECT_LT(LargestError(Range(0.6f, 0.65f, 20001), ours, right), 2);
  EXPECT_LT(LargestError(Range(0.74f, 0.76f, 100001), ours, right), 2);
  EXPECT_LT(LargestError(Range(0.76f, 1.0f, 1000001), ours, right), 2);
  EXPECT_LT(LargestError(Range(1e-45f, 1e-30f, 2001), ours, right), 2);
  EXPECT_EQ(Tanh(9.5f), 1.0f);
  EXPECT_EQ(Tanh(-10.5f), -1.0f);
  EXPECT_EQ(Tanh(3e38f), 1.0f);
  EXPECT_TRUE(std::signbit(Tanh(-0.0f)));
  EXPECT_EQ(Tanh(kInfinity), 1.0f);
  EXPECT_EQ(Tanh(-kInfinity), -1.0f);
  EXPECT_TRUE(std::isnan(Tanh(kNaN)));
}

TEST(VectorMathTest, ErfIsRightToTwoUnits) {
  const auto ours = [](float x) { return Erf(x); };
  const auto right = [](double x) { return std::erf(x); };
  EXPECT_LT(LargestError(Range(-4.5f, 4.5f, 200001), ours, right), 2);
  // Where the polynomials meet.
  EXPECT_LT(LargestError(Range(1.05f, 1.15f, 100001), ours, right), 2);
  EXPECT_LT(LargestError(Range(-0.001f, 0.001f, 2001), ours, right), 2);
  EXPECT_LT(LargestError(Range(1e-38f, 1e-30f, 2001), ours, right), 2);
}

TEST(VectorMathTest, ErfAtTheEnds) {
  for (const float far_out : {4.0f, 5.0f, 1e30f, kInfinity}) {
    EXPECT_EQ(Erf(far_out), 1.0f) << far_out;
    EXPECT_EQ(Erf(-far_out), -1.0f) << far_out;
  }
  EXPECT_EQ(Erf(0.0f), 0.0f);
  EXPECT_TRUE(std::signbit(Erf(-0.0f)));
  EXPECT_EQ(Erf(1e-45f), 1e-45f);
  EXPECT_TRUE(std::isnan(Erf(kNaN)));
}

TEST(VectorMathTest, ErfNeverExceedsOne) {
  for (const float x : Range(3.0f, 4.2f, 100001)) {
    EXPECT_LE(Erf(x), 1.0f) << x;
    EXPECT_GE(Erf(x), 0.9999f) << x;
  }
}

TEST(VectorMathTest, SigmoidKeepsItsRelativeErrorFarOut) {
  const auto ours = [](float x) { return Sigmoid(x); };
  const auto right = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_LT(LargestError(Range(-80.0f, 80.0f, 200001), ours, right), 4);
  EXPECT_EQ(Sigmoid(kInfinity), 1.0f);
  EXPECT_EQ(Sigmoid(-kInfinity), 0.0f);
  EXPECT_TRUE(std::isnan(Sigmoid(kNaN)));
}

TEST(VectorMathTest, FloorIsTheLibrarys) {
  for (float x : {0.0f, 1e-45f, 0.3f, 0.5f, 0.99999994f, 1.0f, 1.5f, 2.5f, 3.7f, 4194303.8f,
                  8388606.5f, 8388607.5f, 8388608.0f, 8388609.0f, 1e30f, kInfinity}) {
    for (float signed_x : {x, -x}) {
      EXPECT_EQ(Floor(signed_x), std::floor(signed_x)) << signed_x;
      EXPECT_EQ(std::signbit(Floor(signed_x)), std::signbit(std::floor(signed_x))) << signed_x;
    }
  }
  EXPECT_TRUE(std::isnan(Floor(kNaN)));
}

}  // namespace
}  // namespace millstream::kernels
