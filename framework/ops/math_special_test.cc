#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(BetaincTest, TakesScalarsAndOneShape) {
  EXPECT_EQ(ShapeTester("Betainc").Input("[]").Input("[2,?]").Input("[?,3]").Shapes(), "[2,3]");
  EXPECT_EQ(ShapeTester("Betainc").Input("[]").Input("[]").Input("[]").Shapes(), "[]");
  EXPECT_EQ(ShapeTester("Betainc").Input("[]").Input("?").Input("[]").Shapes(), "?");
  EXPECT_THAT(ShapeTester("Betainc").Input("[]").Input("[2]").Input("[3]").Shapes(),
              HasSubstr("'x' of Betainc"));
}

}  // namespace
}  // namespace millstream
