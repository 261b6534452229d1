// _ReluGradBiasAddGrad gives the bits of ReluGrad and of the sum over its rows.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/reduce/reduce_testing.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using testing::RunReduce;

std::vector<float> Floats(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> floats(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = floats(random);
  return values;
}

KernelTester& OnFloats(KernelTester& tester) {
  return tester.Attr("T", MS_FLOAT32).Outputs({MS_FLOAT32, MS_FLOAT32});
}

void ExpectSameBits(int64_t rows, int64_t columns) {
  SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(columns));
  const std::vector<float> gradients = Floats(rows * columns, 1);
  const std::vector<float> features = Floats(rows * columns, 2);
  std::vector<float> products(gradients);
  for (size_t i = 0; i < products.size(); ++i) products[i] *= features[i] > 0 ? 1.0f : 0.0f;
  std::vector<float> sums;
  ASSERT_TRUE(IsOk(RunReduce<float>("Sum", {rows, columns}, products, {0}, false, &sums)));

  KernelTester t("_ReluGradBiasAddGrad");
  OnFloats(t).Input<float>({rows, columns}, gradients).Input<float>({rows, columns}, features);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), products);
  EXPECT_EQ(t.Output<float>(1), sums);
  EXPECT_EQ(t.OutputShape(1), (std::vector<int64_t>{columns}));
}

TEST(ReluBiasGradTest, SmallSums) {
  for (int64_t rows : {1, 2, 3, 4, 5, 31, 33, 130}) {
    for (int64_t columns : {1, 2, 5, 31, 32, 33, 64, 100}) ExpectSameBits(rows, columns);
  }
}

// Several threads, groups of rows, tiles of columns.
TEST(ReluBiasGradTest, LargeSums) {
  ExpectSameBits(100000, 1);
  ExpectSameBits(70001, 3);
  ExpectSameBits(10007, 32);
  ExpectSameBits(5003, 65);
  ExpectSameBits(401, 513);
  ExpectSameBits(67, 4100);
}

TEST(ReluBiasGradTest, Images) {
  KernelTester t("_ReluGradBiasAddGrad");
  OnFloats(t).Input<float>({2, 1, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  t.Input<float>({2, 1, 2, 2}, {1, 0, 1, -1, 1, 1, 0, 1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{1, 0, 3, 0, 5, 6, 0, 8}));
  EXPECT_EQ(t.Output<float>(1), (std::vector<float>{9, 14}));
}

TEST(ReluBiasGradTest, NothingSumsToZero) {
  KernelTester t("_ReluGradBiasAddGrad");
  OnFloats(t).Input<float>({0, 2}, {}).Input<float>({0, 2}, {});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(1), (std::vector<float>{0, 0}));
}

TEST(ReluBiasGradTest, ShapesThatDoNotFitAreRefused) {
  KernelTester different("_ReluGradBiasAddGrad");
  OnFloats(different).Input<float>({1, 2}, {1, 2}).Input<float>({2, 1}, {1, 2});
  EXPECT_NE(different.Run().message().find("must have the same shape, got [1,2] and [2,1]"),
            std::string::npos);
  KernelTester vectors("_ReluGradBiasAddGrad");
  OnFloats(vectors).Input<float>({2}, {1, 2}).Input<float>({2}, {1, 2});
  EXPECT_NE(vectors.Run().message().find("must have at least 2 dimensions, its shape is [2]"),
            std::string::npos);
}

}  // namespace
}  // namespace millstream::kernels
