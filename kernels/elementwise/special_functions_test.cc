// Lgamma, Digamma, Polygamma, Zeta, and Igamma at large parameters. Expected values were computed
// with 60 digits by series of other kinds (mpmath).
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

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

std::vector<double> Apply(const std::string& op, const std::vector<double>& x) {
  KernelTester t(op);
  t.Attr("T", MS_FLOAT64).Input<double>({static_cast<int64_t>(x.size())}, x);
  EXPECT_TRUE(IsOk(t.Run())) << op;
  return t.Output<double>(0);
}

std::vector<double> Apply(const std::string& op, const std::vector<double>& x,
                          const std::vector<double>& y) {
  KernelTester t(op);
  const auto count = static_cast<int64_t>(x.size());
  t.Attr("T", MS_FLOAT64).Input<double>({count}, x).Input<double>({count}, y);
  EXPECT_TRUE(IsOk(t.Run())) << op;
  return t.Output<double>(0);
}

TEST(SpecialFunctionsTest, Lgamma) {
  EXPECT_TRUE(IsNear(Apply("Lgamma", {0.001953125, 0.5, 1.25, 2.5, 30, 1e10, -0.5, -2.25, -30.5}),
                     {6.23720038517533142, 0.572364942924700087, -0.0982718364218131615,
                      0.28468287047291916, 71.257038967168009, 220258509288.810581,
                      1.2655121234846454, 0.555501545020647471, -75.2264679819333741},
                     1e-15, 0));
}

TEST(SpecialFunctionsTest, Digamma) {
  EXPECT_TRUE(
      IsNear(Apply("Digamma", {0.001953125, 0.5, 1, 2.5, 9.75, 30, 1e10, -0.25, -2.25, -30.125}),
             {-512.574007480486525, -1.96351002602142348, -0.577215664901532861,
              0.703156640645243187, 2.22510953504457601, 3.38443813268552488, 23.0258509298904568,
              2.91413912021352783, 4.15858356465797227, 11.0063366782619566},
             1e-15, 0));
}

TEST(SpecialFunctionsTest, Zeta) {
  EXPECT_TRUE(IsNear(
      Apply("Zeta", {2, 1.0009765625, 3.5, 12, 150, 2, 3, 4},
            {1, 0.5, 100.25, 6.5, 40.5, -1.5, -7.25, -20.75}),
      {1.64493406684822644, 1025.96483222608516, 4.02496231197039132e-6, 2.17120223116377125e-10,
       7.81827323522637494e-242, 9.37924664498912375, -62.0042630182828669, 259.757541391292303},
      3e-15, 0));
}

TEST(SpecialFunctionsTest, Polygamma) {
  EXPECT_TRUE(IsNear(
      Apply("Polygamma", {0, 1, 2, 3, 10, 1, 2}, {2.5, 1, 0.25, 30, 6.5, -1.25, -3.125}),
      {0.703156640645243187, 1.64493406684822644, -129.32773993753692, 0.0000778600366473612906,
       -0.00532136040918223901, 19.1818796476716065, 1022.21967931275992},
      3e-15, 0));
}

TEST(SpecialFunctionsTest, Poles) {
  EXPECT_EQ(Apply("Lgamma", {0, -1, -7, kInfinity, -kInfinity}), std::vector<double>(5, kInfinity));
  EXPECT_EQ(Apply("Digamma", {0, -1, -7, kInfinity}), std::vector<double>(4, kInfinity));
  EXPECT_EQ(Apply("Zeta", {1, 2, 3}, {4, 0, -5}), std::vector<double>(3, kInfinity));
}

TEST(SpecialFunctionsTest, NoNumbers) {
  for (const char* op : {"Lgamma", "Digamma"}) {
    EXPECT_TRUE(std::isnan(Apply(op, {kNaN})[0])) << op;
  }
  for (const double z : Apply("Zeta", {0.5, -3, 2.5, kNaN, 2}, {1, 1, -1.5, 1, kNaN})) {
    EXPECT_TRUE(std::isnan(z)) << z;
  }
  for (const double z : Apply("Polygamma", {0.5, -1, kNaN, 1}, {1, 1, 1, kNaN})) {
    EXPECT_TRUE(std::isnan(z)) << z;
  }
}

// The reference values are SciPy's (gammainc, gammaincc), the slopes differences of them.
TEST(SpecialFunctionsTest, IncompleteGammaOfLargeParameters) {
  const std::vector<double> a = {1e30, 1e10, 1e10, 1e8, 1e6};
  const std::vector<double> x = {1e30, 1e10 + 1e5, 1e10 - 3e5, 1.0001e8, 1001000};
  EXPECT_TRUE(IsNear(
      Apply("Igamma", a, x),
      {0.5, 0.8413447460725758, 0.001349779851443313, 0.8413447464717987, 0.8413447863683402},
      1e-14, 0));
  EXPECT_TRUE(IsNear(
      Apply("Igammac", a, x),
      {0.5, 0.15865525392742422, 0.9986502201485568, 0.15865525352820123, 0.15865521363165971},
      1e-14, 0));
  EXPECT_TRUE(IsNear(Apply("IgammaGradA", {1e6}, {1e6}), {-3.98942313646623e-4}, 1e-6, 0));
  EXPECT_TRUE(IsNear(Apply("RandomGammaGrad", {1e30, 1e6}, {1e30, 1e6}), {1, 1.0000001666666675},
                     1e-12, 0));
  EXPECT_EQ(Apply("Igamma", {1e30, 1e30}, {1e29, 1e31}), (std::vector<double>{0, 1}));
  EXPECT_EQ(Apply("Igammac", {1e30, 1e30}, {1e29, 1e31}), (std::vector<double>{1, 0}));
}

TEST(SpecialFunctionsTest, LargeArgumentsEndSoon) {
  EXPECT_EQ(Apply("Zeta", {2, 1e300, kInfinity, kInfinity, 2}, {1e300, 5, 1, 2, kInfinity}),
            (std::vector<double>{1e-300, 0, 1, 0, 0}));
  EXPECT_TRUE(IsNear(Apply("Zeta", {2}, {-1e15 - 0.5}), {9.8696044010893586}, 1e-14, 0));
}

TEST(SpecialFunctionsTest, Float32IsRoundedFromFloat64) {
  KernelTester t("Zeta");
  t.Attr("T", MS_FLOAT32).Input<float>({2}, {2, 4}).Input<float>({}, {1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{1.6449340668482264f, 1.0823232337111382f}));
}

}  // namespace
}  // namespace millstream::kernels
