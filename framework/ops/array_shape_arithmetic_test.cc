#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

ShapeTester GradientArgs(absl::string_view s0, absl::string_view s1) {
  return ShapeTester("BroadcastGradientArgs").Value(s0).Value(s1);
}

TEST(BroadcastGradientArgsTest, ListsTheRepeatedDimensions) {
  EXPECT_EQ(GradientArgs("(2 1 3)", "(4 1)").Values(), "(1) (0 2)");
  EXPECT_EQ(GradientArgs("(1 1)", "(3 1)").Values(), "(0 1) (1)");
  EXPECT_EQ(GradientArgs("(0 3)", "(1 3)").Values(), "() (0)");
  EXPECT_EQ(GradientArgs("()", "(1)").Values(), "(0) (0)");
}

TEST(BroadcastGradientArgsTest, EqualShapesReduceNothing) {
  EXPECT_EQ(GradientArgs("(2 1)", "(2 1)").Values(), "() ()");
  EXPECT_EQ(GradientArgs("(2 1)", "(2 1)").Shapes(), "[0] [0]");
}

TEST(BroadcastGradientArgsTest, SaysVectorsWhenSizesAreUnknown) {
  EXPECT_EQ(GradientArgs("(2 ?)", "(2 3)").Shapes(), "[?] [?]");
  EXPECT_EQ(GradientArgs("(2 ?)", "(2 3)").Values(), "- -");
}

TEST(BroadcastGradientArgsTest, RefusesShapesThatDoNotBroadcast) {
  EXPECT_THAT(GradientArgs("(2 3)", "(2 2)").Shapes(),
              HasSubstr("'s1' of BroadcastGradientArgs: shapes do not broadcast"));
}

TEST(ConcatOffsetTest, AddsUpTheSizesAlongTheAxis) {
  ShapeTester op("ConcatOffset");
  op.Value("1").Value("(2 3)").Value("(2 ?)").Value("(2 4)");
  EXPECT_EQ(op.Shapes(), "[2] [2] [2]");
  EXPECT_EQ(op.Values(), "(0 0) (0 3) (0 ?)");
}

TEST(ConcatOffsetTest, RefusesShapesThatDoNotGoTogether) {
  EXPECT_THAT(ShapeTester("ConcatOffset").Value("1").Value("(2 3)").Value("(3 1)").Shapes(),
              HasSubstr("'shape[1]' of ConcatOffset: size 0 must be 2"));
  EXPECT_THAT(ShapeTester("ConcatOffset").Value("1").Value("(2 3)").Value("(2)").Shapes(),
              HasSubstr("'shape[1]' of ConcatOffset"));
  EXPECT_THAT(ShapeTester("ConcatOffset").Value("2").Value("(2 3)").Value("(2 3)").Shapes(),
              HasSubstr("'concat_dim' of ConcatOffset"));
}

}  // namespace
}  // namespace millstream
