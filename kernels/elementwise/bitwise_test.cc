// BitwiseAnd, BitwiseOr, BitwiseXor, Invert, LeftShift, RightShift, PopulationCount.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

template <typename T>
class BitwiseTest : public ::testing::Test {
 protected:
  using Values = std::vector<T>;

  static Values Binary(const std::string& op, const Values& x, const Values& y) {
    KernelTester t(op);
    t.Attr("T", ms::DTypeOf<T>());
    t.template Input<T>({static_cast<int64_t>(x.size())}, x);
    t.template Input<T>({static_cast<int64_t>(y.size())}, y);
    EXPECT_TRUE(IsOk(t.Run())) << op;
    return t.template Output<T>(0);
  }

  template <typename Result>
  static std::vector<Result> Unary(const std::string& op, const Values& x) {
    KernelTester t(op);
    t.Attr("T", ms::DTypeOf<T>()).Outputs({ms::DTypeOf<Result>()});
    t.template Input<T>({static_cast<int64_t>(x.size())}, x);
    EXPECT_TRUE(IsOk(t.Run())) << op;
    return t.template Output<Result>(0);
  }
};
using IntegerTypes =
    ::testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(BitwiseTest, IntegerTypes);

TYPED_TEST(BitwiseTest, Bits) {
  using Values = std::vector<TypeParam>;
  EXPECT_EQ(this->Binary("BitwiseAnd", {12, 10}, {6}), (Values{4, 2}));
  EXPECT_EQ(this->Binary("BitwiseOr", {12, 10}, {6}), (Values{14, 14}));
  EXPECT_EQ(this->Binary("BitwiseXor", {12, 10}, {6, 10}), (Values{10, 0}));
  EXPECT_EQ(this->template Unary<TypeParam>("Invert", {0, 5}),
            (Values{static_cast<TypeParam>(-1), static_cast<TypeParam>(-6)}));
}

TYPED_TEST(BitwiseTest, Shifts) {
  using T = TypeParam;
  using Values = std::vector<T>;
  constexpr int kBits = 8 * sizeof(T);
  const T top = static_cast<T>(std::make_unsigned_t<T>(1) << (kBits - 1));
  EXPECT_EQ(this->Binary("LeftShift", {1, 3, 1}, {4, 1, T(kBits - 1)}), (Values{16, 6, top}));
  EXPECT_EQ(this->Binary("RightShift", {16, 7}, {4, 1}), (Values{1, 3}));
  EXPECT_EQ(this->Binary("LeftShift", {1}, {100}), (Values{top}));
  EXPECT_EQ(this->Binary("RightShift", {top}, {100}),
            (Values{std::is_signed_v<T> ? static_cast<T>(-1) : T(1)}));
  if constexpr (std::is_signed_v<T>) {
    EXPECT_EQ(this->Binary("LeftShift", {3}, {-2}), (Values{3}));
    EXPECT_EQ(this->Binary("RightShift", {-8, -3}, {1, -5}), (Values{-4, -3}));
  }
}

TYPED_TEST(BitwiseTest, PopulationCounts) {
  using T = TypeParam;
  EXPECT_EQ(this->template Unary<uint8_t>("PopulationCount", {0, 1, 7, static_cast<T>(-1)}),
            (std::vector<uint8_t>{0, 1, 3, 8 * sizeof(T)}));
}

}  // namespace
}  // namespace millstream::kernels
