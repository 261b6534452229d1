#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

ShapeTester TopK(absl::string_view input, absl::string_view k) {
  return ShapeTester("TopKV2").Input(input).Value(k);
}

TEST(TopKTest, TheCountReplacesTheLastDimension) {
  EXPECT_EQ(TopK("[2,?,5]", "3").Shapes(), "[2,?,3] [2,?,3]");
  EXPECT_EQ(TopK("[2,?]", "?").Shapes(), "[2,?] [2,?]");
  EXPECT_EQ(TopK("?", "3").Shapes(), "? ?");
  EXPECT_EQ(ShapeTester("TopK").Input("[2,5]").Attr("k", int64_t{4}).Shapes(), "[2,4] [2,4]");
}

TEST(TopKTest, RefusesWhatIsTooMany) {
  EXPECT_THAT(TopK("[2,5]", "6").Shapes(),
              HasSubstr("input must have last dimension >= k = 6 but is 5"));
  EXPECT_THAT(TopK("[2,5]", "-1").Shapes(), HasSubstr("Need k >= 0, got -1"));
  EXPECT_THAT(TopK("[]", "1").Shapes(), HasSubstr("'input' of TopKV2"));
  EXPECT_THAT(ShapeTester("TopKV2").Input("[5]").Input("[1]").Shapes(), HasSubstr("'k' of TopKV2"));
}

TEST(NthElementTest, TheLastDimensionGoes) {
  const auto shapes = [](absl::string_view input, absl::string_view n) {
    return ShapeTester("NthElement").Input(input).Value(n).Shapes();
  };
  EXPECT_EQ(shapes("[2,?,5]", "4"), "[2,?]");
  EXPECT_EQ(shapes("[?]", "4"), "[]");
  EXPECT_EQ(shapes("?", "?"), "?");
  EXPECT_THAT(shapes("[2,5]", "5"), HasSubstr("Input must have last dimension > n = 5 but is 5"));
  EXPECT_THAT(shapes("[2,5]", "-1"), HasSubstr("Need n >= 0, got -1"));
}

TEST(InTopKTest, OneAnswerForEachRow) {
  const auto shapes = [](absl::string_view predictions, absl::string_view targets) {
    return ShapeTester("InTopKV2").Input(predictions).Input(targets).Value("3").Shapes();
  };
  EXPECT_EQ(shapes("[?,5]", "[7]"), "[7]");
  EXPECT_EQ(shapes("?", "?"), "[?]");
  EXPECT_THAT(shapes("[2,5]", "[3]"), HasSubstr("'targets' of InTopKV2"));
  EXPECT_THAT(shapes("[2,5,1]", "[2]"), HasSubstr("'predictions' of InTopKV2"));
  EXPECT_THAT(ShapeTester("InTopKV2").Input("[2,5]").Input("[2]").Input("[1]").Shapes(),
              HasSubstr("'k' of InTopKV2"));
}

}  // namespace
}  // namespace millstream
