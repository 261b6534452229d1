#include <string>
#include <utility>
#include <vector>

#include "framework/half.h"
#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

std::string Reshaped(absl::string_view input, absl::string_view sizes) {
  return ShapeTester("Reshape").Input(input).Value(sizes).Shapes();
}

TEST(ReshapeTest, InfersTheMinusOne) {
  EXPECT_EQ(Reshaped("[2,6]", "(3 -1)"), "[3,4]");
  EXPECT_EQ(Reshaped("[0,3]", "(-1 3)"), "[0,3]");
  EXPECT_EQ(Reshaped("[]", "(1 -1)"), "[1,1]");
}

TEST(ReshapeTest, AnUnknownSizeFollowsFromTheOthers) {
  EXPECT_EQ(Reshaped("[2,6]", "(3 ?)"), "[3,4]");
}

TEST(ReshapeTest, KeepsUnknownWhatDoesNotFollow) {
  EXPECT_EQ(Reshaped("[?,8,3]", "(-1 24)"), "[?,24]");
  EXPECT_EQ(Reshaped("[2,6]", "(? -1)"), "[?,?]");
  EXPECT_EQ(Reshaped("?", "(2 -1)"), "[2,?]");
  EXPECT_EQ(Reshaped("[0,3]", "(0 ?)"), "[0,?]");
  EXPECT_EQ(ShapeTester("Reshape").Input("[2]").Input("[3]").Shapes(), "[?,?,?]");
  EXPECT_EQ(ShapeTester("Reshape").Input("[2]").Input("[?]").Shapes(), "?");
}

TEST(ReshapeTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(Reshaped("[2,3]", "(4 2)"),
              HasSubstr("cannot reshape [2,3], 6 elements, into [4,2]"));
  EXPECT_THAT(Reshaped("[2,3]", "(4 -1)"), HasSubstr("'shape' of Reshape"));
  EXPECT_THAT(Reshaped("[2,3]", "(-1 -1)"), HasSubstr("only one size may be -1"));
  EXPECT_THAT(Reshaped("[2,3]", "(-2 -3)"), HasSubstr("size 0 must be -1 or not negative"));
  EXPECT_THAT(Reshaped("[0,3]", "(0 -1)"), HasSubstr("no size follows for the -1"));
  EXPECT_THAT(ShapeTester("Reshape").Input("[2]").Input("[1,2]").Shapes(), HasSubstr("rank 1"));
}

TEST(ReshapeTest, AScalarsValueBecomesAVectors) {
  ShapeTester op("Reshape");
  op.Attr("T", DataType::kInt32).Value("5").Value("(-1)");
  EXPECT_EQ(op.Shapes(), "[1]");
  EXPECT_EQ(op.Values(), "(5)");
}

// Else a size that does not fit would never be looked at.
TEST(ReshapeTest, AnEmptyValueIsKnownOnlyWithTheSizes) {
  const auto value = [](absl::string_view sizes) {
    ShapeTester op("Reshape");
    return op.Attr("T", DataType::kInt32).Input("[0]").Value(sizes).Values();
  };
  EXPECT_EQ(value("(0)"), "()");
  EXPECT_EQ(value("(?)"), "-");
}

TEST(ExpandDimsTest, InsertsTheDimension) {
  EXPECT_EQ(ShapeTester("ExpandDims").Input("[2,?]").Value("1").Shapes(), "[2,1,?]");
  EXPECT_EQ(ShapeTester("ExpandDims").Input("[2,?]").Value("-1").Shapes(), "[2,?,1]");
  EXPECT_EQ(ShapeTester("ExpandDims").Input("[2]").Value("(0)").Shapes(), "[1,2]");
}

TEST(ExpandDimsTest, KnowsTheRankWithoutTheAxis) {
  EXPECT_EQ(ShapeTester("ExpandDims").Input("[2,3]").Input("[]").Shapes(), "[?,?,?]");
  EXPECT_EQ(ShapeTester("ExpandDims").Input("?").Value("0").Shapes(), "?");
}

TEST(ExpandDimsTest, RefusesAnAxisOutside) {
  EXPECT_THAT(ShapeTester("ExpandDims").Input("[2,3]").Value("3").Shapes(),
              HasSubstr("'dim' of ExpandDims"));
  EXPECT_THAT(ShapeTester("ExpandDims").Input("[2,3]").Value("(0 1)").Shapes(),
              HasSubstr("expected one axis"));
}

std::string Squeezed(absl::string_view input, std::vector<int64_t> axes) {
  return ShapeTester("Squeeze").Input(input).Attr("squeeze_dims", std::move(axes)).Shapes();
}

TEST(SqueezeTest, DropsOnes) {
  EXPECT_EQ(Squeezed("[1,2,1]", {}), "[2]");
  EXPECT_EQ(Squeezed("[1,2,1]", {-1}), "[1,2]");
  EXPECT_EQ(Squeezed("[?,2]", {0}), "[2]");
}

TEST(SqueezeTest, UnknownSizesLeaveTheRankOpenUnlessAxesAreNamed) {
  EXPECT_EQ(Squeezed("[?,2]", {}), "?");
  EXPECT_EQ(Squeezed("?", {0}), "?");
}

TEST(SqueezeTest, RefusesOtherSizesAndAxesOutside) {
  EXPECT_THAT(Squeezed("[1,3]", {1}), HasSubstr("'squeeze_dims' of Squeeze: cannot drop"));
  EXPECT_THAT(Squeezed("[1,3]", {2}), HasSubstr("'squeeze_dims' of Squeeze: axis 2"));
}

TEST(ShapeTest, TellsSizesAsFarAsKnown) {
  EXPECT_EQ(ShapeTester("Shape").Input("[2,?]").Shapes(), "[2]");
  EXPECT_EQ(ShapeTester("Shape").Input("[2,?]").Values(), "(2 ?)");
  EXPECT_EQ(ShapeTester("Shape").Input("?").Shapes(), "[?]");
  EXPECT_EQ(ShapeTester("Shape").Input("?").Values(), "-");
  EXPECT_EQ(ShapeTester("ShapeN").Input("[2]").Input("?").Shapes(), "[1] [?]");
  EXPECT_EQ(ShapeTester("ShapeN").Input("[2]").Input("[]").Values(), "(2) ()");
}

TEST(ShapeTest, ASizeThatInt32CannotHoldIsUnknown) {
  EXPECT_EQ(ShapeTester("Shape").Input("[3000000000]").Values(), "(?)");
  EXPECT_EQ(ShapeTester("Shape").Attr("out_type", DataType::kInt64).Input("[3000000000]").Values(),
            "(3000000000)");
}

TEST(RankTest, IsTheNumberOfDimensions) {
  EXPECT_EQ(ShapeTester("Rank").Input("[2,?]").Values(), "2");
  EXPECT_EQ(ShapeTester("Rank").Input("?").Values(), "-");
  EXPECT_EQ(ShapeTester("Rank").Input("?").Shapes(), "[]");
}

TEST(SizeTest, IsTheNumberOfElements) {
  EXPECT_EQ(ShapeTester("Size").Input("[2,3]").Values(), "6");
  EXPECT_EQ(ShapeTester("Size").Input("[2,?]").Values(), "-");
}

TEST(FillTest, HasTheShapeThatIsAskedFor) {
  EXPECT_EQ(ShapeTester("Fill").Value("(4 ?)").Input("[]").Shapes(), "[4,?]");
  EXPECT_EQ(ShapeTester("Fill").Input("[?]").Input("[]").Shapes(), "?");
  EXPECT_EQ(ShapeTester("Fill").Attr("T", DataType::kInt32).Value("(3)").Value("7").Values(),
            "(7 7 7)");
}

TEST(FillTest, RefusesShapesThatNoTensorHas) {
  EXPECT_THAT(ShapeTester("Fill").Value("(2 -1)").Input("[]").Shapes(),
              HasSubstr("'dims' of Fill: sizes must not be negative"));
  EXPECT_THAT(ShapeTester("Fill").Value("(4000000000 4000000000)").Input("[]").Shapes(),
              HasSubstr("'dims' of Fill"));
  EXPECT_THAT(ShapeTester("Fill").Value("(2)").Input("[2]").Shapes(), HasSubstr("'value' of Fill"));
}

ShapeTester Range(absl::string_view start, absl::string_view limit, absl::string_view delta) {
  return ShapeTester("Range").Attr("Tidx", DataType::kInt64).Value(start).Value(limit).Value(delta);
}

TEST(RangeTest, CountsUpAndDown) {
  EXPECT_EQ(Range("0", "5", "2").Values(), "(0 2 4)");
  EXPECT_EQ(Range("5", "0", "-2").Values(), "(5 3 1)");
  EXPECT_EQ(Range("3", "3", "1").Shapes(), "[0]");
  EXPECT_EQ(Range("0", "?", "1").Shapes(), "[?]");
}

TEST(RangeTest, CountsAcrossTheWholeOfInt64) {
  EXPECT_EQ(Range("-9223372036854775808", "9223372036854775807", "4611686018427387904").Shapes(),
            "[4]");
  EXPECT_EQ(Range("9223372036854775800", "9223372036854775807", "5").Values(),
            "(9223372036854775800 9223372036854775805)");
  EXPECT_THAT(Range("-9223372036854775808", "9223372036854775807", "1").Shapes(),
              HasSubstr("too many elements"));
}

TEST(RangeTest, CountsRealNumbers) {
  ShapeTester op("Range");
  op.Attr("Tidx", DataType::kDouble);
  op.Constant(Tensor::Scalar<double>(0)).Constant(Tensor::Scalar<double>(1));
  EXPECT_EQ(op.Constant(Tensor::Scalar<double>(0.3)).Shapes(), "[4]");
}

// 0.3 / 0.1 is 3 in float and a little more in double.
TEST(RangeTest, CountsInTheTypeThatTheKernelCountsIn) {
  ShapeTester op("Range");
  op.Attr("Tidx", DataType::kFloat);
  op.Constant(Tensor::Scalar<float>(0)).Constant(Tensor::Scalar<float>(0.3f));
  EXPECT_EQ(op.Constant(Tensor::Scalar<float>(0.1f)).Shapes(), "[3]");
}

TEST(RangeTest, CountsBFloat16) {
  const auto scalar = [](float value) {
    Tensor tensor = *Tensor::Create(DataType::kBFloat16, Shape());
    *static_cast<uint16_t*>(tensor.raw()) = FloatToBFloat16(value);
    return tensor;
  };
  ShapeTester op("Range");
  op.Attr("Tidx", DataType::kBFloat16).Constant(scalar(1)).Constant(scalar(2));
  EXPECT_EQ(op.Constant(scalar(0.25f)).Shapes(), "[4]");
}

TEST(RangeTest, RefusesSteppingAway) {
  EXPECT_THAT(Range("1", "2", "0").Shapes(), HasSubstr("'delta' of Range"));
  EXPECT_THAT(Range("5", "1", "1").Shapes(), HasSubstr("'limit' of Range"));
  EXPECT_THAT(Range("1", "5", "-1").Shapes(), HasSubstr("'limit' of Range"));
  EXPECT_THAT(ShapeTester("Range").Input("[2]").Input("[]").Input("[]").Shapes(),
              HasSubstr("'start' of Range"));
}

TEST(ZerosLikeTest, HasTheShapeOfItsInput) {
  EXPECT_EQ(ShapeTester("ZerosLike").Input("[?,3]").Shapes(), "[?,3]");
  EXPECT_EQ(ShapeTester("OnesLike").Input("?").Shapes(), "?");
}

}  // namespace
}  // namespace millstream
