#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

struct Sizes {
  int64_t m;
  int64_t n;
  int64_t k;
};

// Small integers: float32 sums of a few thousand products of them are exact in any order.
template <typename T>
std::vector<T> SmallIntegers(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> distribution(-9, 9);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(distribution(generator));
  return values;
}

template <typename T>
std::vector<T> NaiveProduct(const Sizes& sizes, bool transpose_a, bool transpose_b,
                            const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> c(sizes.m * sizes.n, T(0));
  for (int64_t i = 0; i < sizes.m; ++i) {
    for (int64_t j = 0; j < sizes.n; ++j) {
      for (int64_t k = 0; k < sizes.k; ++k) {
        const T left = a[transpose_a ? k * sizes.m + i : i * sizes.k + k];
        const T right = b[transpose_b ? j * sizes.k + k : k * sizes.n + j];
        c[i * sizes.n + j] += left * right;
      }
    }
  }
  return c;
}

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
      EXPECT_EQ(t.Output<T>(0), NaiveProduct(sizes, transpose_a, transpose_b, a, b));
      EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{sizes.m, sizes.n}));
    }
  }
}

template <typename T>
class MatMulTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, int32_t, int64_t>;
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
    const auto exact =
        NaiveProduct<double>(sizes, false, true, {a.begin(), a.end()}, {b.begin(), b.end()});
    // The library may cut sums by its number of threads.
    KernelTester t("MatMul");
    t.Tolerance(1e-5, 1e-4);
    Feed(&t, sizes, false, true, a, b);
    ASSERT_TRUE(IsOk(t.Run()));
    EXPECT_TRUE(IsNear(t.Output<float>(0), {exact.begin(), exact.end()}, 1e-5, 1e-4));
  }
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
