#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

std::string SetSizes(const char* indices, const char* values, const char* shape) {
  ShapeTester tester("SetSize");
  tester.Input(indices).Input(values);
  if (shape[0] == '(') {
    tester.Value(shape);
  } else {
    tester.Input(shape);
  }
  return tester.Shapes();
}

TEST(SparseInputsTest, AConstantShapeIsKnown) {
  EXPECT_EQ(SetSizes("[5,3]", "[5]", "(2 4 6)"), "[2,4]");
  EXPECT_EQ(SetSizes("[?,?]", "[?]", "(2 6)"), "[2]");
  EXPECT_EQ(SetSizes("[5,3]", "[5]", "[3]"), "?");
}

TEST(SparseInputsTest, PartsMustFit) {
  EXPECT_THAT(SetSizes("[5,3]", "[4]", "[3]"), HasSubstr("'set_values' of SetSize"));
  EXPECT_THAT(SetSizes("[5,3]", "[5]", "[2]"), HasSubstr("'set_shape' of SetSize"));
  EXPECT_THAT(SetSizes("[5]", "[5]", "[1]"), HasSubstr("set_indices"));
  EXPECT_THAT(SetSizes("[5,1]", "[5]", "[1]"), HasSubstr("at least 2"));
}

TEST(SparseInputsTest, EitherPartTellsHowManyElementsThereAre) {
  EXPECT_EQ(ShapeTester("SparseDenseCwiseAdd")
                .Input("[4,2]")
                .Input("[?]")
                .Input("[2]")
                .Input("?")
                .Shapes(),
            "[4]");
  EXPECT_EQ(ShapeTester("SparseFillEmptyRows")
                .Input("[?,2]")
                .Input("[4]")
                .Input("[2]")
                .Input("[]")
                .Shapes(),
            "[?,2] [?] [?] [4]");
}

std::string Union(const char* a, const char* b) {
  return ShapeTester("DenseToDenseSetOperation")
      .Attr("set_operation", std::string("union"))
      .Input(a)
      .Input(b)
      .Shapes();
}

TEST(SetOperationTest, GivesASparseTensorOfTheSameRank) {
  EXPECT_EQ(Union("[2,3]", "[2,5]"), "[?,2] [?] [2]");
  EXPECT_EQ(Union("?", "[2,5]"), "[?,2] [?] [2]");
  EXPECT_THAT(Union("[2,3]", "[3,5]"), HasSubstr("'set2' of DenseToDenseSetOperation"));
}

}  // namespace
}  // namespace millstream
