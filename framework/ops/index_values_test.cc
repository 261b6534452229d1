#include "framework/ops/index_values.h"

#include "framework/ops/shape_tester.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

TEST(IndexValuesTest, ShapeArithmeticIsFollowedAcrossOps) {
  // zeros(stack([4, n])) has the shape [4, ?].
  const auto packed =
      ShapeTester("Pack").Attr("T", DataType::kInt32).Value("4").Input("[]").Values();
  EXPECT_EQ(packed, "(4 ?)");
  EXPECT_EQ(ShapeTester("Fill").Value(packed).Input("[]").Shapes(), "[4,?]");
}

TEST(IndexValuesTest, AConstantIsFollowedLikeAValue) {
  EXPECT_EQ(ShapeTester("Fill").Constant(Tensor::Vector<int32_t>({2, 3})).Input("[]").Shapes(),
            "[2,3]");
}

TEST(IndexValuesTest, LongValuesAreNotFollowed) {
  ShapeTester op("Fill");
  op.Attr("T", DataType::kInt32).Value("(1025)").Value("7");
  EXPECT_EQ(op.Values(), "-");
  ShapeTester shorter("Fill");
  shorter.Attr("T", DataType::kInt32).Value("(1024)").Value("7");
  EXPECT_NE(shorter.Values(), "-");
}

TEST(IndexValuesTest, OtherTypesAreNotFollowed) {
  ShapeTester op("Identity");
  op.Attr("T", DataType::kUInt8).Constant(Tensor::Scalar<uint8_t>(3));
  EXPECT_EQ(op.Values(), "-");
}

}  // namespace
}  // namespace millstream
