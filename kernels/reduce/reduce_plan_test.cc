#include "kernels/reduce/reduce_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace millstream::kernels {
namespace {

ReducePlan PlanOf(const ms::Shape& input, uint32_t reduced, bool keep_dims = false) {
  ReducePlan plan;
  PlanReduction(input, reduced, keep_dims, &plan);
  return plan;
}

TEST(ReducePlanTest, OutputShapes) {
  EXPECT_EQ(PlanOf({2, 3, 4}, 0b010).output, (ms::Shape{2, 4}));
  EXPECT_EQ(PlanOf({2, 3, 4}, 0b010, true).output, (ms::Shape{2, 1, 4}));
  EXPECT_EQ(PlanOf({2, 3, 4}, 0b111).output, ms::Shape());
  EXPECT_EQ(PlanOf({2, 3, 4}, 0).output, (ms::Shape{2, 3, 4}));
}

TEST(ReducePlanTest, NeighboursOfOneKindAreMerged) {
  const ReducePlan trailing = PlanOf({2, 3, 4, 5}, 0b1100);
  EXPECT_TRUE(trailing.inner_reduced);
  EXPECT_EQ(trailing.inner, 20);
  EXPECT_EQ(trailing.kept_rank, 1u);
  EXPECT_EQ(trailing.outer, 6);
  EXPECT_EQ(trailing.items, 1);
  const ReducePlan leading = PlanOf({2, 3, 4, 5}, 0b0011);
  EXPECT_FALSE(leading.inner_reduced);
  EXPECT_EQ(leading.inner, 20);
  EXPECT_EQ(leading.reduced_rank, 1u);
  EXPECT_EQ(leading.items, 6);
  EXPECT_EQ(leading.reduced_strides[0], 20);
}

TEST(ReducePlanTest, DimensionsOfOneDoNotSeparate) {
  const ReducePlan plan = PlanOf({2, 1, 3}, 0b010);
  EXPECT_FALSE(plan.inner_reduced);
  EXPECT_EQ(plan.inner, 6);
  EXPECT_EQ(plan.items, 1);
}

TEST(ReducePlanTest, LongReductionsAreCutIntoGroups) {
  const ReducePlan plan = PlanOf({1 << 20}, 0b1);
  EXPECT_EQ(plan.items, (1 << 20) / ReducePlan::kRunLength);
  EXPECT_GT(plan.groups, 1);
  EXPECT_EQ(plan.tasks(), plan.groups);
  EXPECT_EQ(PlanOf({1 << 10}, 0b1).groups, 1);
  EXPECT_EQ(PlanOf({1 << 10, 1 << 10}, 0b10).groups, 1) << "there are outputs enough";
}

TEST(ReducePlanTest, NothingIsPlannedForEmptyShapes) {
  const ReducePlan no_outputs = PlanOf({0, 3}, 0b10);
  EXPECT_EQ(no_outputs.outputs, 0);
  const ReducePlan no_elements = PlanOf({2, 0}, 0b10);
  EXPECT_EQ(no_elements.outputs, 2);
  EXPECT_EQ(no_elements.count, 0);
}

// A view of a vector of axes.
template <typename T>
ms::View AxesView(const std::vector<T>& axes, const int64_t& size) {
  MS_TensorView view{};
  view.mem.base = const_cast<T*>(axes.data());
  view.dims = &size;
  view.rank = 1;
  view.dtype = ms::DTypeOf<T>();
  return ms::View(view);
}

TEST(ReadAxesTest, CountsNegativeAxesFromTheEnd) {
  const std::vector<int32_t> axes = {0, -1};
  const int64_t size = 2;
  uint32_t reduced = 0;
  EXPECT_TRUE(ReadAxes(AxesView(axes, size), 3, &reduced).ok());
  EXPECT_EQ(reduced, 0b101u);
}

TEST(ReadAxesTest, RefusesAxesThatTheInputDoesNotHave) {
  for (int64_t axis : {2, -3}) {
    const std::vector<int64_t> axes = {axis};
    const int64_t size = 1;
    uint32_t reduced = 0;
    const ms::Status status = ReadAxes(AxesView(axes, size), 2, &reduced);
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
    EXPECT_NE(status.message().find("reduction_indices"), std::string::npos);
  }
}

TEST(ReadAxesTest, RefusesTheSameAxisTwice) {
  const std::vector<int32_t> axes = {1, -2};
  const int64_t size = 2;
  uint32_t reduced = 0;
  const ms::Status status = ReadAxes(AxesView(axes, size), 3, &reduced);
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(status.message().find("duplicate dimension: 1"), std::string::npos);
  EXPECT_NE(status.message().find("reduction_indices"), std::string::npos);
}

}  // namespace
}  // namespace millstream::kernels
