#include <cmath>
#include <complex>
#include <limits>
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
double MeanOf(const std::vector<T>& values) {
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  return std::is_integral_v<T> ? std::trunc(mean) : mean;
}

template <typename T>
double ProductOf(const std::vector<T>& values) {
  double product = 1;
  for (T value : values) product *= static_cast<double>(value);
  return product;
}

TEST(MeanTest, RandomShapesAgreeWithTheReference) {
  ExpectReduces<float>("Mean", -1, 1, MeanOf<float>, 1e-5, 1e-6);
  ExpectReduces<double>("Mean", -1, 1, MeanOf<double>, 1e-13, 1e-14);
  ExpectReduces<int32_t>("Mean", -100, 100, MeanOf<int32_t>, 0, 0);
  ExpectReduces<uint8_t>("Mean", 0, 255, MeanOf<uint8_t>, 0, 0);
}

TEST(MeanTest, NarrowFloatsNeitherOverflowNorLosePrecision) {
  ExpectReduces<BFloat16>("Mean", BFloat16(-1.0f), BFloat16(1.0f), MeanOf<BFloat16>, 4e-3, 1e-5);
  std::vector<Float16> out;
  const std::vector<Float16> large(4000, Float16(60000.0f));
  ASSERT_TRUE(IsOk(RunReduce<Float16>("Mean", {4000}, large, {0}, false, &out)));
  EXPECT_EQ(out, (std::vector<Float16>{Float16(60000.0f)}));
}

TEST(MeanTest, ComplexNumbers) {
  using Complex = std::complex<double>;
  std::vector<Complex> out;
  ASSERT_TRUE(IsOk(RunReduce<Complex>("Mean", {2}, {{1, 2}, {3, -4}}, {0}, false, &out)));
  EXPECT_EQ(out, (std::vector<Complex>{{2, -1}}));
}

TEST(MeanTest, SumsOfIntegersDoNotOverflow) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  std::vector<int32_t> out;
  ASSERT_TRUE(IsOk(RunReduce<int32_t>("Mean", {3}, {kMost, kMost, kMost}, {0}, false, &out)));
  EXPECT_EQ(out, (std::vector<int32_t>{kMost}));
  std::vector<int8_t> small;
  ASSERT_TRUE(IsOk(RunReduce<int8_t>("Mean", {3}, {-100, -100, -101}, {0}, false, &small)));
  EXPECT_EQ(small, (std::vector<int8_t>{-100}));
}

TEST(MeanTest, MeansOfNothing) {
  std::vector<float> out;
  ASSERT_TRUE(IsOk(RunReduce<float>("Mean", {2, 0}, {}, {1}, false, &out)));
  ASSERT_EQ(out.size(), 2u);
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
  std::vector<int32_t> integers;
  ASSERT_TRUE(IsOk(RunReduce<int32_t>("Mean", {0}, {}, {0}, false, &integers)));
  EXPECT_EQ(integers, (std::vector<int32_t>{0}));
}

TEST(ProdTest, RandomShapesAgreeWithTheReference) {
  ExpectReduces<float>("Prod", 0.8f, 1.2f, ProductOf<float>, 1e-3, 1e-30);
  ExpectReduces<double>("Prod", 0.8, 1.2, ProductOf<double>, 1e-11, 1e-300);
}

TEST(ProdTest, NarrowFloatsAndComplexNumbers) {
  std::vector<Float16> narrow;
  ASSERT_TRUE(IsOk(RunReduce<Float16>(
      "Prod", {3}, {Float16(300.0f), Float16(300.0f), Float16(0.5f)}, {0}, false, &narrow)));
  EXPECT_EQ(narrow, (std::vector<Float16>{Float16(45000.0f)}));
  using Complex = std::complex<float>;
  std::vector<Complex> out;
  ASSERT_TRUE(IsOk(RunReduce<Complex>("Prod", {3}, {{1, 1}, {0, 1}, {2, 0}}, {0}, false, &out)));
  EXPECT_EQ(out, (std::vector<Complex>{{-2, 2}}));
  ASSERT_TRUE(IsOk(RunReduce<Complex>("Prod", {0}, {}, {0}, false, &out)));
  EXPECT_EQ(out, (std::vector<Complex>{{1, 0}}));
}

TEST(ProdTest, IntegersWrapAndNothingGivesOne) {
  std::vector<int16_t> out;
  ASSERT_TRUE(IsOk(RunReduce<int16_t>("Prod", {2}, {-1, 30000}, {0}, false, &out)));
  EXPECT_EQ(out, (std::vector<int16_t>{-30000}));
  std::vector<uint16_t> wide;
  ASSERT_TRUE(IsOk(RunReduce<uint16_t>("Prod", {2}, {65535, 65535}, {0}, false, &wide)));
  EXPECT_EQ(wide, (std::vector<uint16_t>{1}));
  std::vector<float> one;
  ASSERT_TRUE(IsOk(RunReduce<float>("Prod", {0}, {}, {0}, false, &one)));
  EXPECT_EQ(one, (std::vector<float>{1}));
}

TEST(L2LossTest, IsHalfTheSumOfSquares) {
  KernelTester t("L2Loss");
  t.Attr("T", MS_FLOAT32).Input<float>({2, 2}, {1, -2, 3, 4});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_TRUE(t.OutputShape(0).empty());
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{15}));
  t.SetInput<float>(0, {0}, {});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{0}));
}

TEST(L2LossTest, AScalarHasALoss) {
  KernelTester t("L2Loss");
  t.Attr("T", MS_FLOAT32).Input<float>({}, {3});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{4.5}));
}
TEST(L2LossTest, NarrowFloatsAreSquaredAsFloats) {
  KernelTester t("L2Loss");
  t.Attr("T", MS_FLOAT16).Input<Float16>({2}, {Float16(300.0f), Float16(0.0f)});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<Float16>(0), (std::vector<Float16>{Float16(45000.0f)}));
}

TEST(L2LossTest, LargeTensorsAndFloat64) {
  KernelTester t("L2Loss");
  t.Attr("T", MS_FLOAT64).Input<double>({500, 601}, std::vector<double>(500 * 601, 0.5));
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_TRUE(IsNear<double>(t.Output<double>(0), {500 * 601 * 0.125}, 1e-14, 0));
}

}  // namespace
}  // namespace millstream::kernels
