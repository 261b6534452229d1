// Softplus, Elu, Selu, Softsign, Relu6 and their gradients
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

constexpr double kScale = 1.0507009873554804934;
constexpr double kAlpha = 1.6732632423543772848;

struct Case {
  const char* op;
  double (*function)(double);
  bool gradient_of_output;  // what the gradient op takes beside dy
};

const Case kCases[] = {
    {"Softplus", [](double x) { return std::log1p(std::exp(x)); }, false},
    {"Elu", [](double x) { return x < 0 ? std::expm1(x) : x; }, true},
    {"Selu", [](double x) { return kScale * (x < 0 ? kAlpha * std::expm1(x) : x); }, true},
    {"Softsign", [](double x) { return x / (1 + std::fabs(x)); }, false},
    {"Relu6", [](double x) { return std::fmin(std::fmax(x, 0), 6); }, false},
};

TEST(ActivationsTest, FollowTheirFormulas) {
  std::vector<double> x = {0};
  for (double size = 1e-6; size < 30; size *= 1.07) {
    x.push_back(size);
    x.push_back(-size);
  }
  const std::vector<float> narrow(x.begin(), x.end());
  const auto count = static_cast<int64_t>(x.size());
  for (const Case& c : kCases) {
    std::vector<double> expected;
    std::vector<float> expected_narrow;
    for (size_t i = 0; i < x.size(); ++i) {
      expected.push_back(c.function(x[i]));
      expected_narrow.push_back(static_cast<float>(c.function(narrow[i])));
    }
    KernelTester t(c.op);
    t.Attr("T", MS_FLOAT64).Input<double>({count}, x);
    ASSERT_TRUE(IsOk(t.Run())) << c.op;
    EXPECT_TRUE(IsNear(t.Output<double>(0), expected, 1e-15, 0)) << c.op;
    KernelTester f(c.op);
    f.Attr("T", MS_FLOAT32).Input<float>({count}, narrow);
    ASSERT_TRUE(IsOk(f.Run())) << c.op;
    EXPECT_TRUE(IsNear(f.Output<float>(0), expected_narrow, 6e-7, 0)) << c.op;
  }
}

TEST(ActivationsTest, GradientsAreTheSlopes) {
  const std::vector<double> x = {-4.1, -2.5, -0.9, -0.3, 0.3, 0.9, 1.7, 5.5, 7};
  const auto count = static_cast<int64_t>(x.size());
  for (const Case& c : kCases) {
    std::vector<double> dy;
    std::vector<double> argument;
    std::vector<double> expected;
    for (const double at : x) {
      constexpr double kStep = 1e-5;
      dy.push_back(at - 2);
      argument.push_back(c.gradient_of_output ? c.function(at) : at);
      const double slope = (c.function(at + kStep) - c.function(at - kStep)) / (2 * kStep);
      expected.push_back(slope * (at - 2));
    }
    KernelTester t(std::string(c.op) + "Grad");
    t.Attr("T", MS_FLOAT64).Input<double>({count}, dy).Input<double>({count}, argument);
    ASSERT_TRUE(IsOk(t.Run())) << c.op;
    EXPECT_TRUE(IsNear(t.Output<double>(0), expected, 1e-8, 1e-10)) << c.op;
  }
}

TEST(ActivationsTest, InfinityAndNaN) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto run = [](const char* op, float x) {
    KernelTester t(op);
    t.Attr("T", MS_FLOAT32).Input<float>({}, {x});
    EXPECT_TRUE(IsOk(t.Run())) << op;
    return t.Output<float>(0)[0];
  };
  EXPECT_EQ(run("Softplus", kInfinity), kInfinity);
  EXPECT_EQ(run("Softplus", -kInfinity), 0);
  EXPECT_EQ(run("Elu", kInfinity), kInfinity);
  EXPECT_EQ(run("Elu", -kInfinity), -1);
  EXPECT_EQ(run("Selu", -kInfinity), static_cast<float>(-kScale * kAlpha));
  EXPECT_EQ(run("Relu6", kInfinity), 6);
  EXPECT_EQ(run("Relu6", -kInfinity), 0);
  for (const Case& c : kCases) {
    EXPECT_TRUE(std::isnan(run(c.op, std::numeric_limits<float>::quiet_NaN()))) << c.op;
  }
}

TEST(ActivationsTest, GradientsNameTheArgumentsThatDiffer) {
  KernelTester t("EluGrad");
  t.Attr("T", MS_FLOAT32).Input<float>({2}, {1, 2}).Input<float>({3}, {1, 2, 3});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(std::string(status.message()).find("outputs"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace millstream::kernels
