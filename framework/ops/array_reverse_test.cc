#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

std::string SequenceShapes(int64_t seq_dim, int64_t batch_dim, const char* input,
                           const char* lengths) {
  return ShapeTester("ReverseSequence")
      .Attr("seq_dim", seq_dim)
      .Attr("batch_dim", batch_dim)
      .Input(input)
      .Input(lengths)
      .Shapes();
}

TEST(ReverseTest, KeepsTheShape) {
  EXPECT_EQ(ShapeTester("Reverse").Input("[2,?]").Input("[2]").Shapes(), "[2,?]");
  EXPECT_EQ(ShapeTester("Reverse").Input("?").Input("[2]").Shapes(), "[?,?]");
  EXPECT_EQ(ShapeTester("Reverse").Input("?").Input("?").Shapes(), "?");
  EXPECT_EQ(ShapeTester("ReverseV2").Input("[2,?]").Value("(1 ?)").Shapes(), "[2,?]");
  EXPECT_EQ(ShapeTester("ReverseV2").Input("?").Value("(7)").Shapes(), "?");
}

TEST(ReverseTest, RefusesDimensionsThatAreNotThere) {
  EXPECT_THAT(ShapeTester("Reverse").Input("[2,3]").Input("[1]").Shapes(),
              HasSubstr("'dims' of Reverse: expected 2 entries"));
  EXPECT_THAT(ShapeTester("ReverseV2").Input("[2,3]").Value("(2)").Shapes(),
              HasSubstr("'axis' of ReverseV2"));
  EXPECT_THAT(ShapeTester("ReverseV2").Input("[2,3]").Value("(0 -2)").Shapes(),
              HasSubstr("'axis' of ReverseV2: axis 0 specified more than once"));
  EXPECT_THAT(ShapeTester("ReverseV2").Input("[2,3]").Value("1").Shapes(), HasSubstr("rank 1"));
}

TEST(ReverseSequenceTest, KeepsTheShapeAndLearnsTheBatch) {
  EXPECT_EQ(SequenceShapes(1, 0, "[2,3,?]", "[2]"), "[2,3,?]");
  EXPECT_EQ(SequenceShapes(0, 1, "[3,?]", "[2]"), "[3,2]");
  EXPECT_EQ(SequenceShapes(0, 1, "?", "[2]"), "?");
}

TEST(ReverseSequenceTest, RefusesDimensionsThatAreNotThere) {
  EXPECT_THAT(SequenceShapes(2, 0, "[2,3]", "[2]"), HasSubstr("'seq_dim' of ReverseSequence"));
  EXPECT_THAT(SequenceShapes(1, -1, "[2,3]", "[2]"), HasSubstr("'batch_dim' of ReverseSequence"));
  EXPECT_THAT(SequenceShapes(1, 1, "[2,3]", "[3]"), HasSubstr("batch_dim == seq_dim == 1"));
  EXPECT_THAT(SequenceShapes(1, 0, "[2,3]", "[1]"), HasSubstr("'seq_lengths' of ReverseSequence"));
}

}  // namespace
}  // namespace millstream
