#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(DiagTest, HasTheShapeTwice) {
  EXPECT_EQ(ShapeTester("Diag").Input("[2,?]").Shapes(), "[2,?,2,?]");
  EXPECT_EQ(ShapeTester("Diag").Input("?").Shapes(), "?");
  EXPECT_THAT(ShapeTester("Diag").Input("[]").Shapes(), HasSubstr("'diagonal' of Diag"));
}

TEST(DiagPartTest, HasHalfOfTheShape) {
  EXPECT_EQ(ShapeTester("DiagPart").Input("[2,?,?,3]").Shapes(), "[2,3]");
  EXPECT_THAT(ShapeTester("DiagPart").Input("[2,3]").Shapes(), HasSubstr("'input' of DiagPart"));
  EXPECT_THAT(ShapeTester("DiagPart").Input("[2,2,2]").Shapes(), HasSubstr("even rank"));
}

TEST(MatrixDiagTest, AndItsInversesFollowTheLastDimensions) {
  EXPECT_EQ(ShapeTester("MatrixDiag").Input("[?,3]").Shapes(), "[?,3,3]");
  EXPECT_EQ(ShapeTester("MatrixDiagPart").Input("[5,4,3]").Shapes(), "[5,3]");
  EXPECT_EQ(ShapeTester("MatrixDiagPart").Input("[5,?,3]").Shapes(), "[5,?]");
  EXPECT_EQ(ShapeTester("MatrixSetDiag").Input("[5,4,3]").Input("[?,3]").Shapes(), "[5,4,3]");
  EXPECT_EQ(ShapeTester("MatrixSetDiag").Input("?").Input("[5,3]").Shapes(), "[5,?,?]");
  EXPECT_EQ(ShapeTester("MatrixSetDiag").Input("[?,4,3]").Input("[5,?]").Shapes(), "[5,4,3]");
  EXPECT_THAT(ShapeTester("MatrixSetDiag").Input("[4,3]").Input("[4]").Shapes(),
              HasSubstr("'diagonal' of MatrixSetDiag"));
}

TEST(MatrixDiagV2Test, HasTheSizesAskedForOrTheSmallest) {
  const auto op = [](absl::string_view diagonal, absl::string_view k, absl::string_view rows,
                     absl::string_view columns) {
    return ShapeTester("MatrixDiagV2")
        .Input(diagonal)
        .Value(k)
        .Value(rows)
        .Value(columns)
        .Input("[]")
        .Shapes();
  };
  EXPECT_EQ(op("[2,3]", "0", "-1", "-1"), "[2,3,3]");
  EXPECT_EQ(op("[3]", "1", "-1", "-1"), "[4,4]");
  EXPECT_EQ(op("[2,3,4]", "(-1 1)", "4", "4"), "[2,4,4]");
  EXPECT_EQ(op("[2]", "0", "3", "-1"), "[3,2]");
  EXPECT_EQ(op("[?]", "0", "3", "-1"), "[3,?]");
  EXPECT_EQ(op("[2]", "?", "3", "2"), "?");
  EXPECT_THAT(op("[2]", "0", "1", "2"), HasSubstr("'num_rows' of MatrixDiagV2"));
  EXPECT_THAT(op("[2]", "0", "3", "3"), HasSubstr("longer than 2"));
  EXPECT_THAT(op("[2,3]", "(1 0)", "-1", "-1"), HasSubstr("'k' of MatrixDiagV2"));
  EXPECT_THAT(op("[2,3]", "(0 2)", "-1", "-1"), HasSubstr("'diagonal' of MatrixDiagV2"));
}

TEST(MatrixDiagPartV2Test, HasARowADiagonal) {
  const auto op = [](absl::string_view input, absl::string_view k) {
    return ShapeTester("MatrixDiagPartV2").Input(input).Value(k).Input("[]").Shapes();
  };
  EXPECT_EQ(op("[2,3,4]", "0"), "[2,3]");
  EXPECT_EQ(op("[3,4]", "(-1 1)"), "[3,3]");
  EXPECT_EQ(op("[4,3]", "-2"), "[2]");
  EXPECT_EQ(op("[?,3]", "(0 1)"), "[2,?]");
  EXPECT_EQ(op("[4,3]", "?"), "?");
  EXPECT_THAT(op("[3,3]", "3"), HasSubstr("'k' of MatrixDiagPartV2"));
}

TEST(MatrixSetDiagV2Test, KeepsTheShapeOfTheMatrices) {
  const auto op = [](absl::string_view diagonal, absl::string_view k) {
    return ShapeTester("MatrixSetDiagV2").Input("[2,3,4]").Input(diagonal).Value(k).Shapes();
  };
  EXPECT_EQ(op("[2,3]", "1"), "[2,3,4]");
  EXPECT_EQ(op("[2,3,3]", "(-1 1)"), "[2,3,4]");
  EXPECT_THAT(op("[2,2]", "1"), HasSubstr("'diagonal' of MatrixSetDiagV2"));
}

TEST(MatrixBandPartTest, KeepsTheShapeOfTheMatrices) {
  const auto op = [](absl::string_view lower, absl::string_view upper) {
    return ShapeTester("MatrixBandPart").Input("[2,?]").Value(lower).Value(upper).Shapes();
  };
  EXPECT_EQ(op("-1", "7"), "[2,?]");
  EXPECT_THAT(op("3", "0"), HasSubstr("'num_lower' of MatrixBandPart"));
}

}  // namespace
}  // namespace millstream
