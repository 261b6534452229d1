#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

ShapeTester Gather(absl::string_view params, absl::string_view indices, absl::string_view axis,
                   int batch_dims = 0) {
  ShapeTester op("GatherV2");
  op.Attr("batch_dims", batch_dims).Input(params).Input(indices).Value(axis);
  return op;
}

TEST(GatherTest, IndicesReplaceTheAxis) {
  EXPECT_EQ(Gather("[?,8,3]", "[2]", "0").Shapes(), "[2,8,3]");
  EXPECT_EQ(Gather("[5,4]", "[2,1]", "-1").Shapes(), "[5,2,1]");
  EXPECT_EQ(Gather("[5,4]", "[]", "0").Shapes(), "[4]");
  EXPECT_EQ(Gather("[5,4]", "?", "0").Shapes(), "?");
  EXPECT_EQ(Gather("[5,4]", "[3]", "?").Shapes(), "[?,?]");
}

TEST(GatherTest, BatchDimensionsAreShared) {
  EXPECT_EQ(Gather("[?,4,3]", "[2,3]", "1", 1).Shapes(), "[2,3,3]");
  EXPECT_EQ(Gather("[2,3,4]", "[2,2]", "2", -1).Shapes(), "[2,3,2]");
  EXPECT_THAT(Gather("[2,3]", "[3,1]", "1", 1).Shapes(), HasSubstr("'indices' of GatherV2"));
  EXPECT_THAT(Gather("[2,3]", "[2,1]", "0", 1).Shapes(), HasSubstr("'batch_dims' of GatherV2"));
  EXPECT_THAT(Gather("[2,3]", "[2]", "1", 2).Shapes(), HasSubstr("'batch_dims' of GatherV2"));
}

// Rows of a matrix of 3 columns, picked by indices of shape [2,?], and what the arguments say.
std::string JoinedShapes(absl::string_view params, absl::string_view indices) {
  return ShapeTester("_JoinedGather")
      .Attr("N", 2)
      .Input("[5,3]")
      .Input(params)
      .Input("[2,?]")
      .Input(indices)
      .Shapes();
}

TEST(JoinedGatherTest, HasTheColumnsOfAll) {
  EXPECT_EQ(JoinedShapes("[9,4]", "[2,6]"), "[2,6,7]");
  EXPECT_EQ(JoinedShapes("[9,4]", "?"), "[2,?,7]");
  EXPECT_EQ(JoinedShapes("?", "[2,6]"), "[2,6,?]");
}

TEST(JoinedGatherTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(JoinedShapes("[9,4]", "[3,6]"), HasSubstr("'indices[1]' of _JoinedGather"));
  EXPECT_THAT(JoinedShapes("[9,4,1]", "[2,6]"), HasSubstr("'params[1]' of _JoinedGather"));
}

TEST(GatherTest, PicksValues) {
  ShapeTester op("GatherV2");
  op.Attr("Tparams", DataType::kInt32).Value("(5 ? 7)").Value("(2 0)").Value("0");
  EXPECT_EQ(op.Values(), "(7 5)");
}

TEST(GatherTest, RefusesAnAxisOutside) {
  EXPECT_THAT(Gather("[5,3]", "[1]", "2").Shapes(), HasSubstr("'axis' of GatherV2"));
  EXPECT_THAT(Gather("[]", "[1]", "0").Shapes(), HasSubstr("at least rank 1"));
}

ShapeTester OneHot(absl::string_view indices, absl::string_view depth, int axis) {
  ShapeTester op("OneHot");
  op.Attr("axis", axis).Input(indices).Value(depth).Input("[]").Input("[]");
  return op;
}

TEST(OneHotTest, AddsTheDepth) {
  EXPECT_EQ(OneHot("[2,?]", "4", -1).Shapes(), "[2,?,4]");
  EXPECT_EQ(OneHot("[2,?]", "4", 0).Shapes(), "[4,2,?]");
  EXPECT_EQ(OneHot("[2]", "?", -1).Shapes(), "[2,?]");
  EXPECT_EQ(OneHot("?", "4", -1).Shapes(), "?");
}

TEST(OneHotTest, RefusesBadDepthAndAxis) {
  EXPECT_THAT(OneHot("[1]", "-1", -1).Shapes(), HasSubstr("'depth' of OneHot"));
  EXPECT_THAT(OneHot("[1]", "3", 2).Shapes(), HasSubstr("'axis' of OneHot"));
  EXPECT_THAT(OneHot("[1]", "3", -2).Shapes(), HasSubstr("'axis' of OneHot"));
}

TEST(UnsortedSegmentSumTest, SegmentsReplaceTheDimensionsOfTheIds) {
  const auto op = [](absl::string_view data, absl::string_view ids, absl::string_view count) {
    return ShapeTester("UnsortedSegmentSum").Input(data).Input(ids).Value(count).Shapes();
  };
  EXPECT_EQ(op("[2,3,4]", "[2,3]", "7"), "[7,4]");
  EXPECT_EQ(op("[2,3,4]", "[?]", "?"), "[?,3,4]");
  EXPECT_EQ(op("?", "[2]", "7"), "?");
  EXPECT_THAT(op("[2,3]", "[3]", "7"), HasSubstr("'segment_ids' of UnsortedSegmentSum"));
  EXPECT_THAT(op("[2]", "[2,1]", "7"), HasSubstr("'segment_ids' of UnsortedSegmentSum"));
  EXPECT_THAT(op("[2]", "[2]", "-1"), HasSubstr("'num_segments' of UnsortedSegmentSum"));
}

TEST(UniqueTest, PlacesAreAsManyAsElements) {
  EXPECT_EQ(ShapeTester("Unique").Input("[9]").Shapes(), "[?] [9]");
  EXPECT_EQ(ShapeTester("Unique").Input("?").Shapes(), "[?] [?]");
  EXPECT_THAT(ShapeTester("Unique").Input("[2,2]").Shapes(), HasSubstr("must be rank 1"));
}

TEST(SelectTest, TheConditionFitsWhollyByRowsOrAsAScalar) {
  const auto op = [](absl::string_view condition, absl::string_view t, absl::string_view e) {
    return ShapeTester("Select").Input(condition).Input(t).Input(e).Shapes();
  };
  EXPECT_EQ(op("[2,3]", "[?,3]", "?"), "[2,3]");
  EXPECT_EQ(op("[3]", "[?,2]", "[?,2]"), "[3,2]");
  EXPECT_EQ(op("[]", "[2,?]", "[?,3]"), "[2,3]");
  EXPECT_EQ(op("?", "[2,?]", "[?,3]"), "[2,3]");
  EXPECT_EQ(op("[3]", "?", "?"), "?");
  EXPECT_THAT(op("[2]", "[2]", "[3]"), HasSubstr("'e' of Select"));
  EXPECT_THAT(op("[4]", "[3,4]", "[3,4]"), HasSubstr("'condition' of Select"));
  EXPECT_THAT(op("[1]", "[]", "[]"), HasSubstr("'condition' of Select"));
  EXPECT_THAT(op("[2,2]", "[2,3]", "[2,3]"), HasSubstr("'condition' of Select"));
}

TEST(SelectV2Test, BroadcastsAllThree) {
  const auto op = [](absl::string_view condition, absl::string_view t, absl::string_view e) {
    return ShapeTester("SelectV2").Input(condition).Input(t).Input(e).Shapes();
  };
  EXPECT_EQ(op("[3]", "[2,3]", "[]"), "[2,3]");
  EXPECT_EQ(op("[4,1,1]", "[3]", "[2,1]"), "[4,2,3]");
  EXPECT_EQ(op("?", "[3]", "[2,1]"), "?");
  EXPECT_THAT(op("[3]", "[2]", "[4]"), HasSubstr("'e' of SelectV2"));
  EXPECT_THAT(op("[2]", "[3]", "[3]"), HasSubstr("'condition' of SelectV2"));
}

TEST(WhereTest, HasAColumnADimension) {
  EXPECT_EQ(ShapeTester("Where").Input("[2,?,3]").Shapes(), "[?,3]");
  EXPECT_EQ(ShapeTester("Where").Input("?").Shapes(), "[?,?]");
}

}  // namespace
}  // namespace millstream
