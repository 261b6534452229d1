// Xdivy, Xlogy, DivNoNan, MulNoNan.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

template <typename T>
std::vector<T> Result(const std::string& op, const std::vector<T>& x, const std::vector<T>& y) {
  KernelTester t(op);
  t.Attr("T", ms::DTypeOf<T>());
  t.template Input<T>({static_cast<int64_t>(x.size())}, x);
  t.template Input<T>({static_cast<int64_t>(y.size())}, y);
  EXPECT_TRUE(IsOk(t.Run())) << op;
  return t.template Output<T>(0);
}

template <typename T>
class ZeroOperandsTest : public ::testing::Test {};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ZeroOperandsTest, RealTypes);

TYPED_TEST(ZeroOperandsTest, ZeroCountsMore) {
  using T = TypeParam;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> zeros(6, 0);
  const std::vector<T> others = {0, -1, kInfinity, -kInfinity, kNaN, 3};
  EXPECT_EQ(Result<T>("Xdivy", zeros, others), zeros);
  EXPECT_EQ(Result<T>("Xlogy", zeros, others), zeros);
  EXPECT_EQ(Result<T>("DivNoNan", others, zeros), zeros);
  EXPECT_EQ(Result<T>("MulNoNan", others, zeros), zeros);
}

TYPED_TEST(ZeroOperandsTest, OtherNumbersAreComputedWith) {
  using T = TypeParam;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  EXPECT_EQ(Result<T>("Xdivy", {3, -1}, {2, 0}), (std::vector<T>{1.5, -kInfinity}));
  EXPECT_EQ(Result<T>("DivNoNan", {3, 0}, {2, 5}), (std::vector<T>{1.5, 0}));
  EXPECT_EQ(Result<T>("MulNoNan", {3, kInfinity}, {2, 5}), (std::vector<T>{6, kInfinity}));
  EXPECT_TRUE(IsNear<T>(Result<T>("Xlogy", {3, -2}, {2, 10}),
                        {T(3 * std::log(2.0)), T(-2 * std::log(10.0))}, 1e-6, 0));
  EXPECT_TRUE(std::isnan(Result<T>("MulNoNan", {0}, {kInfinity})[0]));
}

TEST(ZeroOperandsOnComplexTest, AreTheSame) {
  using Values = std::vector<std::complex<double>>;
  const Values zeros(2, 0);
  const Values others = {{1, 2}, {0, 0}};
  EXPECT_EQ(Result("Xdivy", zeros, others), zeros);
  EXPECT_EQ(Result("Xlogy", zeros, others), zeros);
  EXPECT_EQ(Result("DivNoNan", others, zeros), zeros);
  EXPECT_EQ(Result("MulNoNan", others, zeros), zeros);
  EXPECT_EQ(Result("DivNoNan", Values{{4, 2}}, Values{{0, 2}}), (Values{{1, -2}}));
  EXPECT_EQ(Result("MulNoNan", Values{{1, 2}}, Values{{0, 2}}), (Values{{-4, 2}}));
}

}  // namespace
}  // namespace millstream::kernels
