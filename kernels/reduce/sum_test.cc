#include <cmath>
#include <complex>
#include <numeric>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/reduce/reduce_testing.h"

namespace millstream::kernels {
namespace {

using testing::ExpectReduces;
using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;
using testing::RunReduce;

template <typename T>
double SumOf(const std::vector<T>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

TEST(SumTest, RandomShapesAgreeWithTheReference) {
  ExpectReduces<float>("Sum", -1, 1, SumOf<float>, 1e-5, 1e-4);
  ExpectReduces<double>("Sum", -1, 1, SumOf<double>, 1e-13, 1e-12);
  ExpectReduces<int32_t>("Sum", -100, 100, SumOf<int32_t>, 0, 0);
  ExpectReduces<uint64_t>("Sum", 0, 100, SumOf<uint64_t>, 0, 0);
}

// The inputs are of the type, the sums are float's, and one rounding remains.
TEST(SumTest, NarrowFloatsAgreeWithTheReference) {
  ExpectReduces<Float16>("Sum", Float16(-1.0f), Float16(1.0f), SumOf<Float16>, 5e-4, 1e-4);
  ExpectReduces<BFloat16>("Sum", BFloat16(-1.0f), BFloat16(1.0f), SumOf<BFloat16>, 4e-3, 1e-4);
}

TEST(SumTest, NarrowFloatsAreRoundedOnce) {
  // 2048 + 1 is no float16: adding one by one would stay there.
  std::vector<Float16> out;
  const std::vector<Float16> ones(3000, Float16(1.0f));
  ASSERT_TRUE(IsOk(RunReduce<Float16>("Sum", {3000}, ones, {0}, false, &out)));
  EXPECT_EQ(out, (std::vector<Float16>{Float16(3000.0f)}));
  ASSERT_TRUE(IsOk(RunReduce<Float16>("Sum", {1500, 2}, ones, {0}, false, &out)));
  EXPECT_EQ(out, (std::vector<Float16>{Float16(1500.0f), Float16(1500.0f)}));
}

TEST(SumTest, ComplexNumbers) {
  using Complex = std::complex<float>;
  std::vector<Complex> out;
  ASSERT_TRUE(
      IsOk(RunReduce<Complex>("Sum", {2, 2}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}}, {0}, false, &out)));
  EXPECT_EQ(out, (std::vector<Complex>{{6, 8}, {10, 12}}));
  const std::vector<Complex> many(100000, Complex(0.5f, -0.25f));
  ASSERT_TRUE(IsOk(RunReduce<Complex>("Sum", {100000}, many, {0}, false, &out)));
  EXPECT_EQ(out, (std::vector<Complex>{{50000, -25000}}));
}

TEST(SumTest, NarrowIntegersWrap) {
  std::vector<int8_t> out;
  ASSERT_TRUE(IsOk(RunReduce<int8_t>("Sum", {3}, {100, 100, 1}, {0}, false, &out)));
  EXPECT_EQ(out, (std::vector<int8_t>{-55}));
}

TEST(SumTest, KeptDimensionsHaveSizeOne) {
  std::vector<int32_t> out;
  std::vector<int64_t> dims;
  ASSERT_TRUE(IsOk(RunReduce<int32_t>("Sum", {2, 3}, {1, 2, 3, 4, 5, 6}, {-1}, true, &out, &dims)));
  EXPECT_EQ(dims, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(out, (std::vector<int32_t>{6, 15}));
}

TEST(SumTest, NoAxesCopyTheInput) {
  std::vector<float> out;
  ASSERT_TRUE(IsOk(RunReduce<float>("Sum", {2, 2}, {1, 2, 3, 4}, {}, false, &out)));
  EXPECT_EQ(out, (std::vector<float>{1, 2, 3, 4}));
  ASSERT_TRUE(IsOk(RunReduce<float>("Sum", {}, {7}, {}, false, &out)));
  EXPECT_EQ(out, (std::vector<float>{7}));
}

TEST(SumTest, SumsOfNothingAreZero) {
  std::vector<float> out;
  ASSERT_TRUE(IsOk(RunReduce<float>("Sum", {2, 0, 2}, {}, {1}, false, &out)));
  EXPECT_EQ(out, (std::vector<float>{0, 0, 0, 0}));
  ASSERT_TRUE(IsOk(RunReduce<float>("Sum", {0, 3}, {}, {1}, false, &out)));
  EXPECT_TRUE(out.empty());
}

TEST(SumTest, ScalarAndInt64Axes) {
  KernelTester t("Sum");
  t.Attr("T", MS_FLOAT32).Attr("Tidx", MS_INT64).Attr("keep_dims", false);
  t.Input<float>({2, 2}, {1, 2, 3, 4}).Input<int64_t>({}, {0});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{4, 6}));
}

TEST(SumTest, AxesThatTheInputDoesNotHaveAreRefused) {
  std::vector<float> out;
  const ms::Status status = RunReduce<float>("Sum", {2}, {1, 2}, {1}, false, &out);
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(status.message().find("Invalid reduction dimension (1 for input with 1 dimension(s)"),
            std::string::npos)
      << status.message();
}

// Of integers small enough that no sum is rounded. Rows are cut into runs, the last of which is
// short or not there.
TEST(SumTest, LongRowsAgreeWithTheReference) {
  for (const int64_t n : {1024, 1025, 2047, 2048, 3000, 4096, 4100, 5121, 9216, 66560, 140000}) {
    constexpr int64_t kRows = 5;
    std::vector<float> x(static_cast<size_t>(kRows * n));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 5;
    std::vector<float> rows;
    for (int64_t row = 0; row < kRows; ++row) {
      rows.push_back(std::accumulate(x.begin() + row * n, x.begin() + (row + 1) * n, 0.0f));
    }
    std::vector<float> out;
    ASSERT_TRUE(IsOk(RunReduce<float>("Sum", {kRows, n}, x, {1}, false, &out)));
    EXPECT_EQ(out, rows) << n;
    ASSERT_TRUE(IsOk(RunReduce<float>("Sum", {kRows * n}, x, {0}, false, &out)));
    EXPECT_EQ(out, (std::vector<float>{std::accumulate(rows.begin(), rows.end(), 0.0f)})) << n;
  }
}

// Large enough for groups, threads, several tiles and deep trees, in each direction.
TEST(SumTest, LargeSumsKeepTheirPrecision) {
  constexpr int64_t kSize = 3000001;
  const std::vector<float> tenths(kSize, 0.1f);
  std::vector<float> out;
  ASSERT_TRUE(IsOk(RunReduce<float>("Sum", {kSize}, tenths, {0}, false, &out)));
  EXPECT_TRUE(IsNear<float>(out, {static_cast<float>(kSize * double{0.1f})}, 1e-6, 0));
  const std::vector<float> two_thousand_columns(150 * 2001, 0.1f);
  ASSERT_TRUE(IsOk(RunReduce<float>("Sum", {150, 2001}, two_thousand_columns, {0}, false, &out)));
  EXPECT_TRUE(IsNear<float>(out, std::vector<float>(2001, 15), 1e-6, 0));
  ASSERT_TRUE(IsOk(
      RunReduce<float>("Sum", {100000, 3}, std::vector<float>(300000, 0.1f), {0}, false, &out)));
  EXPECT_TRUE(IsNear<float>(out, std::vector<float>(3, 10000), 1e-6, 0));
  ASSERT_TRUE(IsOk(RunReduce<float>("Sum", {200, 3, 500}, std::vector<float>(300000, 0.1f), {0, 2},
                                    false, &out)));
  EXPECT_TRUE(IsNear<float>(out, std::vector<float>(3, 10000), 1e-6, 0));
}

std::vector<float> BiasAddGrad(const char* format, std::vector<int64_t> dims,
                               const std::vector<float>& values) {
  KernelTester t("BiasAddGrad");
  t.Attr("T", MS_FLOAT32).Attr("data_format", format).Input<float>(std::move(dims), values);
  EXPECT_TRUE(IsOk(t.Run()));
  return t.Output<float>(0);
}

TEST(BiasAddGradTest, SumsOverAllButTheChannels) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(BiasAddGrad("NHWC", {2, 2, 2}, values), (std::vector<float>{16, 20}));
  EXPECT_EQ(BiasAddGrad("NCHW", {2, 2, 2}, values), (std::vector<float>{14, 22}));
  EXPECT_EQ(BiasAddGrad("NHWC", {0, 2}, {}), (std::vector<float>{0, 0}));
}

TEST(BiasAddGradTest, NarrowFloats) {
  KernelTester t("BiasAddGrad");
  t.Attr("T", MS_BFLOAT16).Attr("data_format", "NHWC");
  t.Input<BFloat16>({300, 1}, std::vector<BFloat16>(300, BFloat16(1.0f)));
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<BFloat16>(0), (std::vector<BFloat16>{BFloat16(300.0f)}));
}

TEST(BiasAddGradTest, VectorsAreRefused) {
  KernelTester t("BiasAddGrad");
  t.Attr("T", MS_FLOAT32).Attr("data_format", "NHWC").Input<float>({2}, {1, 2});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(status.message().find("out_backprop"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace millstream::kernels
