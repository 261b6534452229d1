// Cast from and to the types that no loop takes: 16-bit floating-point and complex numbers.
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

template <typename From, typename To>
std::vector<To> Cast(const std::vector<From>& x, bool truncate = false) {
  KernelTester t("Cast");
  t.Attr("SrcT", ms::DTypeOf<From>()).Attr("DstT", ms::DTypeOf<To>()).Attr("Truncate", truncate);
  t.Outputs({ms::DTypeOf<To>()});
  t.template Input<From>({static_cast<int64_t>(x.size())}, x);
  const ms::Status status = t.Run();
  EXPECT_TRUE(IsOk(status));
  return status.ok() ? t.template Output<To>(0) : std::vector<To>();
}

template <typename T>
class CastTilesTest : public ::testing::Test {};
using TileTypes = ::testing::Types<Float16, BFloat16, Complex64, Complex128>;
TYPED_TEST_SUITE(CastTilesTest, TileTypes);

// Over several tiles, of a size that no tile divides.
template <typename T, typename Other>
void ExpectSmallNumbersKeepTheirValueBothWays() {
  std::vector<T> x;
  std::vector<Other> y;
  for (int i = 0; i < 2500; ++i) {
    const bool one = i % 7 < 3;
    x.push_back(T(static_cast<float>(one ? 1 : 0)));
    y.push_back(Other(static_cast<float>(one ? 1 : 0)));
  }
  EXPECT_EQ((Cast<T, Other>(x)), y);
  EXPECT_EQ((Cast<Other, T>(y)), x);
}

TYPED_TEST(CastTilesTest, SmallNumbersKeepTheirValue) {
  using T = TypeParam;
  ExpectSmallNumbersKeepTheirValueBothWays<T, bool>();
  ExpectSmallNumbersKeepTheirValueBothWays<T, int8_t>();
  ExpectSmallNumbersKeepTheirValueBothWays<T, uint16_t>();
  ExpectSmallNumbersKeepTheirValueBothWays<T, int32_t>();
  ExpectSmallNumbersKeepTheirValueBothWays<T, int64_t>();
  ExpectSmallNumbersKeepTheirValueBothWays<T, float>();
  ExpectSmallNumbersKeepTheirValueBothWays<T, double>();
  ExpectSmallNumbersKeepTheirValueBothWays<T, Float16>();
  ExpectSmallNumbersKeepTheirValueBothWays<T, BFloat16>();
  ExpectSmallNumbersKeepTheirValueBothWays<T, Complex64>();
  ExpectSmallNumbersKeepTheirValueBothWays<T, Complex128>();
}

TEST(NarrowCastTest, RealNumbersAreRounded) {
  EXPECT_EQ((Cast<float, Float16>({0.1f, 65520.0f, -1e-8f})),
            (std::vector<Float16>{Float16::FromBits(0x2e66), Float16::FromBits(0x7c00),
                                  Float16::FromBits(0x8000)}));
  EXPECT_EQ((Cast<double, BFloat16>({0.1, 1e300})),
            (std::vector<BFloat16>{BFloat16::FromBits(0x3dcd), BFloat16::FromBits(0x7f80)}));
  EXPECT_EQ((Cast<int32_t, BFloat16>({257, -259})),
            (std::vector<BFloat16>{BFloat16(256), BFloat16(-260)}));
}

TEST(NarrowCastTest, WhatDoesNotFitConvertsAsFloatDoes) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<Float16> x = {Float16(300.75f), Float16(-1.5f), Float16(65504.0f),
                                  Float16(infinity)};
  EXPECT_EQ((Cast<Float16, uint8_t>(x)), (std::vector<uint8_t>{44, 255, 224, 0}));
  EXPECT_EQ((Cast<Float16, int32_t>(x)),
            (std::vector<int32_t>{300, -1, 65504, std::numeric_limits<int32_t>::min()}));
}

TEST(NarrowCastTest, ACastToTheSameTypeKeepsTheBits) {
  KernelTester t("Cast");
  t.Attr("SrcT", MS_FLOAT16).Attr("DstT", MS_FLOAT16).Attr("Truncate", false);
  t.Outputs({MS_FLOAT16});
  const std::vector<Float16> x = {Float16::FromBits(0x7d01), Float16::FromBits(0x3c00)};
  t.Input<Float16>({2}, x);
  ASSERT_TRUE(IsOk(t.Run()));
  const std::vector<Float16> out = t.Output<Float16>(0);
  EXPECT_EQ(out[0].bits, x[0].bits);
  EXPECT_EQ(out[1].bits, x[1].bits);
}

TEST(NarrowCastTest, TruncateCutsFloatToBFloat16) {
  const std::vector<float> x = {1.0f + 0x1.8p-8f, -(1.0f + 0x1.8p-8f), 3.4e38f};
  EXPECT_EQ((Cast<float, BFloat16>(x, true)),
            (std::vector<BFloat16>{BFloat16(1.0f), BFloat16(-1.0f), BFloat16::FromBits(0x7f7f)}));
  EXPECT_EQ((Cast<float, BFloat16>(x, false)),
            (std::vector<BFloat16>{BFloat16(1.0f + 0x1p-7f), BFloat16(-1.0f - 0x1p-7f),
                                   BFloat16::FromBits(0x7f80)}));
  const float nan = narrow_float::FloatOfBits(0x7f800001);
  EXPECT_TRUE(std::isnan(static_cast<float>((Cast<float, BFloat16>({nan}, true))[0])));
}

TEST(NarrowCastTest, TruncateCutsFloatToFloat16) {
  const std::vector<float> x = {1.0f + 0x1.8p-11f, -(1.0f + 0x1.8p-11f), 65535.0f, 65536.0f};
  EXPECT_EQ((Cast<float, Float16>(x, true)),
            (std::vector<Float16>{Float16(1.0f), Float16(-1.0f), Float16(65504.0f),
                                  Float16::FromBits(0x7c00)}));
  EXPECT_EQ((Cast<float, Float16>(x, false))[0], Float16(1.0f + 0x1p-10f));
}

TEST(NarrowCastTest, TruncateCutsDoubles) {
  const double x = 1.0 + 0x1.8p-24;
  EXPECT_EQ((Cast<double, float>({x, -x}, true)), (std::vector<float>{1.0f, -1.0f}));
  EXPECT_EQ((Cast<double, float>({x, -x}, false)),
            (std::vector<float>{1.0f + 0x1p-23f, -1.0f - 0x1p-23f}));
  EXPECT_EQ((Cast<double, Float16>({1.0 + 0x1.8p-11}, true)),
            (std::vector<Float16>{Float16(1.0f)}));
  EXPECT_EQ((Cast<double, BFloat16>({1.0 + 0x1.8p-8}, true)),
            (std::vector<BFloat16>{BFloat16(1.0f)}));
  EXPECT_EQ((Cast<Complex128, Complex64>({{x, -x}}, true)), (std::vector<Complex64>{{1, -1}}));
}

TEST(NarrowCastTest, TruncateChangesNothingWhereAllBitsFit) {
  EXPECT_EQ((Cast<float, double>({0.1f}, true)), (std::vector<double>{0.1f}));
  EXPECT_EQ((Cast<Float16, float>({Float16(0.1f)}, true)),
            (std::vector<float>{static_cast<float>(Float16(0.1f))}));
  EXPECT_EQ((Cast<double, int32_t>({-2.75}, true)), (std::vector<int32_t>{-2}));
}

TEST(ComplexCastTest, TheRealPartCounts) {
  EXPECT_EQ((Cast<Complex64, int32_t>({{-2.5f, 7}, {0, 7}})), (std::vector<int32_t>{-2, 0}));
  EXPECT_EQ((Cast<Complex128, float>({{0.1, 7}})), (std::vector<float>{0.1f}));
  EXPECT_EQ((Cast<Complex64, bool>({{0, 7}, {1, 0}})), (std::vector<bool>{false, true}));
  EXPECT_EQ((Cast<int64_t, Complex128>({-3})), (std::vector<Complex128>{{-3, 0}}));
}

TEST(ComplexCastTest, BothPartsAreKeptBetweenComplexTypes) {
  EXPECT_EQ((Cast<Complex64, Complex128>({{1.5f, -2.5f}, {0, 1}})),
            (std::vector<Complex128>{{1.5, -2.5}, {0, 1}}));
  EXPECT_EQ((Cast<Complex128, Complex64>({{0.1, -0.2}})), (std::vector<Complex64>{{0.1f, -0.2f}}));
  EXPECT_EQ((Cast<Complex64, Complex64>({{1, 2}})), (std::vector<Complex64>{{1, 2}}));
}

}  // namespace
}  // namespace millstream::kernels
