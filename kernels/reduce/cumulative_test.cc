// Cumsum, Cumprod.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

using Dims = std::vector<int64_t>;

struct Options {
  bool exclusive = false;
  bool reverse = false;
};

template <typename T>
std::vector<T> Along(const std::string& op, const Dims& dims, const std::vector<T>& x, int32_t axis,
                     Options options = {}) {
  KernelTester t(op);
  t.Attr("T", ms::DTypeOf<T>()).Attr("Tidx", MS_INT32);
  t.Attr("exclusive", options.exclusive).Attr("reverse", options.reverse);
  t.template Input<T>(dims, x);
  t.template ConstInput<int32_t>({}, {axis});
  EXPECT_TRUE(IsOk(t.Run())) << op;
  EXPECT_EQ(t.OutputShape(0), dims);
  return t.template Output<T>(0);
}

using Floats = std::vector<float>;

TEST(CumulativeTest, SumsOfAVector) {
  const Floats x = {1, 2, 4, 8};
  EXPECT_EQ(Along("Cumsum", {4}, x, 0), (Floats{1, 3, 7, 15}));
  EXPECT_EQ(Along("Cumsum", {4}, x, 0, {true, false}), (Floats{0, 1, 3, 7}));
  EXPECT_EQ(Along("Cumsum", {4}, x, 0, {false, true}), (Floats{15, 14, 12, 8}));
  EXPECT_EQ(Along("Cumsum", {4}, x, -1, {true, true}), (Floats{14, 12, 8, 0}));
}

TEST(CumulativeTest, ProductsOfAVector) {
  const Floats x = {2, 3, 4};
  EXPECT_EQ(Along("Cumprod", {3}, x, 0), (Floats{2, 6, 24}));
  EXPECT_EQ(Along("Cumprod", {3}, x, 0, {true, false}), (Floats{1, 2, 6}));
  EXPECT_EQ(Along("Cumprod", {3}, x, 0, {false, true}), (Floats{24, 12, 4}));
  EXPECT_EQ(Along("Cumprod", {3}, x, 0, {true, true}), (Floats{12, 4, 1}));
}

TEST(CumulativeTest, EachAxis) {
  const Floats x = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(Along("Cumsum", {2, 2, 2}, x, 0), (Floats{1, 2, 3, 4, 6, 8, 10, 12}));
  EXPECT_EQ(Along("Cumsum", {2, 2, 2}, x, 1), (Floats{1, 2, 4, 6, 5, 6, 12, 14}));
  EXPECT_EQ(Along("Cumsum", {2, 2, 2}, x, 2), (Floats{1, 3, 3, 7, 5, 11, 7, 15}));
}

TEST(CumulativeTest, ManyColumnsOnSeveralThreads) {
  constexpr int64_t kRows = 300, kColumns = 1001;
  std::vector<double> x, expected(kRows * kColumns);
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    x.push_back(static_cast<double>(i % 17));
    expected[i] = x[i] + (i < kColumns ? 0 : expected[i - kColumns]);
  }
  EXPECT_EQ(Along("Cumsum", {kRows, kColumns}, x, 0), expected);
}

// Rows are computed some at a time, and those that are left one at a time.
TEST(CumulativeTest, AnyNumberOfRowsGivesTheBitsOfOne) {
  for (const Options options :
       {Options{}, Options{true, false}, Options{false, true}, Options{true, true}}) {
    for (const int64_t rows : {1, 3, 4, 5, 11}) {
      constexpr int64_t kLength = 1001;
      Floats x(static_cast<size_t>(rows * kLength));
      for (size_t i = 0; i < x.size(); ++i) x[i] = 1.0f / static_cast<float>(i % 97 + 1);
      x[5] = -0.0f;
      Floats expected(x.size());
      for (int64_t row = 0; row < rows; ++row) {
        float so_far = 0;
        for (int64_t i = 0; i < kLength; ++i) {
          const int64_t at = row * kLength + (options.reverse ? kLength - 1 - i : i);
          const float before = so_far;
          so_far += x[static_cast<size_t>(at)];
          expected[static_cast<size_t>(at)] = options.exclusive ? before : so_far;
        }
      }
      EXPECT_EQ(Along("Cumsum", {rows, kLength}, x, 1, options), expected) << rows << " rows";
    }
  }
}

TEST(CumulativeTest, OtherTypes) {
  EXPECT_EQ(Along<int8_t>("Cumsum", {3}, {100, 100, -1}, 0), (std::vector<int8_t>{100, -56, -57}));
  EXPECT_EQ(Along<int64_t>("Cumprod", {3}, {3, -2, 5}, 0), (std::vector<int64_t>{3, -6, -30}));
  using Complex = std::complex<double>;
  EXPECT_EQ(Along<Complex>("Cumprod", {2}, {{0, 1}, {0, 1}}, 0),
            (std::vector<Complex>{{0, 1}, {-1, 0}}));
}

// 2048 + 1 is no float16. A sum of float16 numbers would stay there.
TEST(CumulativeTest, NarrowFloatsAreAddedUpInFloat) {
  const std::vector<Float16> y =
      Along<Float16>("Cumsum", {4}, {Float16(2048), Float16(1), Float16(1), Float16(1)}, 0);
  EXPECT_EQ(static_cast<float>(y[2]), 2050);
}

TEST(CumulativeTest, EmptyTensors) {
  EXPECT_EQ(Along<float>("Cumsum", {0, 3}, {}, 0), Floats());
  EXPECT_EQ(Along<float>("Cumprod", {3, 0}, {}, 0), Floats());
}

TEST(CumulativeTest, TheAxisIsAScalarInRange) {
  for (const Dims& dims : {Dims{}, Dims{1}}) {
    KernelTester t("Cumsum");
    t.Attr("T", MS_FLOAT32).Attr("Tidx", MS_INT32).Attr("exclusive", false).Attr("reverse", false);
    t.Input<float>({2}, {1, 2}).Input<int32_t>(dims, {dims.empty() ? 1 : 0});
    const ms::Status status = t.Run();
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
    EXPECT_NE(std::string(status.message()).find("axis"), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace millstream::kernels
