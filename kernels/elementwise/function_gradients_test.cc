#include <cmath>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

// The function whose gradient an op computes from the function's result.
struct Case {
  const char* op;
  double (*function)(double);
};

const Case kCases[] = {
    {"SqrtGrad", [](double x) { return std::sqrt(x); }},
    {"RsqrtGrad", [](double x) { return 1 / std::sqrt(x); }},
    {"ReciprocalGrad", [](double x) { return 1 / x; }},
    {"InvGrad", [](double x) { return 1 / x; }},
    {"TanhGrad", [](double x) { return std::tanh(x); }},
    {"SigmoidGrad", [](double x) { return 1 / (1 + std::exp(-x)); }},
};

TEST(FunctionGradientsTest, AreTheSlopesOfTheirFunctions) {
  for (const Case& c : kCases) {
    std::vector<double> y;
    std::vector<double> dy;
    std::vector<double> expected;
    for (double x : {0.3, 0.9, 1.7, 2.5, 4.1}) {
      constexpr double kStep = 1e-5;
      y.push_back(c.function(x));
      dy.push_back(x - 2);
      expected.push_back((c.function(x + kStep) - c.function(x - kStep)) / (2 * kStep) * (x - 2));
    }
    KernelTester t(c.op);
    t.Attr("T", MS_FLOAT64).Input<double>({5}, y).Input<double>({5}, dy);
    ASSERT_TRUE(IsOk(t.Run())) << c.op;
    EXPECT_TRUE(IsNear<double>(t.Output<double>(0), expected, 1e-8, 0)) << c.op;
  }
}

TEST(FunctionGradientsTest, Float32IsTheSameFormula) {
  KernelTester t("TanhGrad");
  t.Attr("T", MS_FLOAT32).Input<float>({3}, {0.5f, 0, 1}).Input<float>({3}, {2, 3, 4});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{1.5f, 3, 0}));
}

TEST(ReluGradTest, PassesOnWhereTheFeatureIsPositive) {
  KernelTester t("ReluGrad");
  t.Attr("T", MS_FLOAT32)
      .Input<float>({2, 2}, {1, 2, 3, 4})
      .Input<float>({2, 2}, {-1, 0, 1e-30f, 5});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{0, 0, 3, 4}));
}

TEST(ReluGradTest, ShapesThatDifferAreRefusedByName) {
  KernelTester t("ReluGrad");
  t.Attr("T", MS_INT32).Input<int32_t>({3}, {1, 2, 3}).Input<int32_t>({4}, {1, 2, 3, 4});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(),
            "ReluGrad: inputs gradients and features must have the same shape, got [3] and [4]");
}

}  // namespace
}  // namespace millstream::kernels
