#include <utility>
#include <vector>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

ShapeTester Const(Tensor value) {
  const DataType dtype = value.dtype();
  return ShapeTester("Const").Attr("value", std::move(value)).Attr("dtype", dtype);
}

TEST(ConstTest, HasTheShapeOfItsValue) {
  EXPECT_EQ(Const(Tensor::Of<float>({2, 2}, {1, 2, 3, 4})).Shapes(), "[2,2]");
}

TEST(ConstTest, ValuesOfSmallIndexTensorsAreKnown) {
  EXPECT_EQ(Const(Tensor::Vector<int32_t>({2, -1})).Values(), "(2 -1)");
  EXPECT_EQ(Const(Tensor::Scalar<int64_t>(7)).Values(), "7");
  EXPECT_EQ(Const(Tensor::Scalar<float>(7)).Values(), "-");
  EXPECT_EQ(Const(Tensor::Of<int32_t>({1, 1}, {7})).Values(), "-");
}

TEST(ConstTest, RefusesAValueOfAnotherType) {
  EXPECT_THAT(ShapeTester("Const")
                  .Attr("value", Tensor::Scalar<float>(1))
                  .Attr("dtype", DataType::kInt32)
                  .Shapes(),
              HasSubstr("'value' of Const: expected a tensor of int32"));
}

TEST(PlaceholderTest, HasTheShapeOfItsAttribute) {
  EXPECT_EQ(ShapeTester("Placeholder").Shapes(), "?");
  EXPECT_EQ(ShapeTester("Placeholder").Attr("shape", PartialShape({2, -1})).Shapes(), "[2,?]");
}

TEST(PlaceholderWithDefaultTest, HasTheDeclaredShapeBecauseOthersMayBeFed) {
  ShapeTester op("PlaceholderWithDefault");
  EXPECT_EQ(op.Attr("shape", PartialShape({-1, 3})).Input("[2,3]").Shapes(), "[?,3]");
}

TEST(PlaceholderWithDefaultTest, RefusesADefaultOfAnotherShape) {
  ShapeTester op("PlaceholderWithDefault");
  EXPECT_THAT(op.Attr("shape", PartialShape({-1, 3})).Input("[2,4]").Shapes(),
              HasSubstr("'input' of PlaceholderWithDefault"));
}

TEST(IdentityTest, PassesShapesValuesAndHandlesOn) {
  EXPECT_EQ(ShapeTester("Identity").Input("[2,?]").Shapes(), "[2,?]");
  EXPECT_EQ(ShapeTester("Identity").Attr("T", DataType::kInt32).Value("(1 ?)").Values(), "(1 ?)");
  const auto outputs = ShapeTester("Identity")
                           .Attr("T", DataType::kResource)
                           .Handle(DataType::kDouble, "[3]")
                           .Infer();
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_TRUE((*outputs)[0].handle.has_value());
  EXPECT_EQ((*outputs)[0].handle->dtype, DataType::kDouble);
  EXPECT_EQ((*outputs)[0].handle->shape, PartialShape({3}));
}

TEST(IdentityNTest, PassesEachTensorOn) {
  const std::vector<DataType> types = {DataType::kFloat, DataType::kInt64};
  ShapeTester op("IdentityN");
  op.Attr("T", types).Input("[2]").Value("5");
  EXPECT_EQ(op.Shapes(), "[2] []");
  EXPECT_EQ(op.Values(), "- 5");
}

TEST(StopGradientTest, IsAnIdentityToShapes) {
  EXPECT_EQ(ShapeTester("StopGradient").Input("?").Shapes(), "?");
  EXPECT_EQ(ShapeTester("PreventGradient").Input("[1,?]").Shapes(), "[1,?]");
}

TEST(SnapshotTest, AndItsLikePassOnShapes) {
  for (const char* op : {"Snapshot", "GuaranteeConst", "DeepCopy", "Copy", "CopyHost"}) {
    EXPECT_EQ(ShapeTester(op).Input("[1,?]").Shapes(), "[1,?]") << op;
  }
}

TEST(EnsureShapeTest, AddsWhatItsAttributeKnows) {
  const PartialShape shape({-1, 3});
  const auto of = [&](absl::string_view input) {
    return ShapeTester("EnsureShape").Attr("shape", shape).Input(input).Shapes();
  };
  EXPECT_EQ(of("?"), "[?,3]");
  EXPECT_EQ(of("[2,?]"), "[2,3]");
  EXPECT_THAT(of("[2,4]"), HasSubstr("'input' of EnsureShape"));
}

}  // namespace
}  // namespace millstream
