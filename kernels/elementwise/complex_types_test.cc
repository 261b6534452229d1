// The elementwise kernels on complex64 and complex128.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

template <typename Complex>
class ComplexTypesTest : public ::testing::Test {
 protected:
  using Real = typename Complex::value_type;
  using Values = std::vector<Complex>;

  template <typename Result = Complex>
  std::vector<Result> Binary(const std::string& op, const Values& x, const Values& y) {
    KernelTester t(op);
    t.Attr("T", ms::DTypeOf<Complex>()).Attr("incompatible_shape_error", true);
    t.Outputs({ms::DTypeOf<Result>()});
    t.template Input<Complex>({static_cast<int64_t>(x.size())}, x);
    t.template Input<Complex>({static_cast<int64_t>(y.size())}, y);
    EXPECT_TRUE(IsOk(t.Run())) << op;
    return t.template Output<Result>(0);
  }

  Values Unary(const std::string& op, const Values& x) {
    KernelTester t(op);
    t.Attr("T", ms::DTypeOf<Complex>());
    t.template Input<Complex>({static_cast<int64_t>(x.size())}, x);
    EXPECT_TRUE(IsOk(t.Run())) << op;
    return t.template Output<Complex>(0);
  }

  // Within a few units in the last place of the absolute value.
  static void ExpectNear(const Values& actual, const Values& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      const Real bound = 8 * std::numeric_limits<Real>::epsilon() * std::abs(expected[i]);
      EXPECT_LE(std::abs(actual[i] - expected[i]), bound)
          << i << ": " << actual[i] << ", expected " << expected[i];
    }
  }
};
using ComplexTypes = ::testing::Types<std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(ComplexTypesTest, ComplexTypes);

TYPED_TEST(ComplexTypesTest, Arithmetic) {
  using Values = std::vector<TypeParam>;
  const Values x = {{1, 2}, {3, -1}, {0, 4}};
  const Values y = {{2, -1}, {1, 1}, {0, 2}};
  EXPECT_EQ(this->Binary("AddV2", x, y), (Values{{3, 1}, {4, 0}, {0, 6}}));
  EXPECT_EQ(this->Binary("Sub", x, y), (Values{{-1, 3}, {2, -2}, {0, 2}}));
  EXPECT_EQ(this->Binary("Mul", x, y), (Values{{4, 3}, {4, 2}, {-8, 0}}));
  this->ExpectNear(this->Binary("RealDiv", x, y), {{0, 1}, {1, -2}, {2, 0}});
  this->ExpectNear(this->Binary("Div", x, {{0, 1}}), {{2, -1}, {-1, -3}, {4, 0}});
  // The square of the absolute value.
  EXPECT_EQ(this->Binary("SquaredDifference", x, y), (Values{{10, 0}, {8, 0}, {4, 0}}));
  this->ExpectNear(this->Binary("Pow", {{0, 1}, {1, 1}, {2, 0}}, {{2, 0}, {2, 0}, {0.5, 0}}),
                   {{-1, 0}, {0, 2}, {std::sqrt(typename TypeParam::value_type(2)), 0}});
}

TYPED_TEST(ComplexTypesTest, LargeNumbersAreDividedWithoutOverflow) {
  using Real = typename TypeParam::value_type;
  const Real large = std::numeric_limits<Real>::max() / 4;
  this->ExpectNear(this->Binary("RealDiv", {{large, large}}, {{large, large}}), {{1, 0}});
}

TYPED_TEST(ComplexTypesTest, EqualityComparesBothParts) {
  const std::vector<TypeParam> x = {{1, 2}, {1, 2}, {1, 2}, {std::nanf(""), 0}};
  const std::vector<TypeParam> y = {{1, 2}, {1, 3}, {0, 2}, {std::nanf(""), 0}};
  using Bools = std::vector<bool>;
  EXPECT_EQ(this->template Binary<bool>("Equal", x, y), (Bools{true, false, false, false}));
  EXPECT_EQ(this->template Binary<bool>("NotEqual", x, y), (Bools{false, true, true, true}));
}

TYPED_TEST(ComplexTypesTest, Functions) {
  using Complex = TypeParam;
  using Values = std::vector<Complex>;
  const Values x = {{1, 2}, {-3, 4}, {0, -2}};
  EXPECT_EQ(this->Unary("Neg", x), (Values{{-1, -2}, {3, -4}, {0, 2}}));
  EXPECT_EQ(this->Unary("Conj", x), (Values{{1, -2}, {-3, -4}, {0, 2}}));
  EXPECT_EQ(this->Unary("Square", x), (Values{{-3, 4}, {-7, -24}, {-4, 0}}));
  EXPECT_EQ(this->Unary("OnesLike", x), Values(3, Complex(1)));
  this->ExpectNear(this->Unary("Sqrt", {{-3, 4}, {0, -2}, {-4, 0}}), {{1, 2}, {1, -1}, {0, 2}});
  this->ExpectNear(this->Unary("Rsqrt", {{-3, 4}}), {{0.2, -0.4}});
  this->ExpectNear(this->Unary("Reciprocal", {{3, 4}}), {{0.12, -0.16}});
  this->ExpectNear(this->Unary("Inv", {{0, 2}}), {{0, -0.5}});
  this->ExpectNear(this->Unary("Sign", {{-3, 4}, {0, 0}, {0, -2}}), {{-0.6, 0.8}, 0, {0, -1}});
  // e^(a + bi) = e^a (cos b + i sin b), and the others from it.
  const auto e = [](Complex z) {
    using Real = typename Complex::value_type;
    return std::exp(z.real()) * Complex(std::cos(z.imag()), Real(std::sin(z.imag())));
  };
  Values exp, tanh, sigmoid;
  for (const Complex z : x) {
    exp.push_back(e(z));
    tanh.push_back((e(z) - e(-z)) / (e(z) + e(-z)));
    sigmoid.push_back(Complex(1) / (Complex(1) + e(-z)));
  }
  this->ExpectNear(this->Unary("Exp", x), exp);
  this->ExpectNear(this->Unary("Tanh", x), tanh);
  this->ExpectNear(this->Unary("Sigmoid", x), sigmoid);
  this->ExpectNear(this->Unary("Log", exp), {{1, 2}, {-3, 4 - 2 * 3.14159265358979324}, {0, -2}});
}

TYPED_TEST(ComplexTypesTest, FarOutFunctionsDoNotOverflow) {
  const std::vector<TypeParam> sigmoid = this->Unary("Sigmoid", {{-1000, 1}, {1000, 1}});
  EXPECT_EQ(sigmoid[0], TypeParam(0));
  EXPECT_EQ(sigmoid[1], TypeParam(1));
  const std::vector<TypeParam> tanh = this->Unary("Tanh", {{-1000, 1}, {1000, 1}});
  EXPECT_EQ(tanh[0].real(), -1);
  EXPECT_EQ(tanh[1].real(), 1);
}

// dy times the conjugate of the derivative, which TanhGrad and SigmoidGrad do not take.
TYPED_TEST(ComplexTypesTest, Gradients) {
  const std::vector<TypeParam> y = {{1, 2}, {3, 1}};
  const std::vector<TypeParam> dy = {{2, -1}, {0, 0}};
  this->ExpectNear(this->Binary("SqrtGrad", y, dy), {{0.4, 0.3}, 0});
  this->ExpectNear(this->Binary("RsqrtGrad", y, dy), {{10, -7.5}, 0});
  this->ExpectNear(this->Binary("ReciprocalGrad", y, dy), {{10, 5}, 0});
  this->ExpectNear(this->Binary("InvGrad", y, dy), {{10, 5}, 0});
  this->ExpectNear(this->Binary("TanhGrad", y, dy), {{4, -12}, 0});
  this->ExpectNear(this->Binary("SigmoidGrad", y, dy), {{6, -8}, 0});
}

// Whether it is within a vector of the processor or behind the last one.
TYPED_TEST(ComplexTypesTest, AnElementAloneHasTheBitsOfTheSameAmongMany) {
  using Values = std::vector<TypeParam>;
  std::mt19937 generator(11);
  std::uniform_real_distribution<typename TypeParam::value_type> uniform(-2, 2);
  const auto draw = [&] {
    const auto real = uniform(generator);
    return TypeParam(real, uniform(generator));
  };
  Values x(203);
  Values y(x.size());
  std::generate(x.begin(), x.end(), draw);
  std::generate(y.begin(), y.end(), draw);
  for (const char* op : {"Mul", "TanhGrad", "SigmoidGrad"}) {
    const Values among = this->Binary(op, x, y);
    ASSERT_EQ(among.size(), x.size()) << op;
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(this->Binary(op, {x[i]}, {y[i]}), Values{among[i]}) << op << ", element " << i;
    }
  }
}

TYPED_TEST(ComplexTypesTest, SumsAndBiases) {
  using Values = std::vector<TypeParam>;
  KernelTester sum("AddN");
  sum.Attr("T", ms::DTypeOf<TypeParam>()).Attr("N", int64_t{3});
  for (int i = 0; i < 3; ++i) sum.template Input<TypeParam>({2}, {{1, 2}, {3, -4}});
  ASSERT_TRUE(IsOk(sum.Run()));
  EXPECT_EQ(sum.template Output<TypeParam>(0), (Values{{3, 6}, {9, -12}}));

  KernelTester biased("BiasAdd");
  biased.Attr("T", ms::DTypeOf<TypeParam>()).Attr("data_format", "NHWC");
  biased.template Input<TypeParam>({1, 2}, {{1, 2}, {3, -4}});
  biased.template Input<TypeParam>({2}, {{1, 1}, {0, 1}});
  ASSERT_TRUE(IsOk(biased.Run()));
  EXPECT_EQ(biased.template Output<TypeParam>(0), (Values{{2, 3}, {3, -3}}));
}

}  // namespace
}  // namespace millstream::kernels
