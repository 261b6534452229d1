#include <vector>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(LinSpaceTest, HasAsManyElementsAsNumSays) {
  const auto op = [](absl::string_view num) {
    return ShapeTester("LinSpace").Input("[]").Input("[]").Value(num).Shapes();
  };
  EXPECT_EQ(op("5"), "[5]");
  EXPECT_EQ(op("?"), "[?]");
  EXPECT_THAT(op("0"), HasSubstr("'num' of LinSpace"));
}

TEST(UnravelIndexTest, HasARowADimension) {
  EXPECT_EQ(ShapeTester("UnravelIndex").Input("[4]").Input("[2]").Shapes(), "[2,4]");
  EXPECT_EQ(ShapeTester("UnravelIndex").Input("[]").Input("[3]").Shapes(), "[3]");
  EXPECT_EQ(ShapeTester("UnravelIndex").Input("?").Input("[3]").Shapes(), "?");
  EXPECT_THAT(ShapeTester("UnravelIndex").Input("[2,2]").Input("[3]").Shapes(),
              HasSubstr("'indices' of UnravelIndex"));
}

TEST(LowerBoundTest, HasTheShapeOfTheValues) {
  EXPECT_EQ(ShapeTester("LowerBound").Input("[2,5]").Input("[?,4]").Shapes(), "[2,4]");
  EXPECT_THAT(ShapeTester("UpperBound").Input("[1,2]").Input("[2,1]").Shapes(),
              HasSubstr("'values' of UpperBound"));
}

TEST(BucketizeTest, RefusesBoundariesThatDescend) {
  ShapeTester op("Bucketize");
  EXPECT_EQ(op.Attr("boundaries", std::vector<float>{1, 3}).Input("[2,?]").Shapes(), "[2,?]");
  EXPECT_THAT(op.Attr("boundaries", std::vector<float>{3, 1}).Shapes(),
              HasSubstr("'boundaries' of Bucketize"));
}

TEST(BincountTest, HasAsManyElementsAsSizeSays) {
  const auto op = [](absl::string_view size, absl::string_view weights) {
    return ShapeTester("Bincount").Input("[2,5]").Value(size).Input(weights).Shapes();
  };
  EXPECT_EQ(op("6", "[0]"), "[6]");
  EXPECT_EQ(op("?", "[2,5]"), "[?]");
  EXPECT_THAT(op("-1", "[0]"), HasSubstr("'size' of Bincount"));
  EXPECT_THAT(op("6", "[10]"), HasSubstr("'weights' of Bincount"));
}

TEST(HistogramFixedWidthTest, HasAnElementABin) {
  const auto op = [](absl::string_view range, absl::string_view bins) {
    return ShapeTester("HistogramFixedWidth").Input("?").Input(range).Value(bins).Shapes();
  };
  EXPECT_EQ(op("[2]", "6"), "[6]");
  EXPECT_EQ(op("?", "?"), "[?]");
  EXPECT_THAT(op("[3]", "6"), HasSubstr("'value_range' of HistogramFixedWidth"));
  EXPECT_THAT(op("[2]", "0"), HasSubstr("'nbins' of HistogramFixedWidth"));
}

TEST(BitcastTest, TheLastDimensionHoldsTheParts) {
  const auto op = [](DataType from, DataType to, absl::string_view input) {
    return ShapeTester("Bitcast").Attr("T", from).Attr("type", to).Input(input).Shapes();
  };
  EXPECT_EQ(op(DataType::kFloat, DataType::kInt32, "[2,?]"), "[2,?]");
  EXPECT_EQ(op(DataType::kFloat, DataType::kUInt8, "[2]"), "[2,4]");
  EXPECT_EQ(op(DataType::kUInt8, DataType::kFloat, "[2,?]"), "[2]");
  EXPECT_THAT(op(DataType::kUInt8, DataType::kFloat, "[2,3]"), HasSubstr("'input' of Bitcast"));
  EXPECT_THAT(op(DataType::kUInt8, DataType::kFloat, "[]"), HasSubstr("'input' of Bitcast"));
}

TEST(EmptyTest, HasTheSizesAskedFor) {
  ShapeTester op("Empty");
  EXPECT_EQ(op.Attr("dtype", DataType::kFloat).Value("(2 ?)").Shapes(), "[2,?]");
}

TEST(InplaceUpdateTest, TakesARowForEachIndex) {
  const auto op = [](absl::string_view v) {
    return ShapeTester("InplaceUpdate").Input("[4,2]").Input("[3]").Input(v).Shapes();
  };
  EXPECT_EQ(op("[3,?]"), "[4,2]");
  EXPECT_THAT(op("[2,2]"), HasSubstr("'v' of InplaceUpdate"));
}

TEST(BroadcastArgsTest, GivesTheBroadcastAsFarAsKnown) {
  EXPECT_EQ(ShapeTester("BroadcastArgs").Value("(2 1)").Value("(3)").Values(), "(2 3)");
  EXPECT_EQ(ShapeTester("BroadcastArgs").Value("(? 4)").Value("(1 1)").Values(), "(? 4)");
  EXPECT_EQ(ShapeTester("BroadcastArgs").Input("[2]").Value("(3)").Shapes(), "[2]");
  EXPECT_THAT(ShapeTester("BroadcastArgs").Value("(2)").Value("(3)").Shapes(),
              HasSubstr("'s1' of BroadcastArgs"));
}

TEST(ConcatTest, TakesTheAxisFirst) {
  EXPECT_EQ(ShapeTester("Concat").Value("1").Input("[2,3]").Input("[2,1]").Shapes(), "[2,4]");
  EXPECT_EQ(ShapeTester("Concat")
                .Attr("T", DataType::kInt32)
                .Value("0")
                .Value("(1 2)")
                .Value("(?)")
                .Values(),
            "(1 2 ?)");
  EXPECT_THAT(ShapeTester("Concat").Value("1").Input("[2,3]").Input("[3,3]").Shapes(),
              HasSubstr("'values[1]' of Concat"));
}

TEST(ParallelConcatTest, HasTheShapeOfItsAttribute) {
  const auto op = [](const PartialShape& shape) {
    return ShapeTester("ParallelConcat")
        .Attr("shape", shape)
        .Input("[1,3]")
        .Input("[?,3]")
        .Shapes();
  };
  EXPECT_EQ(op(PartialShape({2, 3})), "[2,3]");
  EXPECT_THAT(op(PartialShape({2, -1})), HasSubstr("'shape' of ParallelConcat"));
  EXPECT_THAT(op(PartialShape({3, 3})), HasSubstr("'shape' of ParallelConcat"));
  EXPECT_THAT(op(PartialShape({2, 4})), HasSubstr("'values[0]' of ParallelConcat"));
}

TEST(AccumulateNV2Test, MergesShapesWithItsAttribute) {
  const auto op = [](const PartialShape& shape) {
    return ShapeTester("AccumulateNV2").Attr("shape", shape).Input("[?,3]").Input("?").Shapes();
  };
  EXPECT_EQ(op(PartialShape({2, -1})), "[2,3]");
  EXPECT_THAT(op(PartialShape({2, 4})), HasSubstr("of AccumulateNV2"));
}

}  // namespace
}  // namespace millstream
