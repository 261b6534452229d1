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

template <typename T>
ms::Status RunBinary(const std::string& op, const std::vector<T>& x, const std::vector<T>& y,
                     std::vector<T>* z) {
  KernelTester t(op);
  t.Attr("T", ms::DTypeOf<T>());
  t.template Input<T>({static_cast<int64_t>(x.size())}, x);
  t.template Input<T>({static_cast<int64_t>(y.size())}, y);
  ms::Status status = t.Run();
  if (status.ok()) *z = t.template Output<T>(0);
  return status;
}

template <typename T>
std::vector<T> Result(const std::string& op, const std::vector<T>& x, const std::vector<T>& y) {
  std::vector<T> z;
  EXPECT_TRUE(IsOk(RunBinary<T>(op, x, y, &z))) << op;
  return z;
}

template <typename T>
class SignedDivisionTest : public ::testing::Test {};
using SignedTypes = ::testing::Types<int8_t, int16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(SignedDivisionTest, SignedTypes);

TYPED_TEST(SignedDivisionTest, RoundsAsTheOpSays) {
  using T = TypeParam;
  const std::vector<T> x = {7, -7, 7, -7, 6, -6, 0};
  const std::vector<T> y = {3, 3, -3, -3, 3, 3, -5};
  EXPECT_EQ(Result<T>("Div", x, y), (std::vector<T>{2, -2, -2, 2, 2, -2, 0}));
  EXPECT_EQ(Result<T>("FloorDiv", x, y), (std::vector<T>{2, -3, -3, 2, 2, -2, 0}));
  EXPECT_EQ(Result<T>("FloorMod", x, y), (std::vector<T>{1, 2, -2, -1, 0, 0, 0}));
  EXPECT_EQ(Result<T>("TruncateDiv", x, y), (std::vector<T>{2, -2, -2, 2, 2, -2, 0}));
  EXPECT_EQ(Result<T>("TruncateMod", x, y), (std::vector<T>{1, -1, 1, -1, 0, 0, 0}));
  EXPECT_EQ(Result<T>("Mod", x, y), (std::vector<T>{1, -1, 1, -1, 0, 0, 0}));
}

TYPED_TEST(SignedDivisionTest, TheSmallestByMinusOneWraps) {
  using T = TypeParam;
  constexpr T kLeast = std::numeric_limits<T>::min();
  EXPECT_EQ(Result<T>("Div", {kLeast}, {-1}), (std::vector<T>{kLeast}));
  EXPECT_EQ(Result<T>("FloorDiv", {kLeast}, {-1}), (std::vector<T>{kLeast}));
  EXPECT_EQ(Result<T>("FloorMod", {kLeast}, {-1}), (std::vector<T>{0}));
  EXPECT_EQ(Result<T>("TruncateDiv", {kLeast}, {-1}), (std::vector<T>{kLeast}));
  EXPECT_EQ(Result<T>("TruncateMod", {kLeast}, {-1}), (std::vector<T>{0}));
}

template <typename T>
class IntegerDivisionTest : public ::testing::Test {};
using IntegerTypes =
    ::testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(IntegerDivisionTest, IntegerTypes);

TYPED_TEST(IntegerDivisionTest, DivisionByZeroIsRefused) {
  using T = TypeParam;
  for (const char* op : {"Div", "FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Mod"}) {
    std::vector<T> z;
    const ms::Status status = RunBinary<T>(op, {1, 2, 3}, {1, 0, 2}, &z);
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT) << op;
    EXPECT_EQ(status.message(), "Integer division by zero: input y has a zero") << op;
    EXPECT_EQ(RunBinary<T>(op, {1, 2}, {0}, &z).code(), MS_INVALID_ARGUMENT) << op;
    EXPECT_TRUE(IsOk(RunBinary<T>(op, {}, {0}, &z))) << op;
  }
}

TYPED_TEST(IntegerDivisionTest, LargeUnsignedValues) {
  using T = TypeParam;
  constexpr T kMost = std::numeric_limits<T>::max();
  EXPECT_EQ(Result<T>("Div", {kMost}, {2}), (std::vector<T>{kMost / 2}));
  EXPECT_EQ(Result<T>("FloorDiv", {kMost}, {2}), (std::vector<T>{kMost / 2}));
  EXPECT_EQ(Result<T>("FloorMod", {kMost}, {2}), (std::vector<T>{1}));
}

template <typename T>
class RealDivisionTest : public ::testing::Test {};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RealDivisionTest, RealTypes);

TYPED_TEST(RealDivisionTest, FollowsTheSigns) {
  using T = TypeParam;
  const std::vector<T> x = {7, -7, 7, -7, 6, -6, 0};
  const std::vector<T> y = {3, 3, -3, -3, 3, 3, -5};
  EXPECT_EQ(Result<T>("RealDiv", {1, -3}, {4, 2}), (std::vector<T>{0.25, -1.5}));
  EXPECT_EQ(Result<T>("Div", {1, -3}, {4, 2}), (std::vector<T>{0.25, -1.5}));
  EXPECT_EQ(Result<T>("FloorDiv", x, y), (std::vector<T>{2, -3, -3, 2, 2, -2, 0}));
  EXPECT_EQ(Result<T>("FloorMod", x, y), (std::vector<T>{1, 2, -2, -1, 0, 0, 0}));
  EXPECT_EQ(Result<T>("TruncateMod", x, y), (std::vector<T>{1, -1, 1, -1, 0, 0, 0}));
  EXPECT_EQ(Result<T>("Mod", {5.5, -5.5}, {2, 2}), (std::vector<T>{1.5, -1.5}));
}

TYPED_TEST(RealDivisionTest, TruncateDivCutsTowardsZero) {
  using T = TypeParam;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  EXPECT_EQ(Result<T>("TruncateDiv", {7.5, -7.5, 7.5, -7.5, 3, 0.5}, {2, 2, -2, -2, -2, 1}),
            (std::vector<T>{3, -3, -3, 3, -1, 0}));
  EXPECT_EQ(Result<T>("TruncateDiv", {1, -1}, {0, 0}), (std::vector<T>{kInfinity, -kInfinity}));
  EXPECT_TRUE(std::isnan(Result<T>("TruncateDiv", {0}, {0})[0]));
  EXPECT_TRUE(std::signbit(Result<T>("TruncateDiv", {-1}, {2})[0])) << "zero keeps the sign";
}

TYPED_TEST(RealDivisionTest, AnglesOfPoints) {
  using T = TypeParam;
  constexpr T kPi = T(3.14159265358979324);
  EXPECT_TRUE(IsNear<T>(Result<T>("Atan2", {1, 1, -1, 0, -2}, {1, -1, -1, -3, 0}),
                        {kPi / 4, 3 * kPi / 4, -3 * kPi / 4, kPi, -kPi / 2}, 1e-6, 0));
}

TYPED_TEST(RealDivisionTest, TheNextNumber) {
  using T = TypeParam;
  constexpr T kEpsilon = std::numeric_limits<T>::epsilon();
  EXPECT_EQ(
      Result<T>("NextAfter", {1, 1, 0, 3}, {2, 0, 1, 3}),
      (std::vector<T>{1 + kEpsilon, 1 - kEpsilon / 2, std::numeric_limits<T>::denorm_min(), 3}));
}

TYPED_TEST(RealDivisionTest, ZerosAndInfinities) {
  using T = TypeParam;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const std::vector<T> quotients = Result<T>("RealDiv", {1, -1, 0}, {0, 0, 0});
  EXPECT_EQ(quotients[0], kInfinity);
  EXPECT_EQ(quotients[1], -kInfinity);
  EXPECT_TRUE(std::isnan(quotients[2]));
  EXPECT_EQ(Result<T>("FloorMod", {5, -5}, {kInfinity, kInfinity}), (std::vector<T>{5, kInfinity}));
  EXPECT_TRUE(std::isnan(Result<T>("FloorMod", {1}, {0})[0]));
}

TYPED_TEST(RealDivisionTest, FloorOfASubnormalQuotientIsZero) {
  using T = TypeParam;
  const T large = std::numeric_limits<T>::max() / 2;
  const std::vector<T> quotient = Result<T>("FloorDiv", {-1}, {large});
  EXPECT_EQ(quotient[0], T(0));
  EXPECT_TRUE(std::signbit(quotient[0]));
}

TYPED_TEST(RealDivisionTest, Powers) {
  using T = TypeParam;
  EXPECT_TRUE(IsNear<T>(Result<T>("Pow", {2, 4, 0, 5, -2}, {10, T(-0.5), 0, 1, 3}),
                        {1024, 0.5, 1, 5, -8}, 1e-6, 0));
}

TEST(IntegerPowTest, WrapsAndRefusesNegativeExponents) {
  EXPECT_EQ(
      Result<int64_t>("Pow", {10, 0, -2, 7}, {19, 0, 63, 1}),
      (std::vector<int64_t>{-8446744073709551616LL, 1, std::numeric_limits<int64_t>::min(), 7}));
  EXPECT_EQ(Result<int32_t>("Pow", {3, -1}, {4, 1000000001}), (std::vector<int32_t>{81, -1}));
  std::vector<int32_t> z;
  const ms::Status status = RunBinary<int32_t>("Pow", {2, 3}, {1, -1}, &z);
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(status.message().find("negative integer powers"), std::string::npos);
}

}  // namespace
}  // namespace millstream::kernels
