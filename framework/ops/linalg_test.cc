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

}  // namespace
}  // namespace millstream
