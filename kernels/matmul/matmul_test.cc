#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/matmul/product_testing.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;
using testing::NaiveProduct;
using testing::Sizes;
using testing::SmallIntegers;

template <typename T>
void Feed(KernelTester* t, const Sizes& sizes, bool transpose_a, bool transpose_b,
          const std::vector<T>& a, const std::vector<T>& b) {
  using Dims = std::vector<int64_t>;
  t->Attr("T", ms::DTypeOf<T>());
  t->Attr("transpose_a", transpose_a).Attr("transpose_b", transpose_b);
  t->Input<T>(transpose_a ? Dims{sizes.k, sizes.m} : Dims{sizes.m, sizes.k}, a);
  t->Input<T>(transpose_b ? Dims{sizes.n, sizes.k} : Dims{sizes.k, sizes.n}, b);
}

template <typename T>
void ExpectNaiveProduct(const Sizes& sizes) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      SCOPED_TRACE(ms::StrCat("m ", sizes.m, " n ", sizes.n, " k ", sizes.k, " transposed ",
                              transpose_a, transpose_b));
      const auto a = SmallIntegers<T>(sizes.m * sizes.k, 1);
      const auto b = SmallIntegers<T>(sizes.k * sizes.n, 2);
      KernelTester t("MatMul");
      Feed(&t, sizes, transpose_a, transpose_b, a, b);
      ASSERT_TRUE(IsOk(t.Run()));
      EXPECT_EQ(t.Output<T>(0), NaiveProduct(sizes, transpose_a, transpose_b, a.data(), b.data()));
      EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{sizes.m, sizes.n}));
    }
  }
}

template <typename T>
class MatMulTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, Float16, BFloat16, int32_t, int64_t,
                               std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(MatMulTest, Types);

TYPED_TEST(MatMulTest, AgreesWithTheDefinition) {
  for (const Sizes& sizes : {Sizes{1, 1, 1},
                             {3, 2, 4},
                             {1, 17, 33},
                             {19, 1, 40},
                             {5, 7, 1},
                             {48, 64, 128},
                             {49, 65, 129},
                             {97, 31, 300},
                             {130, 140, 150}}) {
    ExpectNaiveProduct<TypeParam>(sizes);
  }
}

TYPED_TEST(MatMulTest, EmptyMatrices) {
  for (const Sizes& sizes : {Sizes{0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {0, 0, 0}}) {
    ExpectNaiveProduct<TypeParam>(sizes);
  }
}

TEST(MatMulKernelTest, BothPreparedFormsOfLargeProductsAgree) {
  ExpectNaiveProduct<float>({64, 300, 200});
}

TEST(MatMulKernelTest, LongSumsOfFractionsAreNear) {
  std::mt19937 generator(3);
  std::uniform_real_distribution<float> distribution(-1, 1);
  for (const Sizes& sizes :
       {Sizes{64, 300, 1000}, {1, 200, 1500}, {1, 1100, 1000}, {500, 1, 900}}) {
    SCOPED_TRACE(ms::StrCat("m ", sizes.m, " n ", sizes.n, " k ", sizes.k));
    std::vector<float> a(sizes.m * sizes.k);
    std::vector<float> b(sizes.k * sizes.n);
    for (float& value : a) value = distribution(generator);
    for (float& value : b) value = distribution(generator);
    const std::vector<double> wide_a(a.begin(), a.end());
    const std::vector<double> wide_b(b.begin(), b.end());
    const auto exact = NaiveProduct(sizes, false, true, wide_a.data(), wide_b.data());
    // The library may cut sums by its number of threads.
    KernelTester t("MatMul");
    t.Tolerance(1e-5, 1e-4);
    Feed(&t, sizes, false, true, a, b);
    ASSERT_TRUE(IsOk(t.Run()));
    EXPECT_TRUE(IsNear(t.Output<float>(0), {exact.begin(), exact.end()}, 1e-5, 1e-4));
  }
}

// 2048 + 1 + 1 is 2050 in float32, but stays 2048 where float16 rounds after each addition.
TEST(MatMulKernelTest, NarrowFloatsAreRoundedOnce) {
  KernelTester half("MatMul");
  const Float16 one(1);
  Feed<Float16>(&half, {1, 1, 3}, false, false, {Float16(2048), one, one}, {one, one, one});
  ASSERT_TRUE(IsOk(half.Run()));
  EXPECT_EQ(half.Output<Float16>(0)[0], 2050.0f);
}

TEST(MatMulKernelTest, IntegersWrap) {
  KernelTester t("MatMul");
  Feed<int32_t>(&t, {1, 1, 2}, false, false, {65536, 2}, {65536, 3});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int32_t>(0), (std::vector<int32_t>{6}));
}

TEST(MatMulKernelTest, NotANumberSpreadsAlongItsRowOnly) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  KernelTester t("MatMul");
  Feed<float>(&t, {2, 2, 2}, false, false, {1, nan, 0, 1}, {0, 1, 1, inf});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_TRUE(IsNear(t.Output<float>(0), {nan, nan, 1, inf}, 0, 0));
}

ms::Status RunShapes(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  const auto zeros = [](const std::vector<int64_t>& dims) {
    int64_t count = 1;
    for (int64_t dim : dims) count *= dim;
    return std::vector<float>(count, 0.0f);
  };
  KernelTester t("MatMul");
  t.Attr("T", MS_FLOAT32).Attr("transpose_a", false).Attr("transpose_b", true);
  t.Input<float>(a, zeros(a)).Input<float>(b, zeros(b));
  return t.Run();
}

TEST(MatMulKernelTest, RefusesWhatIsNoMatrixByName) {
  const ms::Status a = RunShapes({2, 2, 2}, {2, 2});
  EXPECT_EQ(a.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(a.message(), "a must be a matrix, but is [2,2,2]");
  const ms::Status b = RunShapes({2, 2}, {2});
  EXPECT_EQ(b.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(b.message(), "b must be a matrix, but is [2]");
}

TEST(MatMulKernelTest, RefusesInnerDimensionsThatDiffer) {
  const ms::Status status = RunShapes({2, 3}, {4, 5});
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(),
            "Matrix size-incompatible: a is [2,3] and b is [4,5] (transposed), so the inner "
            "dimensions 3 and 5 differ");
}

}  // namespace
}  // namespace millstream::kernels
