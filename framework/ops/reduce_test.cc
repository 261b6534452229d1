#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(CumulativeTest, KeepsTheShapeAndChecksTheAxis) {
  for (const char* op : {"Cumsum", "Cumprod"}) {
    EXPECT_EQ(ShapeTester(op).Input("[?,3]").Value("-2").Shapes(), "[?,3]") << op;
    EXPECT_EQ(ShapeTester(op).Input("?").Input("[]").Shapes(), "?") << op;
    for (const char* axis : {"2", "-3", "(0)"}) {
      EXPECT_THAT(ShapeTester(op).Input("[2,3]").Value(axis).Shapes(), HasSubstr("'axis' of "))
          << op << " " << axis;
    }
  }
}

class ReductionTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::string Reduced(absl::string_view input, absl::string_view axes, bool keep_dims = false) {
    return ShapeTester(GetParam()).Attr("keep_dims", keep_dims).Input(input).Value(axes).Shapes();
  }
};

TEST_P(ReductionTest, DropsOrKeepsTheDimensions) {
  EXPECT_EQ(Reduced("[?,8,3]", "(0)"), "[8,3]");
  EXPECT_EQ(Reduced("[?,8,3]", "-1"), "[?,8]");
  EXPECT_EQ(Reduced("[?,8,3]", "(0 2)", true), "[1,8,1]");
  EXPECT_EQ(Reduced("[?,8,3]", "()"), "[?,8,3]");
}

TEST_P(ReductionTest, UnknownAxesLeaveTheRankOpenUnlessItIsKept) {
  EXPECT_EQ(Reduced("[3,4]", "(?)"), "?");
  EXPECT_EQ(Reduced("[3,4]", "(?)", true), "[?,?]");
  EXPECT_EQ(Reduced("?", "(0)"), "?");
}

TEST_P(ReductionTest, RefusesBadAxes) {
  EXPECT_THAT(Reduced("[2,3]", "2"), HasSubstr("'reduction_indices' of "));
  EXPECT_THAT(Reduced("[2,3]", "(-3)"), HasSubstr("'reduction_indices' of "));
  EXPECT_THAT(Reduced("[2,3]", "(0 -2)"), HasSubstr("dimension 0 twice"));
  EXPECT_THAT(ShapeTester(GetParam()).Input("[2]").Input("[1,1]").Shapes(),
              HasSubstr("at most rank 1"));
}

INSTANTIATE_TEST_SUITE_P(AllOps, ReductionTest,
                         ::testing::Values("Sum", "Mean", "Prod", "Max", "Min", "All", "Any"));

TEST(ProdTest, TheProductOfAShapeIsKnown) {
  const auto op = [](absl::string_view values) {
    return ShapeTester("Prod").Attr("T", DataType::kInt32).Value(values).Value("(0)").Values();
  };
  EXPECT_EQ(op("(2 3 4)"), "24");
  EXPECT_EQ(op("()"), "1");
  EXPECT_EQ(op("(2 ?)"), "-");
}

std::string ArgMax(absl::string_view input, absl::string_view axis) {
  return ShapeTester("ArgMax").Input(input).Value(axis).Shapes();
}

TEST(ArgMaxTest, DropsTheDimension) {
  EXPECT_EQ(ArgMax("[?,8,3]", "1"), "[?,3]");
  EXPECT_EQ(ArgMax("[?,8,3]", "?"), "[?,?]");
  EXPECT_EQ(ArgMax("?", "0"), "?");
}

TEST(ArgMaxTest, RefusesAnAxisOutside) {
  EXPECT_THAT(ArgMax("[3]", "1"), HasSubstr("'dimension' of ArgMax"));
  EXPECT_EQ(ArgMax("[2,0]", "1"), "[2]");  // the kernel refuses the empty dimension
  EXPECT_EQ(ArgMax("[2,0]", "0"), "[0]");
  EXPECT_THAT(ShapeTester("ArgMin").Input("[3]").Value("-2").Shapes(),
              HasSubstr("'dimension' of ArgMin"));
}

}  // namespace
}  // namespace millstream
