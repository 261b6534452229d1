#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

std::string Partition(absl::string_view data, absl::string_view partitions) {
  ShapeTester op("DynamicPartition");
  op.Attr("num_partitions", 2).Input(data).Input(partitions);
  return op.Shapes();
}

TEST(DynamicPartitionTest, RowsAreWhatThePartitionsLeave) {
  EXPECT_EQ(Partition("[4,3]", "[4]"), "[?,3] [?,3]");
  EXPECT_EQ(Partition("[2,3]", "[2,3]"), "[?] [?]");
  EXPECT_EQ(Partition("[?,3,5]", "[2,?]"), "[?,5] [?,5]");
  EXPECT_EQ(Partition("?", "[2]"), "? ?");
  EXPECT_EQ(Partition("[2]", "?"), "? ?");
}

TEST(DynamicPartitionTest, RefusesDataThatDoesNotBeginWithThePartitions) {
  EXPECT_THAT(Partition("[2]", "[3]"), HasSubstr("'data' of DynamicPartition"));
  EXPECT_THAT(Partition("[2]", "[2,1]"), HasSubstr("'data' of DynamicPartition"));
}

// A DynamicStitch of `count` tensors.
ShapeTester Stitch(int count) {
  ShapeTester op("DynamicStitch");
  op.Attr("N", count);
  return op;
}

TEST(DynamicStitchTest, TheLargestIndexGivesTheRows) {
  const Tensor indices = Tensor::Vector<int32_t>({4, 1});
  EXPECT_EQ(Stitch(2).Constant(indices).Value("2").Input("[2,3]").Input("[?]").Shapes(), "[5,3]");
  EXPECT_EQ(Stitch(1).Value("(0 ?)").Input("[2,3]").Shapes(), "[?,3]");
  EXPECT_EQ(Stitch(1).Input("[2,2]").Input("[?,2,7]").Shapes(), "[?,7]");
  EXPECT_EQ(Stitch(1).Input("?").Input("[2,3]").Shapes(), "?");
}

TEST(DynamicStitchTest, NothingIsNoRowsWhereItIsConstant) {
  EXPECT_EQ(Stitch(1).Input("[0]").Input("[0,3]").Shapes(), "[?,3]");
  const Tensor nothing = Tensor::Vector<int32_t>({});
  EXPECT_EQ(Stitch(1).Constant(nothing).Input("[0,3]").Shapes(), "[0,3]");
}

TEST(DynamicStitchTest, PlacesValuesAndLeavesGapsUnknown) {
  ShapeTester op = Stitch(2);
  op.Attr("T", DataType::kInt32).Value("(4 0)").Value("3").Value("(7 ?)").Value("9");
  EXPECT_EQ(op.Values(), "(? ? ? 9 7)");
}

TEST(DynamicStitchTest, RefusesRowsThatDifferAndNegativeIndices) {
  EXPECT_THAT(Stitch(2).Input("[1]").Input("[1]").Input("[1,2]").Input("[1,3]").Shapes(),
              HasSubstr("'data[1]' of DynamicStitch: expected rows of shape [2]"));
  EXPECT_THAT(Stitch(1).Input("[2]").Input("[3]").Shapes(),
              HasSubstr("'data[0]' of DynamicStitch"));
  EXPECT_THAT(Stitch(1).Value("(1 -1)").Input("[2]").Shapes(),
              HasSubstr("'indices[0]' of DynamicStitch: must not be negative"));
}

}  // namespace
}  // namespace millstream
