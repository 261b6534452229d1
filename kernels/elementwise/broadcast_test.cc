#include "kernels/elementwise/broadcast.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace millstream::kernels {
namespace {

using Inner = BroadcastPlan::Inner;

BroadcastPlan PlanOf(const ms::Shape& x, const ms::Shape& y) {
  BroadcastPlan plan;
  EXPECT_TRUE(PlanBroadcast(x, y, &plan).ok());
  return plan;
}

TEST(BroadcastTest, EqualShapesBecomeOneDimension) {
  const BroadcastPlan plan = PlanOf({2, 3, 4}, {2, 3, 4});
  EXPECT_EQ(plan.rank, 1u);
  EXPECT_EQ(plan.columns(), 24);
  EXPECT_EQ(plan.rows(), 1);
  EXPECT_EQ(plan.inner, Inner::kBoth);
  EXPECT_EQ(plan.output, (ms::Shape{2, 3, 4}));
}

TEST(BroadcastTest, ScalarsBecomeOneDimension) {
  const BroadcastPlan right = PlanOf({2, 3}, {});
  EXPECT_EQ(right.rank, 1u);
  EXPECT_EQ(right.inner, Inner::kOnlyX);
  const BroadcastPlan left = PlanOf({1, 1, 1}, {2, 3});
  EXPECT_EQ(left.rank, 1u);
  EXPECT_EQ(left.inner, Inner::kOnlyY);
  EXPECT_EQ(left.output, (ms::Shape{1, 2, 3}));
}

TEST(BroadcastTest, TwoScalarsAreOneElement) {
  const BroadcastPlan plan = PlanOf({}, {});
  EXPECT_EQ(plan.columns(), 1);
  EXPECT_EQ(plan.output.rank(), 0u);
}

TEST(BroadcastTest, BiasRowsBecomeTwoDimensions) {
  const BroadcastPlan plan = PlanOf({8, 5, 5, 3}, {3});
  EXPECT_EQ(plan.rank, 2u);
  EXPECT_EQ(plan.rows(), 200);
  EXPECT_EQ(plan.columns(), 3);
  EXPECT_EQ(plan.y_strides[0], 0);
}

TEST(BroadcastTest, ShapesThatDoNotFitAreRefusedWithBothShapes) {
  BroadcastPlan plan;
  const ms::Status status = PlanBroadcast({2, 3}, {2, 4}, &plan);
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(status.message().find("Incompatible shapes: [2,3] vs. [2,4]"), std::string::npos);
}

// Where an element of a broadcast operand lies, by division and remainder.
int64_t Position(const ms::Shape& shape, const ms::Shape& output, int64_t index) {
  int64_t position = 0;
  int64_t stride = 1;
  for (uint32_t back = 1; back <= output.rank(); ++back) {
    const int64_t dim = output[output.rank() - back];
    if (back <= shape.rank()) {
      const int64_t own = shape[shape.rank() - back];
      if (own != 1) position += index % dim * stride;
      stride *= own;
    }
    index /= dim;
  }
  return position;
}

TEST(BroadcastTest, RowBlocksVisitEveryElementOfRandomShapes) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    ms::Shape x;
    ms::Shape y;
    const uint32_t rank = random() % 5;
    for (uint32_t d = 0; d < rank; ++d) {
      const int64_t dim = 1 + random() % 4;
      x.Append(random() % 3 == 0 ? 1 : dim);
      y.Append(random() % 3 == 0 ? 1 : dim);
    }
    const BroadcastPlan plan = PlanOf(x, y);
    const int64_t middle = plan.rows() / 2;
    std::vector<int> visits(static_cast<size_t>(plan.output.num_elements()), 0);
    const auto visit = [&](const RowBlock& block) {
      for (int64_t i = 0; i < block.rows * plan.columns(); ++i) {
        const int64_t row = i / plan.columns();
        const int64_t column = i % plan.columns();
        const int64_t x_at =
            block.x_offset + row * block.x_step + (plan.inner == Inner::kOnlyY ? 0 : column);
        const int64_t y_at =
            block.y_offset + row * block.y_step + (plan.inner == Inner::kOnlyX ? 0 : column);
        const int64_t at = block.output_offset + i;
        ++visits[static_cast<size_t>(at)];
        EXPECT_EQ(x_at, Position(x, plan.output, at)) << x.ToString() << y.ToString();
        EXPECT_EQ(y_at, Position(y, plan.output, at)) << x.ToString() << y.ToString();
      }
    };
    ForEachRowBlock(plan, 0, middle, visit);
    ForEachRowBlock(plan, middle, plan.rows(), visit);
    EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
  }
}

}  // namespace
}  // namespace millstream::kernels
