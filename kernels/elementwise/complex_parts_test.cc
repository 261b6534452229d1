// Real, Imag, ComplexAbs, Angle, Complex.
#include <gtest/gtest.h>

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

template <typename Real>
class ComplexPartsTest : public ::testing::Test {
 protected:
  using Complex = std::complex<Real>;

  static std::vector<Real> Part(const std::string& op, const std::vector<Complex>& x) {
    KernelTester t(op);
    t.Attr("T", ms::DTypeOf<Complex>()).Attr("Tout", ms::DTypeOf<Real>());
    t.Outputs({ms::DTypeOf<Real>()});
    t.template Input<Complex>({static_cast<int64_t>(x.size())}, x);
    EXPECT_TRUE(IsOk(t.Run())) << op;
    return t.template Output<Real>(0);
  }
};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ComplexPartsTest, RealTypes);

TYPED_TEST(ComplexPartsTest, Parts) {
  using Reals = std::vector<TypeParam>;
  constexpr TypeParam kPi = TypeParam(3.14159265358979324);
  EXPECT_EQ(this->Part("Real", {{3, 4}, {-1, 0}}), (Reals{3, -1}));
  EXPECT_EQ(this->Part("Imag", {{3, 4}, {-1, 0}}), (Reals{4, 0}));
  EXPECT_EQ(this->Part("ComplexAbs", {{3, 4}, {-1, 0}, {0, 0}}), (Reals{5, 1, 0}));
  EXPECT_TRUE(IsNear<TypeParam>(this->Part("Angle", {{1, 1}, {-1, 0}, {0, -2}}),
                                {kPi / 4, kPi, -kPi / 2}, 1e-6, 0));
}

TYPED_TEST(ComplexPartsTest, TheAbsoluteValueDoesNotOverflow) {
  const TypeParam large = std::numeric_limits<TypeParam>::max() / 8;
  EXPECT_TRUE(
      IsNear<TypeParam>(this->Part("ComplexAbs", {{3 * large, 4 * large}}), {5 * large}, 1e-6, 0));
}

TYPED_TEST(ComplexPartsTest, PartsBroadcast) {
  using Complex = std::complex<TypeParam>;
  KernelTester t("Complex");
  t.Attr("T", ms::DTypeOf<TypeParam>()).Attr("Tout", ms::DTypeOf<Complex>());
  t.Outputs({ms::DTypeOf<Complex>()});
  t.template Input<TypeParam>({2, 1}, {1, 2});
  t.template Input<TypeParam>({2}, {3, 4});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(t.template Output<Complex>(0), (std::vector<Complex>{{1, 3}, {1, 4}, {2, 3}, {2, 4}}));
}

TYPED_TEST(ComplexPartsTest, EmptyTensors) {
  EXPECT_TRUE(this->Part("Real", {}).empty());
  EXPECT_TRUE(this->Part("Angle", {}).empty());
}

}  // namespace
}  // namespace millstream::kernels
