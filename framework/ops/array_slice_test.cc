#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

std::string Sliced(absl::string_view input, absl::string_view begin, absl::string_view size) {
  return ShapeTester("Slice").Input(input).Value(begin).Value(size).Shapes();
}

TEST(SliceTest, TakesSizesOrTheRest) {
  EXPECT_EQ(Sliced("[4,5]", "(1 2)", "(2 -1)"), "[2,3]");
  EXPECT_EQ(Sliced("[4,?]", "(1 2)", "(-1 -1)"), "[3,?]");
  EXPECT_EQ(Sliced("?", "(1 2)", "(-1 3)"), "[?,3]");
  EXPECT_EQ(Sliced("[4,5]", "(? 0)", "(2 -1)"), "[2,5]");
}

TEST(SliceTest, KnowsTheRankWithoutValues) {
  EXPECT_EQ(ShapeTester("Slice").Input("[4,5]").Input("[2]").Input("[2]").Shapes(), "[?,?]");
  EXPECT_EQ(ShapeTester("Slice").Input("?").Input("[?]").Input("[2]").Shapes(), "[?,?]");
  EXPECT_EQ(ShapeTester("Slice").Input("?").Input("[?]").Input("[?]").Shapes(), "?");
}

TEST(SliceTest, NoTensorHasAsManyDimensionsAsAnIntegerCount) {
  for (const char* count : {"[2147483648]", "[4294967297]"}) {
    EXPECT_THAT(ShapeTester("Slice").Input("?").Input(count).Input(count).Shapes(),
                HasSubstr("'begin' of Slice: no tensor has as many dimensions"));
    EXPECT_THAT(
        ShapeTester("StridedSlice").Input("?").Input(count).Input(count).Input(count).Shapes(),
        HasSubstr("'begin' of StridedSlice: no tensor has"));
    EXPECT_THAT(ShapeTester("Tile").Input("?").Input(count).Shapes(),
                HasSubstr("'multiples' of Tile: no tensor has"));
    EXPECT_THAT(ShapeTester("ConcatOffset").Input("[]").Input(count).Input(count).Shapes(),
                HasSubstr("'shape[0]' of ConcatOffset: no tensor has"));
  }
}

TEST(SliceTest, TakesValues) {
  ShapeTester op("Slice");
  op.Attr("T", DataType::kInt32).Value("(1 ? 3 4)").Value("(1)").Value("(2)");
  EXPECT_EQ(op.Values(), "(? 3)");
}

TEST(SliceTest, RefusesLeavingTheTensor) {
  EXPECT_THAT(Sliced("[4]", "(2)", "(3)"), HasSubstr("'size' of Slice"));
  EXPECT_THAT(Sliced("[4]", "(?)", "(5)"), HasSubstr("'size' of Slice"));
  EXPECT_THAT(Sliced("[4]", "(5)", "(-1)"), HasSubstr("'begin' of Slice"));
  EXPECT_THAT(Sliced("?", "(-1)", "(1)"), HasSubstr("'begin' of Slice"));
  EXPECT_THAT(Sliced("[4]", "(0)", "(-2)"), HasSubstr("'size' of Slice"));
  EXPECT_THAT(Sliced("[4]", "(0 0)", "(1 1)"), HasSubstr("expected 1 entries"));
}

ShapeTester StridedSlice(absl::string_view input, absl::string_view begin, absl::string_view end,
                         absl::string_view strides) {
  return ShapeTester("StridedSlice").Input(input).Value(begin).Value(end).Value(strides);
}

TEST(StridedSliceTest, FollowsTheSpecification) {
  EXPECT_EQ(StridedSlice("[?,8,3]", "(0 2)", "(0 5)", "(1 1)").Attr("end_mask", 1).Shapes(),
            "[?,3,3]");
  EXPECT_EQ(StridedSlice("[?,8,3]", "(0)", "(1)", "(1)").Attr("shrink_axis_mask", 1).Shapes(),
            "[8,3]");
  EXPECT_EQ(StridedSlice("[5]", "(?)", "(3)", "(1)").Shapes(), "[?]");
}

TEST(StridedSliceTest, NeedsTheNumberOfEntries) {
  ShapeTester op("StridedSlice");
  EXPECT_EQ(op.Input("[5,4]").Input("[?]").Input("[?]").Input("[?]").Shapes(), "?");
  ShapeTester counted("StridedSlice");
  EXPECT_EQ(counted.Input("[5,4]").Input("[?]").Input("[1]").Input("[?]").Shapes(), "[?,4]");
}

TEST(StridedSliceTest, PicksTheSizesOfAShape) {
  ShapeTester op = StridedSlice("[3]", "(0)", "(1)", "(1)");
  EXPECT_EQ(op.Values(), "-");
  ShapeTester pick("StridedSlice");
  pick.Attr("T", DataType::kInt32).Attr("shrink_axis_mask", 1);
  EXPECT_EQ(pick.Value("(5 ? 7)").Value("(-1)").Value("(0)").Value("(1)").Values(), "7");
  ShapeTester reverse("StridedSlice");
  reverse.Attr("T", DataType::kInt64).Attr("begin_mask", 1).Attr("end_mask", 1);
  EXPECT_EQ(reverse.Value("(5 ? 7)").Value("(0)").Value("(0)").Value("(-1)").Values(), "(7 ? 5)");
}

TEST(StridedSliceTest, ErrorsNameTheOp) {
  EXPECT_THAT(StridedSlice("[5]", "(0)", "(4)", "(0)").Shapes(),
              HasSubstr("INVALID_ARGUMENT: StridedSlice: strides[0]"));
  EXPECT_THAT(StridedSlice("[5]", "(0)", "(4 4)", "(1)").Shapes(),
              HasSubstr("'end' of StridedSlice"));
}

TEST(StridedSliceGradTest, HasTheShapeOfWhatWasSliced) {
  ShapeTester op("StridedSliceGrad");
  op.Value("(5 ?)").Value("(0)").Value("(3)").Value("(1)").Input("[3,2]");
  EXPECT_EQ(op.Shapes(), "[5,?]");
}

TEST(StridedSliceGradTest, RefusesAGradientOfAnotherShape) {
  ShapeTester op("StridedSliceGrad");
  op.Value("(5)").Value("(0)").Value("(3)").Value("(1)").Input("[4]");
  EXPECT_THAT(op.Shapes(), HasSubstr("'dy' of StridedSliceGrad: expected the shape of the slice, "
                                     "[3], got [4]"));
}

}  // namespace
}  // namespace millstream
