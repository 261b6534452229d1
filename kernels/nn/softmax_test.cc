#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/nn/exponential.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
std::vector<T> Random(int64_t count, double low, double high, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(distribution(generator));
  return values;
}

// log softmax of each row, in long double.
template <typename T>
std::vector<long double> LogSoftmax(const std::vector<T>& x, int64_t classes) {
  std::vector<long double> result(x.size());
  for (size_t row = 0; row < x.size(); row += classes) {
    long double largest = x[row];
    for (int64_t j = 0; j < classes; ++j) largest = std::max<long double>(largest, x[row + j]);
    long double sum = 0;
    for (int64_t j = 0; j < classes; ++j) sum += std::exp(x[row + j] - largest);
    for (int64_t j = 0; j < classes; ++j) result[row + j] = x[row + j] - largest - std::log(sum);
  }
  return result;
}
// Relative, and absolute where what is compared may be the difference of larger numbers. Narrow
// floats: one unit in the last place.
template <typename T>
constexpr double kTolerance = 1e-13;
template <>
constexpr double kTolerance<float> = 2e-6;
template <>
constexpr double kTolerance<Float16> = 0x1p-10;
template <>
constexpr double kTolerance<BFloat16> = 0x1p-7;
// The smallest positive number, where results are near it.
template <typename T>
constexpr double kSmallest = 0;
template <>
constexpr double kSmallest<Float16> = 0x1p-24;

// The first lane of a vector of 16 bytes.
float ExpInLane(float x) { return ExpOf<float, 16>(Broadcast<16>(x))[0]; }

TEST(ExpTest, IsExactToTwoUnitsInTheLastPlace) {
  for (float x = -87.3f; x < 88.0f; x += 0.00731f) {
    EXPECT_NEAR(ExpInLane(x) / std::exp(static_cast<double>(x)), 1.0, 2.4e-7) << x;
  }
}

TEST(ExpTest, LimitsAndNan) {
  EXPECT_EQ(ExpInLane(0.0f), 1.0f);
  EXPECT_EQ(ExpInLane(-88.0f), 0.0f);
  EXPECT_EQ(ExpInLane(-1e30f), 0.0f);
  EXPECT_EQ(ExpInLane(-kInf), 0.0f);
  EXPECT_TRUE(std::isnan(ExpInLane(kNan)));
}

template <typename T>
class SoftmaxTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(SoftmaxTest, Types);

struct Sizes {
  int64_t rows;
  int64_t classes;
};
const Sizes kSizes[] = {{1, 1}, {4, 1}, {3, 5}, {7, 10}, {5, 16}, {2, 33}, {300, 100}, {3, 5000}};

TYPED_TEST(SoftmaxTest, SoftmaxAndItsLogarithm) {
  using T = TypeParam;
  for (const auto& [rows, classes] : kSizes) {
    SCOPED_TRACE(ms::StrCat(rows, " x ", classes));
    const auto x = Random<T>(rows * classes, -8, 8, 1);
    const auto expected = LogSoftmax(x, classes);
    KernelTester log_softmax("LogSoftmax");
    log_softmax.Attr("T", ms::DTypeOf<T>()).template Input<T>({rows, classes}, x);
    ASSERT_TRUE(IsOk(log_softmax.Run()));
    EXPECT_TRUE(IsNear(log_softmax.Output<T>(0), {expected.begin(), expected.end()}, kTolerance<T>,
                       kTolerance<T>));
    std::vector<T> exponentials(x.size());
    for (size_t i = 0; i < x.size(); ++i) exponentials[i] = static_cast<T>(std::exp(expected[i]));
    KernelTester softmax("Softmax");
    softmax.Attr("T", ms::DTypeOf<T>()).template Input<T>({rows, classes}, x);
    ASSERT_TRUE(IsOk(softmax.Run()));
    EXPECT_TRUE(IsNear(softmax.Output<T>(0), exponentials, kTolerance<T>, kSmallest<T>));
  }
}

TYPED_TEST(SoftmaxTest, DenseLabels) {
  using T = TypeParam;
  for (const auto& [rows, classes] : kSizes) {
    SCOPED_TRACE(ms::StrCat(rows, " x ", classes));
    const auto x = Random<T>(rows * classes, -8, 8, 1);
    const auto labels = Random<T>(rows * classes, 0, 2.0 / static_cast<double>(classes), 2);
    const auto log_softmax = LogSoftmax(x, classes);
    std::vector<T> loss(rows);
    std::vector<T> backprop(x.size());
    for (int64_t row = 0; row < rows; ++row) {
      long double sum = 0;
      for (int64_t i = row * classes; i < (row + 1) * classes; ++i) {
        sum -= labels[i] * log_softmax[i];
        backprop[i] = static_cast<T>(std::exp(log_softmax[i]) - labels[i]);
      }
      loss[row] = static_cast<T>(sum);
    }
    KernelTester t("SoftmaxCrossEntropyWithLogits");
    t.Attr("T", ms::DTypeOf<T>()).Outputs({ms::DTypeOf<T>(), ms::DTypeOf<T>()});
    t.template Input<T>({rows, classes}, x).template Input<T>({rows, classes}, labels);
    ASSERT_TRUE(IsOk(t.Run()));
    EXPECT_TRUE(IsNear(t.Output<T>(0), loss, kTolerance<T>, kTolerance<T>));
    EXPECT_TRUE(IsNear(t.Output<T>(1), backprop, kTolerance<T>, kTolerance<T>));
  }
}

template <typename T, typename Label>
void CheckSparse() {
  for (const auto& [rows, classes] : kSizes) {
    SCOPED_TRACE(ms::StrCat(rows, " x ", classes));
    const auto x = Random<T>(rows * classes, -8, 8, 1);
    const auto log_softmax = LogSoftmax(x, classes);
    std::vector<Label> labels(rows);
    std::vector<T> loss(rows);
    std::vector<T> backprop(x.size());
    for (size_t i = 0; i < x.size(); ++i) backprop[i] = static_cast<T>(std::exp(log_softmax[i]));
    for (int64_t row = 0; row < rows; ++row) {
      labels[row] = static_cast<Label>(row * 7 % classes);
      const int64_t right = row * classes + labels[row];
      loss[row] = static_cast<T>(-log_softmax[right]);
      backprop[right] = static_cast<T>(std::exp(log_softmax[right]) - 1);
    }
    KernelTester t("SparseSoftmaxCrossEntropyWithLogits");
    t.Attr("T", ms::DTypeOf<T>()).Attr("Tlabels", ms::DTypeOf<Label>());
    t.Outputs({ms::DTypeOf<T>(), ms::DTypeOf<T>()});
    t.template Input<T>({rows, classes}, x).template Input<Label>({rows}, labels);
    ASSERT_TRUE(IsOk(t.Run()));
    EXPECT_TRUE(IsNear(t.Output<T>(0), loss, kTolerance<T>, kTolerance<T>));
    EXPECT_TRUE(IsNear(t.Output<T>(1), backprop, kTolerance<T>, kTolerance<T>));
  }
}

TYPED_TEST(SoftmaxTest, LabelsByNumber) {
  CheckSparse<TypeParam, int32_t>();
  CheckSparse<TypeParam, int64_t>();
}

std::vector<float> RunSoftmax(const char* op, std::vector<int64_t> dims,
                              const std::vector<float>& x) {
  KernelTester t(op);
  t.Attr("T", MS_FLOAT32).Input<float>(dims, x);
  EXPECT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), dims);
  return t.Output<float>(0);
}

TEST(SoftmaxRowsTest, AnyRankIsRowsOfTheLastDimension) {
  EXPECT_EQ(RunSoftmax("Softmax", {2}, {3, 3}), (std::vector<float>{0.5f, 0.5f}));
  EXPECT_EQ(RunSoftmax("Softmax", {1, 2, 1, 2}, {3, 3, -9, -9}),
            (std::vector<float>{0.5f, 0.5f, 0.5f, 0.5f}));
  EXPECT_EQ(RunSoftmax("LogSoftmax", {2, 0}, {}), std::vector<float>());
}

TEST(SoftmaxRowsTest, LargeLogitsNeitherOverflowNorLoseTheRest) {
  EXPECT_EQ(RunSoftmax("Softmax", {1, 3}, {1e30f, -1e30f, 1e30f}),
            (std::vector<float>{0.5f, 0, 0.5f}));
  EXPECT_EQ(RunSoftmax("LogSoftmax", {1, 2}, {20000, 0}), (std::vector<float>{0, -20000}));
  EXPECT_EQ(RunSoftmax("Softmax", {1, 3}, {0, -kInf, 0}), (std::vector<float>{0.5f, 0, 0.5f}));
}

TEST(SoftmaxRowsTest, NotANumberFillsItsOwnRow) {
  EXPECT_TRUE(
      IsNear(RunSoftmax("Softmax", {2, 2}, {kNan, 1, 0, 0}), {kNan, kNan, 0.5f, 0.5f}, 0, 0));
  EXPECT_TRUE(IsNear(RunSoftmax("Softmax", {2, 2}, {kInf, 1, -kInf, -kInf}),
                     {kNan, kNan, kNan, kNan}, 0, 0));
}

TEST(SoftmaxRowsTest, RefusesAScalar) {
  KernelTester t("Softmax");
  t.Attr("T", MS_FLOAT32).Input<float>({}, {1});
  EXPECT_EQ(t.Run().code(), MS_INVALID_ARGUMENT);
}

struct Losses {
  std::vector<float> loss;
  std::vector<float> backprop;
};
Losses RunDense(std::vector<int64_t> x_dims, const std::vector<float>& x,
                std::vector<int64_t> label_dims, const std::vector<float>& labels) {
  KernelTester t("SoftmaxCrossEntropyWithLogits");
  t.Attr("T", MS_FLOAT32).Outputs({MS_FLOAT32, MS_FLOAT32});
  t.Input<float>(std::move(x_dims), x).Input<float>(std::move(label_dims), labels);
  EXPECT_TRUE(IsOk(t.Run()));
  return {t.Output<float>(0), t.Output<float>(1)};
}

TEST(CrossEntropyTest, BroadcastsRowsAndClasses) {
  const Losses full = RunDense({2, 2}, {1, 2, 3, 5}, {2, 2}, {0.25f, 0.75f, 0.25f, 0.75f});
  const Losses one_row = RunDense({2, 2}, {1, 2, 3, 5}, {1, 2}, {0.25f, 0.75f});
  const Losses vector = RunDense({2, 2}, {1, 2, 3, 5}, {2}, {0.25f, 0.75f});
  EXPECT_EQ(one_row.loss, full.loss);
  EXPECT_EQ(one_row.backprop, full.backprop);
  EXPECT_EQ(vector.loss, full.loss);
  EXPECT_EQ(vector.backprop, full.backprop);
  const Losses full_x = RunDense({2, 2}, {1, 1, 4, 4}, {2, 2}, {0, 1, 0.5f, 0.5f});
  const Losses one_class = RunDense({2, 1}, {1, 4}, {2, 2}, {0, 1, 0.5f, 0.5f});
  EXPECT_EQ(one_class.loss, full_x.loss);
  EXPECT_EQ(one_class.backprop, full_x.backprop);
}

TEST(CrossEntropyTest, LabelsNeedNotSumToOne) {
  const Losses losses = RunDense({1, 2}, {0, 0}, {1, 2}, {2, 1});
  EXPECT_NEAR(losses.loss[0], 3 * std::log(2.0), 1e-6);
  EXPECT_EQ(losses.backprop, (std::vector<float>{-1.5f, -0.5f}));
}

TEST(CrossEntropyTest, EmptyBatchAndNoClasses) {
  EXPECT_EQ(RunDense({0, 4}, {}, {0, 4}, {}).backprop, std::vector<float>());
  EXPECT_EQ(RunDense({2, 0}, {}, {2, 0}, {}).loss, (std::vector<float>{0, 0}));
}

TEST(CrossEntropyTest, UnusedOutputsAreNotMade) {
  for (const uint32_t unused : {0u, 1u}) {
    const uint32_t used = 1 - unused;
    KernelTester dense("SoftmaxCrossEntropyWithLogits");
    dense.Attr("T", MS_FLOAT32).Outputs({MS_FLOAT32, MS_FLOAT32}).Unused(unused);
    dense.Input<float>({1, 2}, {0, 0}).Input<float>({1, 2}, {1, 0});
    ASSERT_TRUE(IsOk(dense.Run()));
    KernelTester sparse("SparseSoftmaxCrossEntropyWithLogits");
    sparse.Attr("T", MS_FLOAT32).Attr("Tlabels", MS_INT32);
    sparse.Outputs({MS_FLOAT32, MS_FLOAT32}).Unused(unused);
    sparse.Input<float>({1, 2}, {0, 0}).Input<int32_t>({1}, {0});
    ASSERT_TRUE(IsOk(sparse.Run()));
    EXPECT_EQ(sparse.Output<float>(used), dense.Output<float>(used));
    const float expected = used == 0 ? std::log(2.0f) : -0.5f;
    EXPECT_NEAR(dense.Output<float>(used)[0], expected, 1e-6);
  }
}

TEST(CrossEntropyTest, RefusesShapesThatDoNotBroadcast) {
  KernelTester t("SoftmaxCrossEntropyWithLogits");
  t.Attr("T", MS_FLOAT32).Outputs({MS_FLOAT32, MS_FLOAT32});
  t.Input<float>({3, 4}, std::vector<float>(12)).Input<float>({3, 5}, std::vector<float>(15));
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(),
            "features and labels must broadcast to one matrix, but are [3,4] and [3,5]");
}

ms::Status RunSparse(std::vector<int64_t> x_dims, std::vector<int64_t> label_dims,
                     const std::vector<int64_t>& labels) {
  int64_t count = 1;
  for (int64_t dim : x_dims) count *= dim;
  KernelTester t("SparseSoftmaxCrossEntropyWithLogits");
  t.Attr("T", MS_FLOAT32).Attr("Tlabels", MS_INT64).Outputs({MS_FLOAT32, MS_FLOAT32});
  t.Input<float>(std::move(x_dims), std::vector<float>(count));
  t.Input<int64_t>(std::move(label_dims), labels);
  return t.Run();
}

TEST(SparseCrossEntropyTest, RefusesBadLabels) {
  EXPECT_TRUE(IsOk(RunSparse({0, 4}, {0}, {})));
  for (const int64_t bad : {int64_t{4}, int64_t{-1}, int64_t{1} << 40}) {
    const ms::Status status = RunSparse({3, 4}, {3}, {0, bad, 1});
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
    EXPECT_EQ(status.message(), ms::StrCat("Received a label value of ", bad,
                                           " which is outside the valid range of [0, 4): "
                                           "labels[1]"));
  }
}

TEST(SparseCrossEntropyTest, RefusesShapes) {
  const auto refused = [](const ms::Status& status, const std::string& words) {
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  };
  refused(RunSparse({3, 4}, {2}, {0, 1}), "labels must be [3], one for each row of features [3,4]");
  refused(RunSparse({3, 4}, {3, 1}, {0, 1, 2}), "but is [3,1]");
  refused(RunSparse({3}, {3}, {0, 0, 0}), "features must be a matrix of rows and classes");
  refused(RunSparse({3, 0}, {3}, {0, 0, 0}), "features must have at least one class");
}

}  // namespace
}  // namespace millstream::kernels
