#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(ConcatTest, AddsUpTheSizesAlongTheAxis) {
  EXPECT_EQ(ShapeTester("ConcatV2").Input("[5,?]").Input("[2,4]").Value("0").Shapes(), "[7,4]");
  EXPECT_EQ(ShapeTester("ConcatV2").Input("[5,?]").Input("[5,4]").Value("-1").Shapes(), "[5,?]");
  EXPECT_EQ(ShapeTester("ConcatV2").Input("?").Input("[2,3]").Value("0").Shapes(), "[?,3]");
}

TEST(ConcatTest, KnowsTheRankWithoutTheAxis) {
  EXPECT_EQ(ShapeTester("ConcatV2").Input("?").Input("[2,3]").Input("[]").Shapes(), "[?,?]");
  EXPECT_EQ(ShapeTester("ConcatV2").Input("?").Input("?").Value("0").Shapes(), "?");
}

TEST(ConcatTest, JoinsValues) {
  ShapeTester op("ConcatV2");
  op.Attr("T", DataType::kInt32).Value("(1 ?)").Value("(3)").Value("0");
  EXPECT_EQ(op.Values(), "(1 ? 3)");
}

TEST(ConcatTest, RefusesWhatDoesNotGoTogether) {
  EXPECT_THAT(ShapeTester("ConcatV2").Input("[2,3]").Input("[3,3]").Value("1").Shapes(),
              HasSubstr("'values[1]' of ConcatV2"));
  EXPECT_THAT(ShapeTester("ConcatV2").Input("[2,3]").Input("[2]").Value("0").Shapes(),
              HasSubstr("expected rank 2 as before"));
  EXPECT_THAT(ShapeTester("ConcatV2").Input("[2,3]").Input("[2,3]").Value("2").Shapes(),
              HasSubstr("'axis' of ConcatV2"));
  EXPECT_THAT(ShapeTester("ConcatV2").Input("[]").Input("[]").Value("0").Shapes(),
              HasSubstr("at least rank 1"));
}

ShapeTester Split(absl::string_view axis, absl::string_view value, int count) {
  return ShapeTester("Split").Attr("num_split", count).Value(axis).Input(value);
}

TEST(SplitTest, DividesTheDimension) {
  EXPECT_EQ(Split("1", "[?,8]", 2).Shapes(), "[?,4] [?,4]");
  EXPECT_EQ(Split("-2", "[?,8]", 2).Shapes(), "[?,8] [?,8]");
  EXPECT_EQ(Split("?", "[4,2]", 2).Shapes(), "[?,?] [?,?]");
  EXPECT_EQ(Split("0", "?", 2).Shapes(), "? ?");
}

TEST(SplitTest, TakesValuesApart) {
  ShapeTester op("Split");
  op.Attr("num_split", 2).Attr("T", DataType::kInt64).Value("0").Value("(1 ? 3 4)");
  EXPECT_EQ(op.Values(), "(1 ?) (3 4)");
}

TEST(SplitTest, RefusesUnequalPieces) {
  EXPECT_THAT(Split("0", "[5]", 2).Shapes(), HasSubstr("'value' of Split: cannot split"));
  EXPECT_THAT(Split("2", "[4,2]", 2).Shapes(), HasSubstr("'split_dim' of Split"));
  EXPECT_THAT(Split("0", "[]", 2).Shapes(), HasSubstr("at least rank 1"));
}

ShapeTester SplitV(absl::string_view value, absl::string_view sizes, absl::string_view axis) {
  return ShapeTester("SplitV").Attr("num_split", 2).Input(value).Value(sizes).Value(axis);
}

TEST(SplitVTest, TakesTheSizes) {
  EXPECT_EQ(SplitV("[5,2]", "(1 4)", "0").Shapes(), "[1,2] [4,2]");
  EXPECT_EQ(SplitV("[5,2]", "(1 -1)", "0").Shapes(), "[1,2] [4,2]");
  EXPECT_EQ(SplitV("[?,2]", "(1 -1)", "0").Shapes(), "[1,2] [?,2]");
  EXPECT_EQ(SplitV("[5,2]", "(1 ?)", "0").Shapes(), "[1,2] [?,2]");
  EXPECT_EQ(SplitV("[5,2]", "(1 4)", "?").Shapes(), "[?,?] [?,?]");
}

TEST(SplitVTest, RefusesSizesThatDoNotAddUp) {
  EXPECT_THAT(SplitV("[5]", "(3 3)", "0").Shapes(), HasSubstr("add up to 6"));
  EXPECT_THAT(SplitV("[5,2]", "(7 -2)", "?").Shapes(), HasSubstr("got -2 at position 1"));
  EXPECT_THAT(SplitV("[5]", "(3 1)", "0").Shapes(), HasSubstr("add up to 4"));
  EXPECT_THAT(SplitV("[5]", "(6 -1)", "0").Shapes(), HasSubstr("add up to 6"));
  EXPECT_THAT(SplitV("[5]", "(-1 -1)", "0").Shapes(), HasSubstr("'size_splits' of SplitV"));
  EXPECT_THAT(SplitV("[5]", "(-2 7)", "0").Shapes(), HasSubstr("'size_splits' of SplitV"));
  EXPECT_THAT(SplitV("[5]", "(1 2 2)", "0").Shapes(), HasSubstr("expected 2 sizes"));
  EXPECT_THAT(SplitV("[5]", "(9223372036854775807 9223372036854775807)", "0").Shapes(),
              HasSubstr("too large"));
}

TEST(PackTest, AddsADimension) {
  EXPECT_EQ(ShapeTester("Pack").Input("[?,3]").Input("[2,?]").Shapes(), "[2,2,3]");
  EXPECT_EQ(ShapeTester("Pack").Attr("axis", -1).Input("[3]").Input("[3]").Shapes(), "[3,2]");
  EXPECT_EQ(ShapeTester("Pack").Input("?").Input("?").Shapes(), "?");
}

TEST(PackTest, ScalarsMakeAVectorOfValues) {
  EXPECT_EQ(ShapeTester("Pack").Attr("T", DataType::kInt32).Value("4").Value("?").Values(),
            "(4 ?)");
}

TEST(PackTest, AnInputOfUnknownRankIsAnUnknownElement) {
  EXPECT_EQ(
      ShapeTester("Pack").Attr("T", DataType::kInt32).Input("?").Value("37").Value("?").Values(),
      "(? 37 ?)");
  EXPECT_EQ(ShapeTester("Pack").Attr("T", DataType::kInt32).Input("?").Input("?").Values(), "-");
}

TEST(PackTest, RefusesDifferentShapes) {
  EXPECT_THAT(ShapeTester("Pack").Input("[2]").Input("[3]").Shapes(),
              HasSubstr("'values[1]' of Pack"));
  EXPECT_THAT(ShapeTester("Pack").Attr("axis", 2).Input("[2]").Input("[2]").Shapes(),
              HasSubstr("'axis' of Pack"));
}

TEST(UnpackTest, DropsADimension) {
  EXPECT_EQ(ShapeTester("Unpack").Attr("num", 2).Input("[2,?]").Shapes(), "[?] [?]");
  EXPECT_EQ(ShapeTester("Unpack").Attr("num", 2).Attr("axis", -1).Input("[3,?]").Shapes(),
            "[3] [3]");
  EXPECT_EQ(ShapeTester("Unpack").Attr("num", 1).Input("?").Shapes(), "?");
  EXPECT_EQ(
      ShapeTester("Unpack").Attr("num", 2).Attr("T", DataType::kInt32).Value("(4 ?)").Values(),
      "4 ?");
}

TEST(UnpackTest, RefusesAnotherCount) {
  EXPECT_THAT(ShapeTester("Unpack").Attr("num", 3).Input("[2,3]").Shapes(),
              HasSubstr("'value' of Unpack: expected size 3"));
  EXPECT_THAT(ShapeTester("Unpack").Attr("num", 1).Attr("axis", 1).Input("[1]").Shapes(),
              HasSubstr("'axis' of Unpack"));
}

}  // namespace
}  // namespace millstream
