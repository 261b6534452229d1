#include "framework/ops/op_cost.h"

#include <vector>

#include "framework/op_registry.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

double CostOf(absl::string_view op, const std::vector<PartialShape>& inputs,
              const std::vector<PartialShape>& outputs) {
  return (*OpRegistry::Global()->Find(op))->cost_function(inputs, outputs);
}

TEST(OpCostTest, UnknownSizesCountAsThoseOfABatch) {
  EXPECT_EQ(EstimateElements(PartialShape({2, 3})), 6);
  EXPECT_EQ(EstimateElements(PartialShape({-1, 3})), 96);
  EXPECT_EQ(EstimateElements(PartialShape()), 32);
  EXPECT_EQ(EstimateElements(PartialShape({0, 3})), 0);
}

TEST(OpCostTest, AProductHasTwoOperationsForEachPairOfNumbers) {
  const PartialShape a({8, 16}), b({16, 4}), product({8, 4});
  EXPECT_DOUBLE_EQ(CostOf("MatMul", {a, b}, {product}), 2 * 8 * 16 * 4);
  EXPECT_DOUBLE_EQ(CostOf("BatchMatMul", {PartialShape({5, 8, 16}), PartialShape({5, 16, 4})},
                          {PartialShape({5, 8, 4})}),
                   5 * 2 * 8 * 16 * 4);
}

TEST(OpCostTest, AConvolutionAndItsGradientsHaveEquallyManyOperations) {
  const PartialShape image({2, 9, 9, 3}), filter({3, 3, 3, 7}), pixels({2, 7, 7, 7}), sizes({4});
  const double operations = 2.0 * (2 * 7 * 7 * 7) * (3 * 3 * 3);
  EXPECT_DOUBLE_EQ(CostOf("Conv2D", {image, filter}, {pixels}), operations);
  EXPECT_DOUBLE_EQ(CostOf("Conv2DBackpropInput", {sizes, filter, pixels}, {image}), operations);
  EXPECT_DOUBLE_EQ(CostOf("Conv2DBackpropFilter", {image, sizes, pixels}, {filter}), operations);
}

}  // namespace
}  // namespace millstream
