// Sin, Cos, Tan, their inverses, the hyperbolic ones, Log1p, Expm1, Erf and Erfc.
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
std::vector<T> Apply(const std::string& op, const std::vector<T>& x) {
  KernelTester t(op);
  t.Attr("T", ms::DTypeOf<T>());
  t.template Input<T>({static_cast<int64_t>(x.size())}, x);
  const ms::Status status = t.Run();
  EXPECT_TRUE(IsOk(status)) << op;
  return status.ok() ? t.template Output<T>(0) : std::vector<T>();
}

struct Case {
  const char* op;
  double (*function)(double);
  double low;
  double high;
};

const Case kCases[] = {
    {"Sin", [](double x) { return std::sin(x); }, -20, 20},
    {"Cos", [](double x) { return std::cos(x); }, -20, 20},
    {"Tan", [](double x) { return std::tan(x); }, -1.5, 1.5},
    {"Asin", [](double x) { return std::asin(x); }, -1, 1},
    {"Acos", [](double x) { return std::acos(x); }, -1, 1},
    {"Atan", [](double x) { return std::atan(x); }, -20, 20},
    {"Sinh", [](double x) { return std::sinh(x); }, -20, 20},
    {"Cosh", [](double x) { return std::cosh(x); }, -20, 20},
    {"Asinh", [](double x) { return std::asinh(x); }, -20, 20},
    {"Acosh", [](double x) { return std::acosh(x); }, 1, 20},
    {"Atanh", [](double x) { return std::atanh(x); }, -1, 1},
    {"Log1p", [](double x) { return std::log1p(x); }, -1, 20},
    {"Expm1", [](double x) { return std::expm1(x); }, -20, 20},
    {"Erf", [](double x) { return std::erf(x); }, -4, 4},
    {"Erfc", [](double x) { return std::erfc(x); }, -4, 9},
};

template <typename T>
class LibraryFunctionsTest : public ::testing::Test {};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LibraryFunctionsTest, RealTypes);

TYPED_TEST(LibraryFunctionsTest, AgreeWithTheLibraryAtOddSizes) {
  using T = TypeParam;
  const double tolerance = std::is_same_v<T, float> ? 5e-7 : 1e-15;
  for (const Case& c : kCases) {
    for (const int size : {1, 17, 5003}) {
      std::vector<T> x;
      std::vector<T> expected;
      for (int i = 0; i < size; ++i) {
        x.push_back(static_cast<T>(c.low + (c.high - c.low) * (i + 0.5) / size));
        expected.push_back(static_cast<T>(c.function(static_cast<double>(x.back()))));
      }
      EXPECT_TRUE(IsNear<T>(Apply<T>(c.op, x), expected, tolerance, 0)) << c.op;
    }
  }
}

TYPED_TEST(LibraryFunctionsTest, InfinityAndNaN) {
  using T = TypeParam;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  for (const Case& c : kCases) {
    EXPECT_TRUE(std::isnan(Apply<T>(c.op, {std::numeric_limits<T>::quiet_NaN()})[0])) << c.op;
  }
  EXPECT_EQ(Apply<T>("Log1p", {-1, kInfinity}), (std::vector<T>{-kInfinity, kInfinity}));
  EXPECT_EQ(Apply<T>("Expm1", {-kInfinity, kInfinity}), (std::vector<T>{-1, kInfinity}));
  EXPECT_EQ(Apply<T>("Atanh", {-1, 1}), (std::vector<T>{-kInfinity, kInfinity}));
  EXPECT_EQ(Apply<T>("Erf", {-kInfinity, kInfinity}), (std::vector<T>{-1, 1}));
  EXPECT_EQ(Apply<T>("Erfc", {-kInfinity, kInfinity}), (std::vector<T>{2, 0}));
  for (const char* op : {"Asin", "Acos", "Atanh", "Log1p", "Acosh"}) {
    EXPECT_TRUE(std::isnan(Apply<T>(op, {-2})[0])) << op;
  }
}

TYPED_TEST(LibraryFunctionsTest, SmallNumbersKeepTheirDigits) {
  using T = TypeParam;
  const std::vector<T> x = {T(1e-12), T(-1e-12), T(0), T(1e-30)};
  for (const char* op : {"Tan", "Asin", "Atan", "Sinh", "Asinh", "Atanh", "Log1p", "Expm1"}) {
    EXPECT_TRUE(IsNear<T>(Apply<T>(op, x), x, 1e-11, 0)) << op;
  }
}

// Complex functions, against formulas that hold for all numbers.
class ComplexLibraryFunctionsTest : public ::testing::Test {
 protected:
  using Complex = std::complex<double>;
  using Values = std::vector<Complex>;

  static void ExpectNear(const Values& actual, const Values& expected, double tolerance) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_LE(std::abs(actual[i] - expected[i]), tolerance * std::abs(expected[i]))
          << i << ": " << actual[i] << ", expected " << expected[i];
    }
  }

  const Values x_ = {{1, 2}, {-0.3, 0.4}, {0.5, -2}, {-3, -0.25}};
};

TEST_F(ComplexLibraryFunctionsTest, AreMadeOfExponentials) {
  const Complex i(0, 1);
  Values tan, sinh, cosh, log1p, expm1;
  for (const Complex x : x_) {
    tan.push_back(-i * (std::exp(i * x) - std::exp(-i * x)) / (std::exp(i * x) + std::exp(-i * x)));
    sinh.push_back((std::exp(x) - std::exp(-x)) / 2.0);
    cosh.push_back((std::exp(x) + std::exp(-x)) / 2.0);
    log1p.push_back(std::log(1.0 + x));
    expm1.push_back(std::exp(x) - 1.0);
  }
  ExpectNear(Apply("Tan", x_), tan, 1e-14);
  ExpectNear(Apply("Sinh", x_), sinh, 1e-14);
  ExpectNear(Apply("Cosh", x_), cosh, 1e-14);
  ExpectNear(Apply("Log1p", x_), log1p, 1e-14);
  ExpectNear(Apply("Expm1", x_), expm1, 1e-14);
}

TEST_F(ComplexLibraryFunctionsTest, AreInverses) {
  ExpectNear(Apply("Tan", Apply("Atan", x_)), x_, 1e-14);
  ExpectNear(Apply("Sin", Apply("Asin", x_)), x_, 1e-14);
  ExpectNear(Apply("Cos", Apply("Acos", x_)), x_, 1e-14);
  ExpectNear(Apply("Sinh", Apply("Asinh", x_)), x_, 1e-14);
  ExpectNear(Apply("Cosh", Apply("Acosh", x_)), x_, 1e-14);
  ExpectNear(Apply("Tanh", Apply("Atanh", x_)), x_, 1e-14);
  ExpectNear(Apply("Expm1", Apply("Log1p", x_)), x_, 1e-14);
}

// log(1 + x) = x - x^2 / 2 and e^x - 1 = x + x^2 / 2, up to terms below the last digit.
TEST_F(ComplexLibraryFunctionsTest, Log1pAndExpm1KeepTheirDigitsNearZero) {
  const Values x = {{1e-9, 2e-9}, {-3e-9, 1e-9}, {0, 1e-9}, {-1e-9, -1e-9}, {1e-20, -1e-20}};
  Values log1p, expm1;
  for (const Complex small : x) {
    log1p.push_back(small - small * small / 2.0);
    expm1.push_back(small + small * small / 2.0);
  }
  ExpectNear(Apply("Log1p", x), log1p, 1e-15);
  ExpectNear(Apply("Expm1", x), expm1, 1e-15);
  EXPECT_EQ(Apply("Log1p", Values{0})[0], Complex(0));
  EXPECT_EQ(Apply("Expm1", Values{0})[0], Complex(0));
  const auto narrow = Apply("Log1p", std::vector<std::complex<float>>{{1e-5f, 3e-6f}})[0];
  EXPECT_NEAR(narrow.real(), 1e-5 - (1e-10 - 9e-12) / 2, 1e-12);
}

TEST_F(ComplexLibraryFunctionsTest, FarOutExpm1IsTheExponential) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Values y = Apply("Expm1", Values{{100, 1}, {-100, 1}, {kInfinity, 0}, {-kInfinity, 0}});
  ExpectNear({y[0]}, {std::exp(Complex(100, 1))}, 1e-15);
  ExpectNear({y[1]}, {Complex(-1)}, 1e-15);
  EXPECT_EQ(y[2].real(), kInfinity);
  EXPECT_EQ(y[3].real(), -1);
}

TEST_F(ComplexLibraryFunctionsTest, Log1pHasABranchCutOnTheLeft) {
  const Values y = Apply("Log1p", Values{{-3, 0.0}, {-3, -0.0}});
  ExpectNear(y, {{std::log(2.0), std::acos(-1.0)}, {std::log(2.0), -std::acos(-1.0)}}, 1e-15);
}

TEST(LibraryFunctionsOnIntegersTest, HaveNoKernels) {
  for (const char* op : {"Tan", "Asin", "Acos", "Atan"}) {
    KernelTester t(op);
    t.Attr("T", MS_INT32).Input<int32_t>({1}, {1});
    EXPECT_EQ(t.Run().code(), MS_NOT_FOUND) << op;
  }
}

}  // namespace
}  // namespace millstream::kernels
