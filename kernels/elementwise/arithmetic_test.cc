#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

template <typename T>
std::vector<T> RunBinary(const std::string& op, const std::vector<T>& x, const std::vector<T>& y) {
  KernelTester t(op);
  t.Attr("T", ms::DTypeOf<T>());
  t.template Input<T>({static_cast<int64_t>(x.size())}, x);
  t.template Input<T>({static_cast<int64_t>(y.size())}, y);
  const ms::Status status = t.Run();
  EXPECT_TRUE(IsOk(status)) << op;
  return status.ok() ? t.template Output<T>(0) : std::vector<T>();
}

template <typename T>
class ArithmeticTest : public ::testing::Test {};
using AllTypes = ::testing::Types<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t,
                                  uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(ArithmeticTest, AllTypes);

TYPED_TEST(ArithmeticTest, ComputesByHand) {
  using T = TypeParam;
  const std::vector<T> x = {7, 3, 5, 0, 9};
  const std::vector<T> y = {2, 3, 1, 0, 4};
  EXPECT_EQ(RunBinary<T>("Add", x, y), (std::vector<T>{9, 6, 6, 0, 13}));
  EXPECT_EQ(RunBinary<T>("AddV2", x, y), (std::vector<T>{9, 6, 6, 0, 13}));
  EXPECT_EQ(RunBinary<T>("Sub", x, y), (std::vector<T>{5, 0, 4, 0, 5}));
  EXPECT_EQ(RunBinary<T>("Mul", x, y), (std::vector<T>{14, 9, 5, 0, 36}));
  EXPECT_EQ(RunBinary<T>("SquaredDifference", x, y), (std::vector<T>{25, 0, 16, 0, 25}));
  EXPECT_EQ(RunBinary<T>("Maximum", x, y), (std::vector<T>{7, 3, 5, 0, 9}));
  EXPECT_EQ(RunBinary<T>("Minimum", x, y), (std::vector<T>{2, 3, 1, 0, 4}));
}

TYPED_TEST(ArithmeticTest, IntegersWrap) {
  using T = TypeParam;
  if constexpr (std::is_integral_v<T>) {
    constexpr T kLeast = std::numeric_limits<T>::min();
    constexpr T kMost = std::numeric_limits<T>::max();
    EXPECT_EQ(RunBinary<T>("AddV2", {kMost}, {1}), (std::vector<T>{kLeast}));
    EXPECT_EQ(RunBinary<T>("Sub", {kLeast}, {1}), (std::vector<T>{kMost}));
    // (2^n - 1)^2 = 1 and (2^(n-1) - 1)^2 = 1 modulo 2^n (n > 2).
    EXPECT_EQ(RunBinary<T>("Mul", {kMost}, {kMost}), (std::vector<T>{1}));
  } else {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    constexpr T kMost = std::numeric_limits<T>::max();
    EXPECT_EQ(RunBinary<T>("AddV2", {kMost}, {kMost}), (std::vector<T>{kInfinity}));
  }
}

TEST(MaximumTest, NanWinsOnEitherSideAndZerosKeepTheFirst) {
  const float nan = std::nanf("");
  for (const char* op : {"Maximum", "Minimum"}) {
    const std::vector<float> z = RunBinary<float>(op, {nan, 1, nan}, {1, nan, nan});
    for (float value : z) EXPECT_TRUE(std::isnan(value)) << op;
    EXPECT_TRUE(std::signbit(RunBinary<float>(op, {-0.0f}, {0.0f})[0])) << op;
    EXPECT_FALSE(std::signbit(RunBinary<float>(op, {0.0f}, {-0.0f})[0])) << op;
  }
}

TEST(BroadcastingKernelTest, EmptyTensors) {
  KernelTester t("Mul");
  t.Attr("T", MS_FLOAT32).Input<float>({2, 0, 3}, {}).Input<float>({3}, {1, 2, 3});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{2, 0, 3}));
}

TEST(BroadcastingKernelTest, DimensionsOfOneRepeatToNone) {
  KernelTester t("Mul");
  t.Attr("T", MS_FLOAT32).Input<float>({1, 2}, {1, 2}).Input<float>({0, 1}, {});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{0, 2}));
}

TEST(BroadcastingKernelTest, ShapesThatDoNotFitAreRefused) {
  KernelTester t("Sub");
  t.Attr("T", MS_FLOAT32).Input<float>({2}, {1, 2}).Input<float>({3}, {1, 2, 3});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(status.message().find("[2] vs. [3]"), std::string::npos) << status.message();
}

// x - y, element by element of the output.
std::vector<float> ReferenceSub(const std::vector<int64_t>& x_dims, const std::vector<float>& x,
                                const std::vector<int64_t>& y_dims, const std::vector<float>& y,
                                const std::vector<int64_t>& out_dims) {
  int64_t size = 1;
  for (int64_t dim : out_dims) size *= dim;
  const auto element = [&](const std::vector<int64_t>& dims, const std::vector<float>& values,
                           int64_t index) {
    int64_t at = 0;
    int64_t stride = 1;
    for (size_t d = out_dims.size(); d-- > 0;) {
      if (dims[d] != 1) at += index % out_dims[d] * stride;
      stride *= dims[d];
      index /= out_dims[d];
    }
    return values[static_cast<size_t>(at)];
  };
  std::vector<float> out;
  for (int64_t i = 0; i < size; ++i) out.push_back(element(x_dims, x, i) - element(y_dims, y, i));
  return out;
}

TEST(BroadcastingKernelTest, RandomShapesAgreeWithTheReference) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int trial = 0; trial < 150; ++trial) {
    std::vector<int64_t> x_dims;
    std::vector<int64_t> y_dims;
    std::vector<int64_t> out_dims;
    const size_t rank = random() % 5;
    int64_t x_size = 1;
    int64_t y_size = 1;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t dim = 1 + static_cast<int64_t>(random() % 6);
      x_dims.push_back(random() % 3 == 0 ? 1 : dim);
      y_dims.push_back(random() % 3 == 0 ? 1 : dim);
      out_dims.push_back(std::max(x_dims[d], y_dims[d]));
      x_size *= x_dims[d];
      y_size *= y_dims[d];
    }
    std::vector<float> x(static_cast<size_t>(x_size));
    std::vector<float> y(static_cast<size_t>(y_size));
    for (float& value : x) value = uniform(random);
    for (float& value : y) value = uniform(random);
    KernelTester t("Sub");
    t.Attr("T", MS_FLOAT32).Input<float>(x_dims, x).Input<float>(y_dims, y);
    ASSERT_TRUE(IsOk(t.Run()));
    EXPECT_EQ(t.OutputShape(0), out_dims);
    EXPECT_EQ(t.Output<float>(0), ReferenceSub(x_dims, x, y_dims, y, out_dims));
  }
}

TEST(BroadcastingKernelTest, LargeTensorsAreCutWithoutSeams) {
  constexpr int64_t kRows = 700;
  constexpr int64_t kColumns = 301;
  std::vector<int32_t> x(kRows * kColumns);
  std::vector<int32_t> row(kColumns);
  std::vector<int32_t> sums(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int32_t>(i * 7);
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<int32_t>(i * i);
  for (size_t i = 0; i < x.size(); ++i) sums[i] = x[i] + row[i % kColumns];
  KernelTester by_rows("AddV2");
  by_rows.Attr("T", MS_INT32).Input<int32_t>({kRows, kColumns}, x).Input<int32_t>({kColumns}, row);
  ASSERT_TRUE(IsOk(by_rows.Run()));
  EXPECT_EQ(by_rows.Output<int32_t>(0), sums);
  KernelTester by_elements("Sub");
  by_elements.Attr("T", MS_INT32).Input<int32_t>({kRows, kColumns}, sums);
  by_elements.Input<int32_t>({kRows, kColumns}, x);
  ASSERT_TRUE(IsOk(by_elements.Run()));
  EXPECT_EQ(by_elements.Output<int32_t>(0)[kColumns + 5], 25);
}

}  // namespace
}  // namespace millstream::kernels
