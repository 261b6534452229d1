#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(TileTest, MultipliesSizes) {
  EXPECT_EQ(ShapeTester("Tile").Input("[?,3,2]").Value("(2 2 0)").Shapes(), "[?,6,0]");
  EXPECT_EQ(ShapeTester("Tile").Input("[3,2]").Value("(? 2)").Shapes(), "[?,4]");
  EXPECT_EQ(ShapeTester("Tile").Input("[0,2]").Value("(? ?)").Shapes(), "[0,?]");
  EXPECT_EQ(ShapeTester("Tile").Input("?").Value("(2 2)").Shapes(), "[?,?]");
  EXPECT_EQ(ShapeTester("Tile").Input("[3]").Input("[?]").Shapes(), "[?]");
}

TEST(TileTest, RefusesBadMultiples) {
  EXPECT_THAT(ShapeTester("Tile").Input("[2]").Value("(-1)").Shapes(),
              HasSubstr("'multiples' of Tile"));
  EXPECT_THAT(ShapeTester("Tile").Input("[2,2]").Value("(1)").Shapes(),
              HasSubstr("expected 2 entries"));
  EXPECT_THAT(ShapeTester("Tile").Input("[4000000000]").Value("(4000000000)").Shapes(),
              HasSubstr("too large"));
}

TEST(BroadcastToTest, GivesTheShape) {
  EXPECT_EQ(ShapeTester("BroadcastTo").Input("[3,1]").Value("(2 3 4)").Shapes(), "[2,3,4]");
  EXPECT_EQ(ShapeTester("BroadcastTo").Input("[?]").Value("(? 4)").Shapes(), "[?,4]");
  EXPECT_EQ(ShapeTester("BroadcastTo").Input("[3]").Input("[2]").Shapes(), "[?,3]");
  EXPECT_EQ(ShapeTester("BroadcastTo").Input("[1,0,?]").Input("[4]").Shapes(), "[?,?,0,?]");
  EXPECT_EQ(ShapeTester("BroadcastTo").Input("[3]").Input("?").Shapes(), "?");
}

TEST(BroadcastToTest, RefusesOtherShapes) {
  for (const char* shape : {"(2)", "(3 4)", "()", "(-1)"}) {
    EXPECT_THAT(ShapeTester("BroadcastTo").Input("[3]").Value(shape).Shapes(),
                HasSubstr("'shape' of BroadcastTo"))
        << shape;
  }
}

TEST(TransposeTest, PermutesSizes) {
  EXPECT_EQ(ShapeTester("Transpose").Input("[?,8,3]").Value("(2 0 1)").Shapes(), "[3,?,8]");
  EXPECT_EQ(ShapeTester("Transpose").Input("[2,3]").Input("[2]").Shapes(), "[?,?]");
  EXPECT_EQ(ShapeTester("Transpose").Input("[2,3]").Value("(? 0)").Shapes(), "[?,2]");
  EXPECT_EQ(ShapeTester("Transpose").Input("?").Value("(1 0)").Shapes(), "[?,?]");
  EXPECT_EQ(ShapeTester("Transpose").Input("[2]").Input("[1]").Shapes(), "[2]");
}

TEST(TransposeTest, RefusesWhatIsNoPermutation) {
  EXPECT_THAT(ShapeTester("Transpose").Input("[2,3]").Value("(0 0)").Shapes(),
              HasSubstr("dimension 0 twice"));
  EXPECT_THAT(ShapeTester("Transpose").Input("[2,3]").Value("(0 2)").Shapes(),
              HasSubstr("'perm' of Transpose"));
  EXPECT_THAT(ShapeTester("Transpose").Input("[2,3]").Value("(0 1 2)").Shapes(),
              HasSubstr("expected 2 entries"));
}

TEST(InvertPermutationTest, Inverts) {
  EXPECT_EQ(ShapeTester("InvertPermutation").Value("(2 0 1)").Values(), "(1 2 0)");
  EXPECT_EQ(ShapeTester("InvertPermutation").Input("?").Shapes(), "[?]");
}

TEST(InvertPermutationTest, RefusesWhatIsNoPermutation) {
  EXPECT_THAT(ShapeTester("InvertPermutation").Value("(0 0 1)").Shapes(),
              HasSubstr("'x' of InvertPermutation"));
  EXPECT_THAT(ShapeTester("InvertPermutation").Value("(0 3 1)").Shapes(),
              HasSubstr("'x' of InvertPermutation"));
  EXPECT_THAT(ShapeTester("InvertPermutation").Input("[1,2]").Shapes(), HasSubstr("rank 1"));
}

TEST(PadTest, AddsPaddings) {
  const Tensor paddings = Tensor::Of<int32_t>({2, 2}, {1, 1, 0, 2});
  EXPECT_EQ(ShapeTester("Pad").Input("[5,?]").Constant(paddings).Shapes(), "[7,?]");
  EXPECT_EQ(ShapeTester("Pad").Input("[5,4]").Input("[2,2]").Shapes(), "[?,?]");
  EXPECT_EQ(ShapeTester("Pad").Input("?").Input("[2,2]").Shapes(), "[?,?]");
  EXPECT_EQ(ShapeTester("Pad").Input("?").Input("?").Shapes(), "?");
}

TEST(PadTest, RefusesBadPaddings) {
  EXPECT_THAT(
      ShapeTester("Pad").Input("[2]").Constant(Tensor::Of<int32_t>({1, 2}, {-1, 0})).Shapes(),
      HasSubstr("'paddings' of Pad: paddings must be non-negative"));
  EXPECT_THAT(ShapeTester("Pad").Input("[2]").Input("[2,2]").Shapes(),
              HasSubstr("expected 1 entries"));
  EXPECT_THAT(ShapeTester("Pad").Input("[2]").Input("[1,3]").Shapes(), HasSubstr("expected pairs"));
}

TEST(PadV2Test, TakesAScalarForTheMargin) {
  const Tensor paddings = Tensor::Of<int32_t>({1, 2}, {1, 2});
  EXPECT_EQ(ShapeTester("PadV2").Input("[5]").Constant(paddings).Input("[]").Shapes(), "[8]");
  EXPECT_THAT(ShapeTester("PadV2").Input("[5]").Constant(paddings).Input("[1]").Shapes(),
              HasSubstr("'constant_values' of PadV2"));
}

TEST(MirrorPadTest, AddsWhatThereIsToBeMirrored) {
  const auto op = [](const char* name, const std::string& mode, absl::string_view input) {
    return ShapeTester(name)
        .Attr("mode", mode)
        .Input(input)
        .Constant(Tensor::Of<int32_t>({1, 2}, {3, 2}))
        .Shapes();
  };
  EXPECT_EQ(op("MirrorPad", "REFLECT", "[4]"), "[9]");
  EXPECT_EQ(op("MirrorPad", "REFLECT", "[?]"), "[?]");
  EXPECT_EQ(op("MirrorPad", "SYMMETRIC", "[3]"), "[8]");
  EXPECT_THAT(op("MirrorPad", "REFLECT", "[3]"), HasSubstr("'paddings' of MirrorPad"));
  EXPECT_EQ(op("MirrorPadGrad", "REFLECT", "[9]"), "[4]");
  EXPECT_EQ(op("MirrorPadGrad", "SYMMETRIC", "[?]"), "[?]");
  EXPECT_THAT(op("MirrorPadGrad", "REFLECT", "[8]"), HasSubstr("'paddings' of MirrorPadGrad"));
  EXPECT_THAT(op("MirrorPadGrad", "REFLECT", "[4]"), HasSubstr("'paddings' of MirrorPadGrad"));
}

TEST(RollTest, KeepsTheShapeAndChecksTheAxes) {
  const auto op = [](absl::string_view shift, absl::string_view axis) {
    return ShapeTester("Roll").Input("[2,?]").Value(shift).Value(axis).Shapes();
  };
  EXPECT_EQ(op("5", "-1"), "[2,?]");
  EXPECT_EQ(op("(5 1)", "(0 0)"), "[2,?]");
  EXPECT_THAT(op("5", "2"), HasSubstr("'axis' of Roll"));
  EXPECT_THAT(op("(5 1)", "(0)"), HasSubstr("'axis' of Roll"));
}

TEST(ConjugateTransposeTest, PermutesDimensions) {
  EXPECT_EQ(ShapeTester("ConjugateTranspose").Input("[2,3]").Value("(1 0)").Shapes(), "[3,2]");
}

}  // namespace
}  // namespace millstream
