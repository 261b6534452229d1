#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(MatrixInverseTest, HasTheShapeOfItsInput) {
  EXPECT_EQ(ShapeTester("MatrixInverse").Input("[2,3,3]").Shapes(), "[2,3,3]");
  EXPECT_EQ(ShapeTester("MatrixInverse").Input("[?,?,3]").Shapes(), "[?,3,3]");
  EXPECT_EQ(ShapeTester("MatrixInverse").Input("?").Shapes(), "?");
}

TEST(MatrixDeterminantTest, HasANumberForEachMatrix) {
  EXPECT_EQ(ShapeTester("MatrixDeterminant").Input("[3,3]").Shapes(), "[]");
  EXPECT_EQ(ShapeTester("MatrixDeterminant").Input("[2,?,?,3]").Shapes(), "[2,?]");
  EXPECT_EQ(ShapeTester("LogMatrixDeterminant").Input("[2,3,3]").Shapes(), "[2] [2]");
  EXPECT_EQ(ShapeTester("LogMatrixDeterminant").Input("?").Shapes(), "? ?");
}

TEST(MatrixFunctionsTest, RefuseWhatIsNotSquare) {
  for (const char* op : {"MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant"}) {
    EXPECT_THAT(ShapeTester(op).Input("[2,3]").Shapes(),
                HasSubstr("Dimensions must be equal, but are 2 and 3: expected square matrices"));
    EXPECT_THAT(ShapeTester(op).Input("[3]").Shapes(), HasSubstr("'input'"));
  }
}

TEST(FactorsTest, HaveTheSmallerDimensionUnlessFull) {
  EXPECT_EQ(ShapeTester("Qr").Input("[2,4,3]").Shapes(), "[2,4,3] [2,3,3]");
  EXPECT_EQ(ShapeTester("Qr").Input("[3,4]").Shapes(), "[3,3] [3,4]");
  EXPECT_EQ(ShapeTester("Qr").Input("[4,3]").Attr("full_matrices", true).Shapes(), "[4,4] [4,3]");
  EXPECT_EQ(ShapeTester("Qr").Input("[?,3]").Shapes(), "[?,?] [?,3]");
  EXPECT_EQ(ShapeTester("Qr").Input("[0,?]").Shapes(), "[0,0] [0,?]");
  EXPECT_EQ(ShapeTester("Qr").Input("?").Shapes(), "? ?");
  EXPECT_EQ(ShapeTester("Svd").Input("[2,4,3]").Shapes(), "[2,3] [2,4,3] [2,3,3]");
  EXPECT_EQ(ShapeTester("Svd").Input("[3,4]").Attr("full_matrices", true).Shapes(),
            "[3] [3,3] [4,4]");
  EXPECT_EQ(ShapeTester("Svd").Input("[3,4]").Attr("compute_uv", false).Shapes(), "[3] [0] [0]");
  EXPECT_THAT(ShapeTester("Svd").Input("[3]").Shapes(), HasSubstr("'input'"));
}

TEST(EigenvaluesTest, HaveOneForEachRow) {
  EXPECT_EQ(ShapeTester("SelfAdjointEigV2").Input("[2,?,3]").Shapes(), "[2,3] [2,3,3]");
  EXPECT_EQ(ShapeTester("SelfAdjointEigV2").Input("[3,3]").Attr("compute_v", false).Shapes(),
            "[3] [0]");
  EXPECT_EQ(ShapeTester("SelfAdjointEig").Input("[3,3]").Shapes(), "[4,3]");
  EXPECT_EQ(ShapeTester("SelfAdjointEig").Input("[?,?]").Shapes(), "[?,?]");
  EXPECT_THAT(ShapeTester("SelfAdjointEigV2").Input("[2,3]").Shapes(),
              HasSubstr("expected square matrices"));
}

TEST(LeastSquaresTest, HasARowForEachColumn) {
  EXPECT_EQ(ShapeTester("MatrixSolveLs").Input("[2,4,3]").Input("[2,4,5]").Input("[]").Shapes(),
            "[2,3,5]");
  EXPECT_EQ(ShapeTester("MatrixSolveLs").Input("[?,3]").Input("?").Input("[]").Shapes(), "[3,?]");
  EXPECT_EQ(ShapeTester("MatrixSolveLs").Input("?").Input("[4,5]").Input("[]").Shapes(), "[?,5]");
  EXPECT_EQ(ShapeTester("MatrixSolveLs").Input("?").Input("?").Input("[]").Shapes(), "?");
  EXPECT_THAT(ShapeTester("MatrixSolveLs").Input("[4,3]").Input("[5,1]").Input("[]").Shapes(),
              HasSubstr("'rhs'"));
  EXPECT_THAT(ShapeTester("MatrixSolveLs").Input("[4,3]").Input("[4,1]").Input("[1]").Shapes(),
              HasSubstr("'l2_regularizer'"));
}

}  // namespace
}  // namespace millstream
