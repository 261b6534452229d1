#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(SwitchTest, BothOutputsHaveTheShapeOfTheData) {
  EXPECT_EQ(ShapeTester("Switch").Input("[2,?]").Input("[]").Shapes(), "[2,?] [2,?]");
  EXPECT_EQ(ShapeTester("Switch").Input("?").Input("?").Shapes(), "? ?");
}

TEST(SwitchTest, RefusesAPredThatIsNoScalar) {
  EXPECT_THAT(ShapeTester("Switch").Input("[2]").Input("[1]").Shapes(),
              HasSubstr("'pred' of Switch"));
}

TEST(SwitchTest, PassesHandlesOn) {
  const auto outputs = ShapeTester("Switch")
                           .Attr("T", DataType::kResource)
                           .Handle(DataType::kFloat, "[3]")
                           .Input("[]")
                           .Infer();
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (const OutputFacts& output : *outputs) {
    ASSERT_TRUE(output.handle.has_value());
    EXPECT_EQ(output.handle->shape, PartialShape({3}));
  }
}

TEST(MergeTest, KnowsWhatAllInputsHaveInCommon) {
  EXPECT_EQ(ShapeTester("Merge").Input("[2,3]").Input("[2,3]").Shapes(), "[2,3] []");
  EXPECT_EQ(ShapeTester("Merge").Input("[2,3]").Input("[4,3]").Shapes(), "[?,3] []");
  EXPECT_EQ(ShapeTester("Merge").Input("[2,3]").Input("[2,?]").Shapes(), "[2,?] []");
  EXPECT_EQ(ShapeTester("Merge").Input("[2,3]").Input("[2]").Shapes(), "? []");
  EXPECT_EQ(ShapeTester("Merge").Input("[2,3]").Input("?").Shapes(), "? []");
  EXPECT_EQ(ShapeTester("Merge").Input("[]").Shapes(), "[] []");
}

TEST(MergeTest, KeepsAHandleThatAllInputsAgreeOn) {
  const auto handle_of = [](absl::string_view second) {
    const auto outputs = ShapeTester("Merge")
                             .Attr("T", DataType::kResource)
                             .Handle(DataType::kFloat, "[3]")
                             .Handle(DataType::kFloat, second)
                             .Infer();
    return outputs.ok() && (*outputs)[0].handle.has_value();
  };
  EXPECT_TRUE(handle_of("[3]"));
  EXPECT_FALSE(handle_of("[4]"));
}

TEST(EnterTest, OnlyAConstantKeepsItsShape) {
  EXPECT_EQ(ShapeTester("Enter").Input("[2]").Attr("frame_name", std::string("f")).Shapes(), "?");
  EXPECT_EQ(ShapeTester("Enter")
                .Input("[2]")
                .Attr("frame_name", std::string("f"))
                .Attr("is_constant", true)
                .Shapes(),
            "[2]");
}

TEST(LoopTest, WhatLeavesAnIterationKeepsItsShape) {
  EXPECT_EQ(ShapeTester("Exit").Input("[2,?]").Shapes(), "[2,?]");
  EXPECT_EQ(ShapeTester("NextIteration").Input("[2,?]").Shapes(), "[2,?]");
}

TEST(LoopTest, LoopCondTakesAScalar) {
  EXPECT_EQ(ShapeTester("LoopCond").Input("?").Shapes(), "[]");
  EXPECT_THAT(ShapeTester("LoopCond").Input("[2]").Shapes(), HasSubstr("'input' of LoopCond"));
}

}  // namespace
}  // namespace millstream
