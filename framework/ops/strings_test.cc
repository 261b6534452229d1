#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

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
