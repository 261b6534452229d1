#include <cmath>
#include <limits>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

template <typename From, typename To>
std::vector<To> Cast(const std::vector<From>& x) {
  KernelTester t("Cast");
  t.Attr("SrcT", ms::DTypeOf<From>()).Attr("DstT", ms::DTypeOf<To>()).Attr("Truncate", false);
  t.Outputs({ms::DTypeOf<To>()});
  t.template Input<From>({static_cast<int64_t>(x.size())}, x);
  const ms::Status status = t.Run();
  EXPECT_TRUE(IsOk(status));
  return status.ok() ? t.template Output<To>(0) : std::vector<To>();
}

// 0, 1 and 5 are numbers of every type (and bools when cut to them).
template <typename From, typename To>
void ExpectSmallNumbersKeepTheirValue() {
  const std::vector<From> x = {From(0), From(1), From(5)};
  EXPECT_EQ((Cast<From, To>(x)), (std::vector<To>{To(x[0]), To(x[1]), To(x[2])}));
}

template <typename From>
void ExpectSmallNumbersKeepTheirValueInAllTypes() {
  ExpectSmallNumbersKeepTheirValue<From, bool>();
  ExpectSmallNumbersKeepTheirValue<From, int8_t>();
  ExpectSmallNumbersKeepTheirValue<From, int16_t>();
  ExpectSmallNumbersKeepTheirValue<From, int32_t>();
  ExpectSmallNumbersKeepTheirValue<From, int64_t>();
  ExpectSmallNumbersKeepTheirValue<From, uint8_t>();
  ExpectSmallNumbersKeepTheirValue<From, uint16_t>();
  ExpectSmallNumbersKeepTheirValue<From, uint32_t>();
  ExpectSmallNumbersKeepTheirValue<From, uint64_t>();
  ExpectSmallNumbersKeepTheirValue<From, float>();
  ExpectSmallNumbersKeepTheirValue<From, double>();
}

TEST(CastTest, SmallNumbersKeepTheirValueInAllPairs) {
  ExpectSmallNumbersKeepTheirValueInAllTypes<bool>();
  ExpectSmallNumbersKeepTheirValueInAllTypes<int8_t>();
  ExpectSmallNumbersKeepTheirValueInAllTypes<int16_t>();
  ExpectSmallNumbersKeepTheirValueInAllTypes<int32_t>();
  ExpectSmallNumbersKeepTheirValueInAllTypes<int64_t>();
  ExpectSmallNumbersKeepTheirValueInAllTypes<uint8_t>();
  ExpectSmallNumbersKeepTheirValueInAllTypes<uint16_t>();
  ExpectSmallNumbersKeepTheirValueInAllTypes<uint32_t>();
  ExpectSmallNumbersKeepTheirValueInAllTypes<uint64_t>();
  ExpectSmallNumbersKeepTheirValueInAllTypes<float>();
  ExpectSmallNumbersKeepTheirValueInAllTypes<double>();
}

TEST(CastTest, FractionsAreCutTowardsZero) {
  const std::vector<float> x = {1.9f, -1.9f, 0.5f, -0.5f, 2.5f};
  EXPECT_EQ((Cast<float, int32_t>(x)), (std::vector<int32_t>{1, -1, 0, 0, 2}));
  EXPECT_EQ((Cast<float, int8_t>(x)), (std::vector<int8_t>{1, -1, 0, 0, 2}));
  EXPECT_EQ((Cast<double, int64_t>({-7.9})), (std::vector<int64_t>{-7}));
}

TEST(CastTest, AnythingButZeroIsTrue) {
  EXPECT_EQ((Cast<float, bool>({0, -0.0f, 0.1f, std::nanf("")})),
            (std::vector<bool>{false, false, true, true}));
  EXPECT_EQ((Cast<int32_t, bool>({0, 256, -1})), (std::vector<bool>{false, true, true}));
}

TEST(CastTest, IntegersWrap) {
  EXPECT_EQ((Cast<int32_t, int8_t>({300, -129})), (std::vector<int8_t>{44, 127}));
  EXPECT_EQ((Cast<int64_t, int32_t>({int64_t{1} << 32, -1})), (std::vector<int32_t>{0, -1}));
  EXPECT_EQ((Cast<int8_t, uint64_t>({-1})),
            (std::vector<uint64_t>{std::numeric_limits<uint64_t>::max()}));
}

TEST(CastTest, WhatDoesNotFitConvertsAsTheProcessorDoes) {
  constexpr int32_t kLeast32 = std::numeric_limits<int32_t>::min();
  constexpr int64_t kLeast64 = std::numeric_limits<int64_t>::min();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ((Cast<float, int32_t>({3e9f, -3e9f, std::nanf(""), kInfinity})),
            (std::vector<int32_t>{kLeast32, kLeast32, kLeast32, kLeast32}));
  EXPECT_EQ((Cast<float, int64_t>({1e19f, -kInfinity})),
            (std::vector<int64_t>{kLeast64, kLeast64}));
  EXPECT_EQ((Cast<float, uint8_t>({300.5f, -1.5f, 1e6f, 3e9f})),
            (std::vector<uint8_t>{44, 255, 64, 0}));
  EXPECT_EQ((Cast<float, uint32_t>({3e9f, -1.5f})),
            (std::vector<uint32_t>{3000000000u, 4294967295u}));
  EXPECT_EQ(
      (Cast<double, uint64_t>({1e19, -1.0, std::nan("")})),
      (std::vector<uint64_t>{10000000000000000000u, 18446744073709551615u, 9223372036854775808u}));
}

TEST(CastTest, Float64RoundsToFloat32) {
  EXPECT_EQ((Cast<double, float>({0.1, 1e300})),
            (std::vector<float>{0.1f, std::numeric_limits<float>::infinity()}));
}

TEST(CastTest, LargeTensorsAreCutWithoutSeams) {
  std::vector<int32_t> x(200003);
  std::vector<double> expected(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<int32_t>(i) - 100000;
    expected[i] = x[i];
  }
  EXPECT_EQ((Cast<int32_t, double>(x)), expected);
}

MS_Code CodeOfCast(MS_DType from, MS_DType to) {
  KernelTester t("Cast");
  t.Attr("SrcT", from)
      .Attr("DstT", to)
      .Attr("Truncate", false)
      .Outputs({to})
      .Input<float>({1}, {1});
  return t.Run().code();
}

TEST(CastTest, TextIsNeverCast) {
  EXPECT_EQ(CodeOfCast(MS_STRING, MS_FLOAT32), MS_UNIMPLEMENTED);
  EXPECT_EQ(CodeOfCast(MS_FLOAT32, MS_STRING), MS_UNIMPLEMENTED);
}

// An element of a quantized type, as Cast sees it.
template <MS_DType dtype, typename Integer>
struct Quantized {
  static constexpr MS_DType kDType = dtype;
  bool operator==(const Quantized& other) const { return level == other.level; }
  Integer level;
};

TEST(CastTest, QuantizedNumbersAreTheIntegersTheyAreStoredAs) {
  using QInt8 = Quantized<MS_QINT8, int8_t>;
  using QInt32 = Quantized<MS_QINT32, int32_t>;
  using QUInt16 = Quantized<MS_QUINT16, uint16_t>;
  EXPECT_EQ((Cast<float, QInt8>({-3.5f, 100.25f})), (std::vector<QInt8>{{-3}, {100}}));
  EXPECT_EQ((Cast<QInt8, double>({{-3}, {100}})), (std::vector<double>{-3, 100}));
  EXPECT_EQ((Cast<QInt32, QUInt16>({{-1}, {65537}})), (std::vector<QUInt16>{{65535}, {1}}));
  EXPECT_EQ((Cast<QUInt16, QUInt16>({{7}, {65535}})), (std::vector<QUInt16>{{7}, {65535}}));
}

TEST(CastTest, NoKernelIsThereForOtherTypes) {
  EXPECT_EQ(CodeOfCast(MS_FLOAT32, MS_RESOURCE), MS_NOT_FOUND);
}

}  // namespace
}  // namespace millstream::kernels
