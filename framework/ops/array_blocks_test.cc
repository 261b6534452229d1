#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(SpaceToBatchTest, FollowsTheBlocksAsFarAsTheyAreKnown) {
  EXPECT_EQ(ShapeTester("SpaceToBatchND").Input("[2,4,?,3]").Input("[2]").Input("[2,2]").Shapes(),
            "[?,?,?,3]");
  EXPECT_EQ(ShapeTester("SpaceToBatchND").Input("[2,4,6]").Value("(2)").Input("[1,2]").Shapes(),
            "[4,?,6]");
  EXPECT_EQ(ShapeTester("SpaceToBatchND").Input("?").Value("(2)").Input("[1,2]").Shapes(), "?");
  EXPECT_EQ(ShapeTester("SpaceToBatchND").Input("[2,4]").Input("?").Input("?").Shapes(), "?");
  // Blocks of an attribute are those of images.
  for (const char* op : {"SpaceToBatch", "BatchToSpace"}) {
    EXPECT_EQ(ShapeTester(op).Input("?").Input("[2,2]").Attr("block_size", 2).Shapes(), "[?,?,?,?]")
        << op;
  }
}

TEST(BatchToSpaceTest, FollowsTheBlocksAsFarAsTheyAreKnown) {
  EXPECT_EQ(ShapeTester("BatchToSpaceND").Input("[6,4,5]").Value("(3)").Input("[1,2]").Shapes(),
            "[2,?,5]");
  EXPECT_EQ(ShapeTester("BatchToSpaceND").Input("[?,4]").Value("(3)").Input("?").Shapes(), "[?,?]");
  EXPECT_THAT(ShapeTester("BatchToSpaceND").Input("[7,4]").Value("(3)").Input("[1,2]").Shapes(),
              HasSubstr("must be evenly divisible by 3 but is 7"));
}

TEST(SpaceToBatchTest, RefusesWhatIsNoBlock) {
  EXPECT_THAT(ShapeTester("SpaceToBatchND").Input("[2,4]").Value("(0)").Input("[1,2]").Shapes(),
              HasSubstr("'block_shape' of SpaceToBatchND: block sizes must be above 0"));
  EXPECT_THAT(ShapeTester("SpaceToBatchND").Input("[2,4]").Value("(2)").Input("[2,2]").Shapes(),
              HasSubstr("'paddings' of SpaceToBatchND: expected shape [1,2]"));
  EXPECT_THAT(ShapeTester("SpaceToBatchND").Input("[2]").Value("(2)").Input("[1,2]").Shapes(),
              HasSubstr("'input' of SpaceToBatchND"));
}

TEST(SpaceToDepthTest, MovesSizes) {
  EXPECT_EQ(ShapeTester("SpaceToDepth").Input("[?,4,6,3]").Attr("block_size", 2).Shapes(),
            "[?,2,3,12]");
  EXPECT_EQ(ShapeTester("DepthToSpace").Input("[1,?,3,12]").Attr("block_size", 2).Shapes(),
            "[1,?,6,3]");
  EXPECT_THAT(ShapeTester("SpaceToDepth").Input("[1,3,4,1]").Attr("block_size", 2).Shapes(),
              HasSubstr("Dimension size must be evenly divisible by 2 but is 3"));
  EXPECT_THAT(ShapeTester("DepthToSpace").Input("[1,3,4,6]").Attr("block_size", 2).Shapes(),
              HasSubstr("'input' of DepthToSpace"));
}

}  // namespace
}  // namespace millstream
