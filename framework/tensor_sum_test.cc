#include "framework/tensor_sum.h"

#include <complex>
#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace millstream {
namespace {

template <typename T>
void ExpectSum(T a, T b, T expected) {
  const Tensor sum = Tensor::Of<T>(Shape({2}), {a, T(0)});
  EXPECT_TRUE(AddElements(Tensor::Of<T>(Shape({2}), {b, expected}), sum));
  EXPECT_TRUE(TensorsEqual(sum, Tensor::Of<T>(Shape({2}), {expected, expected})))
      << sum.DebugString();
}

TEST(AddElementsTest, AddsNumbers) {
  ExpectSum<float>(0.5f, 0.25f, 0.75f);
  ExpectSum<double>(1e300, 2e300, 3e300);
  ExpectSum<std::complex<float>>({1, 2}, {3, 4}, {4, 6});
  ExpectSum<std::complex<double>>({1, 2}, {3, 4}, {4, 6});
}

TEST(AddElementsTest, IntegersWrapAround) {
  ExpectSum<int8_t>(127, 1, -128);
  ExpectSum<uint8_t>(255, 1, 0);
  ExpectSum<int16_t>(-3, 1, -2);
  ExpectSum<int32_t>(INT32_MAX, 1, INT32_MIN);
  ExpectSum<int64_t>(INT64_MAX, 1, INT64_MIN);
}

Tensor Narrow(DataType dtype, uint16_t bits) {
  Tensor tensor = Tensor::Create(dtype, Shape()).value();
  *static_cast<uint16_t*>(tensor.raw()) = bits;
  return tensor;
}

TEST(AddElementsTest, NarrowSumsAreRoundedOnce) {
  // 1 + 2^-11 lies between 1 and the next binary16, and goes to the even one.
  const Tensor half = Narrow(DataType::kHalf, 0x3c00);
  EXPECT_TRUE(AddElements(Narrow(DataType::kHalf, 0x1000), half));
  EXPECT_TRUE(TensorsEqual(half, Narrow(DataType::kHalf, 0x3c00)));
  // 1 + 1 as bfloat16.
  const Tensor bfloat16 = Narrow(DataType::kBFloat16, 0x3f80);
  EXPECT_TRUE(AddElements(Narrow(DataType::kBFloat16, 0x3f80), bfloat16));
  EXPECT_TRUE(TensorsEqual(bfloat16, Narrow(DataType::kBFloat16, 0x4000)));
}

TEST(AddElementsTest, StringsAndBooleansHaveNoSum) {
  const Tensor text = Tensor::Scalar<std::string>("a");
  EXPECT_FALSE(AddElements(Tensor::Scalar<std::string>("b"), text));
  EXPECT_EQ(*text.data<std::string>(), "a");
  EXPECT_FALSE(AddElements(Tensor::Scalar(true), Tensor::Scalar(false)));
}

template <typename T>
void ExpectQuotient(T number, int64_t divisor, T expected) {
  const Tensor numbers = Tensor::Of<T>(Shape({2}), {number, T(0)});
  EXPECT_TRUE(DivideElements(numbers, divisor));
  EXPECT_TRUE(TensorsEqual(numbers, Tensor::Of<T>(Shape({2}), {expected, T(0)})))
      << numbers.DebugString();
}

TEST(DivideElementsTest, DividesNumbers) {
  ExpectQuotient<float>(3, 2, 1.5f);
  ExpectQuotient<double>(1, 4, 0.25);
  ExpectQuotient<std::complex<float>>({1, 2}, 2, {0.5f, 1});
  ExpectQuotient<std::complex<double>>({1, 2}, 2, {0.5, 1});
  ExpectQuotient<int8_t>(-7, 2, -3);
  ExpectQuotient<uint8_t>(255, 2, 127);
  ExpectQuotient<int32_t>(INT32_MIN, 2, INT32_MIN / 2);
  ExpectQuotient<uint64_t>(UINT64_MAX, 1, UINT64_MAX);
}

TEST(DivideElementsTest, NarrowQuotientsAreRoundedOnce) {
  const Tensor half = Narrow(DataType::kHalf, 0x3c00);  // 1
  EXPECT_TRUE(DivideElements(half, 3));
  EXPECT_TRUE(TensorsEqual(half, Narrow(DataType::kHalf, 0x3555)));
  const Tensor bfloat16 = Narrow(DataType::kBFloat16, 0x3f80);
  EXPECT_TRUE(DivideElements(bfloat16, 2));
  EXPECT_TRUE(TensorsEqual(bfloat16, Narrow(DataType::kBFloat16, 0x3f00)));
}

TEST(DivideElementsTest, StringsAndBooleansHaveNoQuotient) {
  EXPECT_FALSE(DivideElements(Tensor::Scalar<std::string>("b"), 2));
  EXPECT_FALSE(DivideElements(Tensor::Scalar(true), 2));
}

}  // namespace
}  // namespace millstream
