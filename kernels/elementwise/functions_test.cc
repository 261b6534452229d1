// The kernels of one operand.
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

template <typename T>
std::vector<T> Apply(const std::string& op, const std::vector<T>& x) {
  KernelTester t(op);
  t.Attr("T", ms::DTypeOf<T>());
  t.template Input<T>({static_cast<int64_t>(x.size())}, x);
  const ms::Status status = t.Run();
  EXPECT_TRUE(IsOk(status)) << op;
  return status.ok() ? t.template Output<T>(0) : std::vector<T>();
}

template <typename T>
class SignedFunctionsTest : public ::testing::Test {};
using SignedTypes = ::testing::Types<float, double, int8_t, int16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(SignedFunctionsTest, SignedTypes);

TYPED_TEST(SignedFunctionsTest, ComputeByHand) {
  using T = TypeParam;
  const std::vector<T> x = {-3, 0, 2, 7, -1};
  EXPECT_EQ(Apply<T>("Abs", x), (std::vector<T>{3, 0, 2, 7, 1}));
  EXPECT_EQ(Apply<T>("Neg", x), (std::vector<T>{3, 0, -2, -7, 1}));
  EXPECT_EQ(Apply<T>("Sign", x), (std::vector<T>{-1, 0, 1, 1, -1}));
  EXPECT_EQ(Apply<T>("Square", x), (std::vector<T>{9, 0, 4, 49, 1}));
  EXPECT_EQ(Apply<T>("Relu", x), (std::vector<T>{0, 0, 2, 7, 0}));
}

TYPED_TEST(SignedFunctionsTest, TheSmallestIntegerHasNoOpposite) {
  using T = TypeParam;
  if constexpr (std::is_integral_v<T>) {
    constexpr T kLeast = std::numeric_limits<T>::min();
    EXPECT_EQ(Apply<T>("Abs", {kLeast}), (std::vector<T>{kLeast}));
    EXPECT_EQ(Apply<T>("Neg", {kLeast}), (std::vector<T>{kLeast}));
  } else {
    EXPECT_TRUE(std::signbit(Apply<T>("Neg", {T(0)})[0]));
    EXPECT_FALSE(std::signbit(Apply<T>("Abs", {T(-0.0)})[0]));
  }
}

TEST(FunctionsTest, UnsignedRelu) {
  EXPECT_EQ(Apply<uint8_t>("Relu", {0, 200}), (std::vector<uint8_t>{0, 200}));
}

TEST(FunctionsTest, RoundTakesTheEvenOneOfTwoNeighbours) {
  EXPECT_EQ(Apply<float>("Round", {0.5f, 1.5f, 2.5f, -0.5f, -1.5f}),
            (std::vector<float>{0, 2, 2, 0, -2}));
  EXPECT_EQ(Apply<int32_t>("Round", {-7, 8}), (std::vector<int32_t>{0, 0}));
  EXPECT_EQ(Apply<int64_t>("Round", {int64_t{1} << 62}), (std::vector<int64_t>{0}));
}

TEST(FunctionsTest, NanPassesThroughAndNegativeZeroTurnsPositive) {
  for (const char* op : {"Relu", "Sign"}) {
    const std::vector<float> y = Apply<float>(op, {std::nanf(""), -0.0f});
    EXPECT_TRUE(std::isnan(y[0])) << op;
    EXPECT_EQ(y[1], 0.0f) << op;
    EXPECT_FALSE(std::signbit(y[1])) << op;
  }
}

TEST(FunctionsTest, LogicalNot) {
  KernelTester t("LogicalNot");
  t.Outputs({MS_BOOL}).Input<bool>({3}, {true, false, true});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<bool>(0), (std::vector<bool>{false, true, false}));
}

struct RealFunction {
  const char* op;
  double (*right)(double);
};

const RealFunction kRealFunctions[] = {
    {"Sqrt", [](double x) { return std::sqrt(x); }},
    {"Ceil", [](double x) { return std::ceil(x); }},
    {"Rint", [](double x) { return std::nearbyint(x); }},
    {"Round", [](double x) { return std::nearbyint(x); }},
    {"Rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"Reciprocal", [](double x) { return 1 / x; }},
    {"Inv", [](double x) { return 1 / x; }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Log", [](double x) { return std::log(x); }},
    {"Tanh", [](double x) { return std::tanh(x); }},
    {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"Floor", [](double x) { return std::floor(x); }},
};

template <typename T>
class RealFunctionsTest : public ::testing::Test {};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RealFunctionsTest, RealTypes);

TYPED_TEST(RealFunctionsTest, AgreeWithTheLibraryAtOddSizes) {
  using T = TypeParam;
  std::mt19937 random(3);
  std::uniform_real_distribution<T> uniform(T(-6), T(6));
  const double tolerance = std::is_same_v<T, float> ? 5e-7 : 1e-15;
  for (const RealFunction& function : kRealFunctions) {
    for (int size : {1, 3, 17, 30011}) {
      std::vector<T> x;
      std::vector<T> expected;
      for (int i = 0; i < size; ++i) {
        x.push_back(uniform(random));
        expected.push_back(static_cast<T>(function.right(static_cast<double>(x.back()))));
      }
      EXPECT_TRUE(IsNear<T>(Apply<T>(function.op, x), expected, tolerance, 0)) << function.op;
    }
  }
}

TYPED_TEST(RealFunctionsTest, EmptyTensorsAndScalars) {
  using T = TypeParam;
  for (const RealFunction& function : kRealFunctions) {
    KernelTester t(function.op);
    t.Attr("T", ms::DTypeOf<T>()).template Input<T>({3, 0}, {});
    ASSERT_TRUE(IsOk(t.Run())) << function.op;
    EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{3, 0}));
    t.template SetInput<T>(0, {}, {4});
    ASSERT_TRUE(IsOk(t.Run())) << function.op;
    EXPECT_TRUE(t.OutputShape(0).empty());
  }
}

}  // namespace
}  // namespace millstream::kernels
