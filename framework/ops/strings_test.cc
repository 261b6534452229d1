#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(SubstrTest, BroadcastsBoundsOfOneShape) {
  const auto op = [](absl::string_view input, absl::string_view pos, absl::string_view len) {
    return ShapeTester("Substr").Input(input).Input(pos).Input(len).Shapes();
  };
  EXPECT_EQ(op("[2,2]", "[2]", "[2]"), "[2,2]");
  EXPECT_EQ(op("[3]", "[]", "[]"), "[3]");
  EXPECT_THAT(op("[3]", "[2]", "[3]"), HasSubstr("'len' of Substr"));
  EXPECT_THAT(op("[3]", "[2]", "[2]"), HasSubstr("'pos' of Substr"));
}

TEST(StringSplitTest, GivesASparseMatrix) {
  EXPECT_EQ(ShapeTester("StringSplit").Input("[3]").Input("[]").Shapes(), "[?,2] [?] [2]");
  EXPECT_THAT(ShapeTester("StringSplitV2").Input("[1,1]").Input("[]").Shapes(),
              HasSubstr("'input' of StringSplitV2"));
}

TEST(DecodeRawTest, HasOneMoreDimension) {
  EXPECT_EQ(ShapeTester("DecodeRaw").Input("[2]").Shapes(), "[2,?]");
  EXPECT_EQ(ShapeTester("DecodeRaw").Input("?").Shapes(), "?");
}

TEST(ReduceJoinTest, DropsOrKeepsDimensions) {
  const auto op = [](absl::string_view axes, bool keep_dims) {
    return ShapeTester("ReduceJoin")
        .Attr("keep_dims", keep_dims)
        .Input("[2,3,?]")
        .Value(axes)
        .Shapes();
  };
  EXPECT_EQ(op("(-1 0)", false), "[3]");
  EXPECT_EQ(op("1", true), "[2,1,?]");
  EXPECT_EQ(op("(?)", false), "?");
  EXPECT_THAT(op("3", false), HasSubstr("OUT_OF_RANGE"));
  EXPECT_THAT(op("(0 -3)", false), HasSubstr("'reduction_indices' of ReduceJoin"));
}

TEST(StringJoinTest, HasTheShapeOfWhatIsNoScalar) {
  EXPECT_EQ(ShapeTester("StringJoin").Input("[]").Input("[2,?]").Input("[?,3]").Shapes(), "[2,3]");
  EXPECT_EQ(ShapeTester("StringJoin").Input("[]").Input("[]").Shapes(), "[]");
  EXPECT_EQ(ShapeTester("StringJoin").Input("[]").Input("?").Shapes(), "?");
  EXPECT_EQ(ShapeTester("StringJoin").Input("?").Input("[2]").Shapes(), "[2]");
  EXPECT_THAT(ShapeTester("StringJoin").Input("[2]").Input("[3]").Shapes(),
              HasSubstr("'inputs[1]' of StringJoin"));
}

}  // namespace
}  // namespace millstream
