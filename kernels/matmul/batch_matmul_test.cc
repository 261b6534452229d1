// BatchMatMul and BatchMatMulV2.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/matmul/product_testing.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using testing::NaiveProduct;
using testing::Sizes;
using testing::SmallIntegers;
using Dims = std::vector<int64_t>;

int64_t Count(const Dims& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

Dims WithMatrix(Dims batch, int64_t rows, int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

// A batch, and for each of its products which matrices of x and of y go into it.
struct Batch {
  Dims x;
  Dims y;
  Dims output;
  std::vector<int64_t> of_x;
  std::vector<int64_t> of_y;
};

const Batch kEqual = {{2, 3}, {2, 3}, {2, 3}, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}};

template <typename T>
void ExpectProducts(const std::string& op, const Batch& batch, const Sizes& sizes, bool adjoint_x,
                    bool adjoint_y) {
  SCOPED_TRACE(ms::StrCat(op, " adjoint ", adjoint_x, adjoint_y, " m ", sizes.m, " n ", sizes.n,
                          " k ", sizes.k));
  const Dims x_dims =
      adjoint_x ? WithMatrix(batch.x, sizes.k, sizes.m) : WithMatrix(batch.x, sizes.m, sizes.k);
  const Dims y_dims =
      adjoint_y ? WithMatrix(batch.y, sizes.n, sizes.k) : WithMatrix(batch.y, sizes.k, sizes.n);
  const auto x = SmallIntegers<T>(Count(x_dims), 1);
  const auto y = SmallIntegers<T>(Count(y_dims), 2);
  std::vector<T> expected;
  for (size_t i = 0; i < batch.of_x.size(); ++i) {
    const auto product =
        NaiveProduct(sizes, adjoint_x, adjoint_y, x.data() + batch.of_x[i] * sizes.m * sizes.k,
                     y.data() + batch.of_y[i] * sizes.k * sizes.n, true);
    expected.insert(expected.end(), product.begin(), product.end());
  }
  KernelTester t(op);
  t.Attr("T", ms::DTypeOf<T>()).Attr("adj_x", adjoint_x).Attr("adj_y", adjoint_y);
  t.Input<T>(x_dims, x);
  t.Input<T>(y_dims, y);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), WithMatrix(batch.output, sizes.m, sizes.n));
  EXPECT_EQ(t.Output<T>(0), expected);
}

template <typename T>
void ExpectProductsOfAllAdjoints(const std::string& op, const Batch& batch, const Sizes& sizes) {
  for (const bool adjoint_x : {false, true}) {
    for (const bool adjoint_y : {false, true}) {
      ExpectProducts<T>(op, batch, sizes, adjoint_x, adjoint_y);
    }
  }
}

template <typename T>
class BatchMatMulTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, Float16, BFloat16, int32_t, int64_t,
                               std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(BatchMatMulTest, Types);

TYPED_TEST(BatchMatMulTest, MultipliesMatricesInPairs) {
  for (const char* op : {"BatchMatMul", "BatchMatMulV2"}) {
    for (const Sizes& sizes : {Sizes{1, 1, 1}, {3, 2, 4}, {50, 70, 130}}) {
      ExpectProductsOfAllAdjoints<TypeParam>(op, kEqual, sizes);
    }
  }
}

TYPED_TEST(BatchMatMulTest, TwoMatricesAreABatchOfOne) {
  const Batch one = {{}, {}, {}, {0}, {0}};
  ExpectProductsOfAllAdjoints<TypeParam>("BatchMatMul", one, {3, 2, 4});
  ExpectProductsOfAllAdjoints<TypeParam>("BatchMatMulV2", one, {3, 2, 4});
}

TYPED_TEST(BatchMatMulTest, BatchDimensionsBroadcast) {
  const std::vector<Batch> batches = {
      {{2, 1}, {3}, {2, 3}, {0, 0, 0, 1, 1, 1}, {0, 1, 2, 0, 1, 2}},
      {{1, 3}, {2, 1}, {2, 3}, {0, 1, 2, 0, 1, 2}, {0, 0, 0, 1, 1, 1}},
      {{}, {4}, {4}, {0, 0, 0, 0}, {0, 1, 2, 3}},
      {{4}, {}, {4}, {0, 1, 2, 3}, {0, 0, 0, 0}},
      {{2, 2}, {1, 1}, {2, 2}, {0, 1, 2, 3}, {0, 0, 0, 0}},
      {{2, 1, 2}, {1, 2, 1}, {2, 2, 2}, {0, 1, 0, 1, 2, 3, 2, 3}, {0, 0, 1, 1, 0, 0, 1, 1}},
  };
  for (const Batch& batch : batches) {
    ExpectProductsOfAllAdjoints<TypeParam>("BatchMatMulV2", batch, {3, 2, 4});
  }
}

TYPED_TEST(BatchMatMulTest, EmptyBatchesAndMatrices) {
  const Batch none = {{0}, {0}, {0}, {}, {}};
  const Batch none_by_broadcast = {{3, 1}, {0}, {3, 0}, {}, {}};
  const Batch shared = {{3}, {}, {3}, {0, 1, 2}, {0, 0, 0}};
  ExpectProductsOfAllAdjoints<TypeParam>("BatchMatMul", none, {3, 2, 4});
  ExpectProductsOfAllAdjoints<TypeParam>("BatchMatMulV2", none_by_broadcast, {3, 2, 4});
  for (const Sizes& sizes : {Sizes{0, 2, 4}, {3, 0, 4}, {3, 2, 0}}) {
    ExpectProductsOfAllAdjoints<TypeParam>("BatchMatMul", kEqual, sizes);
    ExpectProductsOfAllAdjoints<TypeParam>("BatchMatMulV2", shared, sizes);
  }
}

TEST(BatchMatMulKernelTest, LargeProductsShareTheThreadsOneAfterTheOther) {
  const Batch two = {{2}, {2}, {2}, {0, 1}, {0, 1}};
  ExpectProductsOfAllAdjoints<float>("BatchMatMulV2", two, {120, 180, 200});
}

TEST(BatchMatMulKernelTest, ManySmallProducts) {
  Batch many = {{100}, {100}, {100}, {}, {}};
  for (int64_t i = 0; i < 100; ++i) {
    many.of_x.push_back(i);
    many.of_y.push_back(i);
  }
  ExpectProductsOfAllAdjoints<float>("BatchMatMul", many, {8, 16, 12});
}

// Whose pieces of several threads begin and end within a row of the batch.
TEST(BatchMatMulKernelTest, ManySmallProductsOfMatricesThatRepeat) {
  constexpr int64_t kRows = 7;
  constexpr int64_t kColumns = 61;
  Batch rows = {{kRows, 1}, {kRows, kColumns}, {kRows, kColumns}, {}, {}};
  Batch columns = {{kColumns}, {kRows, 1}, {kRows, kColumns}, {}, {}};
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    rows.of_x.push_back(i / kColumns);
    rows.of_y.push_back(i);
    columns.of_x.push_back(i % kColumns);
    columns.of_y.push_back(i / kColumns);
  }
  for (const Sizes& sizes : {Sizes{16, 16, 16}, {9, 19, 32}, {32, 3, 7}}) {
    ExpectProductsOfAllAdjoints<float>("BatchMatMulV2", rows, sizes);
    ExpectProductsOfAllAdjoints<float>("BatchMatMulV2", columns, sizes);
  }
}

ms::Status RunShapes(const std::string& op, const Dims& x, const Dims& y) {
  KernelTester t(op);
  t.Attr("T", MS_FLOAT32).Attr("adj_x", false).Attr("adj_y", true);
  t.Input<float>(x, std::vector<float>(Count(x))).Input<float>(y, std::vector<float>(Count(y)));
  return t.Run();
}

void ExpectRefused(const ms::Status& status, const char* message) {
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), message);
}

TEST(BatchMatMulKernelTest, RefusesVectors) {
  ExpectRefused(RunShapes("BatchMatMulV2", {3}, {2, 3}), "x must have at least rank 2, but is [3]");
  ExpectRefused(RunShapes("BatchMatMul", {2, 3}, {3}), "y must have at least rank 2, but is [3]");
}

TEST(BatchMatMulKernelTest, RefusesInnerDimensionsThatDiffer) {
  ExpectRefused(RunShapes("BatchMatMulV2", {5, 2, 3}, {5, 3, 2}),
                "Matrix size-incompatible: x is [5,2,3] and y is [5,3,2] (adjoint), so the inner "
                "dimensions 3 and 2 differ");
}

TEST(BatchMatMulKernelTest, RefusesBatchDimensionsThatDoNotGoTogether) {
  ExpectRefused(RunShapes("BatchMatMul", {1, 2, 3}, {5, 2, 3}),
                "x [1,2,3] and y [5,2,3] must be equal in all but the last two dimensions");
  ExpectRefused(RunShapes("BatchMatMulV2", {4, 2, 3}, {5, 2, 3}),
                "x [4,2,3] and y [5,2,3] must broadcast in all but the last two dimensions");
}

}  // namespace
}  // namespace millstream::kernels
