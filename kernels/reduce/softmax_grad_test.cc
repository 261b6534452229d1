// _SoftmaxGrad gives the bits of the operations that it stands for.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/reduce/reduce_testing.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using testing::RunReduce;

constexpr float kScale = 0.3f;

std::vector<float> Floats(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> floats(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = floats(random);
  return values;
}

KernelTester& OnFloats(KernelTester& tester) {
  return tester.Attr("T", MS_FLOAT32).Attr("scale", kScale).Outputs({MS_FLOAT32});
}

void ExpectSameBits(int64_t rows, int64_t columns) {
  SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(columns));
  const std::vector<float> gradients = Floats(rows * columns, 1);
  const std::vector<float> softmax = Floats(rows * columns, 2);
  std::vector<float> products(gradients);
  for (size_t i = 0; i < products.size(); ++i) products[i] *= softmax[i];
  std::vector<float> sums;
  ASSERT_TRUE(IsOk(RunReduce<float>("Sum", {rows, columns}, products, {1}, true, &sums)));
  std::vector<float> expected(gradients);
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] -= sums[i / static_cast<size_t>(columns)];
    expected[i] *= softmax[i];
    expected[i] *= kScale;
  }

  KernelTester t("_SoftmaxGrad");
  OnFloats(t).Input<float>({rows, columns}, gradients).Input<float>({rows, columns}, softmax);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), expected);
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{rows, columns}));
}

TEST(SoftmaxGradTest, RowsOfAnyLength) {
  for (int64_t rows : {1, 2, 3, 65, 130}) {
    for (int64_t columns : {1, 2, 15, 16, 17, 33, 100, 1023, 1024, 1025, 5000}) {
      ExpectSameBits(rows, columns);
    }
  }
}

// Several threads, groups of runs of few rows, rows of one element.
TEST(SoftmaxGradTest, LargeTensors) {
  ExpectSameBits(2000, 150);
  ExpectSameBits(1, 300001);
  ExpectSameBits(5, 70000);
  ExpectSameBits(100000, 1);
}

TEST(SoftmaxGradTest, Batches) {
  KernelTester t("_SoftmaxGrad");
  t.Attr("T", MS_FLOAT32).Attr("scale", 2.0f).Outputs({MS_FLOAT32});
  t.Input<float>({2, 1, 2}, {1, 3, 5, 5}).Input<float>({2, 1, 2}, {0.5f, 0.5f, 0.25f, 0.75f});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{-1, 1, 0, 0}));
}

TEST(SoftmaxGradTest, NoElements) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{0, 2}, {2, 0}}) {
    KernelTester t("_SoftmaxGrad");
    OnFloats(t).Input<float>(shape, {}).Input<float>(shape, {});
    ASSERT_TRUE(IsOk(t.Run()));
    EXPECT_EQ(t.OutputShape(0), shape);
  }
}

TEST(SoftmaxGradTest, NoNumbersAndInfinitiesStayInTheirRows) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  KernelTester t("_SoftmaxGrad");
  OnFloats(t).Input<float>({3, 2}, {kInfinity, 1, 1, 1, std::nanf(""), 1});
  t.Input<float>({3, 2}, {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f});
  ASSERT_TRUE(IsOk(t.Run()));
  const std::vector<float> result = t.Output<float>(0);
  EXPECT_TRUE(std::isnan(result[0]));
  EXPECT_EQ(result[1], -kInfinity);
  EXPECT_EQ(result[2], 0.0f);
  EXPECT_EQ(result[3], 0.0f);
  EXPECT_TRUE(std::isnan(result[4]));
  EXPECT_TRUE(std::isnan(result[5]));
}

TEST(SoftmaxGradTest, ShapesThatDoNotFitAreRefused) {
  KernelTester different("_SoftmaxGrad");
  OnFloats(different).Input<float>({1, 2}, {1, 2}).Input<float>({2, 1}, {1, 2});
  EXPECT_NE(different.Run().message().find("must have the same shape, got [1,2] and [2,1]"),
            std::string::npos);
  KernelTester scalars("_SoftmaxGrad");
  OnFloats(scalars).Input<float>({}, {1}).Input<float>({}, {1});
  EXPECT_NE(scalars.Run().message().find("must have at least one dimension"), std::string::npos);
}

}  // namespace
}  // namespace millstream::kernels
