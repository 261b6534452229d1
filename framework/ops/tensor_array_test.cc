#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(TensorArrayTest, TheHandleKnowsTheShapeOfElementsThatAreAlike) {
  const auto handle_of = [](bool identical, const PartialShape& shape) {
    return ShapeTester("TensorArrayV3")
        .Input("[]")
        .Attr("element_shape", shape)
        .Attr("identical_element_shapes", identical)
        .Infer()
        ->at(0)
        .handle;
  };
  EXPECT_FALSE(handle_of(false, PartialShape({kUnknownDim})).has_value());
  EXPECT_EQ(handle_of(false, PartialShape({2}))->shape, PartialShape({2}));
  EXPECT_EQ(handle_of(true, PartialShape({kUnknownDim}))->shape, PartialShape({kUnknownDim}));
}

TEST(TensorArrayTest, AHandleIsAScalarAndANameHasTwoParts) {
  EXPECT_EQ(ShapeTester("TensorArrayV3").Input("[]").Shapes(), "[] []");
  EXPECT_EQ(ShapeTester("TensorArrayV2").Input("[]").Shapes(), "[2]");
  EXPECT_EQ(ShapeTester("TensorArraySizeV2").Input("[2]").Input("[]").Shapes(), "[]");
  EXPECT_THAT(ShapeTester("TensorArraySizeV2").Input("[3]").Input("[]").Shapes(),
              HasSubstr("INVALID_ARGUMENT"));
}

TEST(TensorArrayTest, AnElementHasTheShapeThatTheHandleKnows) {
  EXPECT_EQ(ShapeTester("TensorArrayReadV3")
                .Handle(DataType::kFloat, "[2,?]")
                .Input("[]")
                .Input("[]")
                .Shapes(),
            "[2,?]");
  EXPECT_EQ(ShapeTester("TensorArrayReadV3").Input("[]").Input("[]").Input("[]").Shapes(), "?");
  EXPECT_THAT(ShapeTester("TensorArrayWriteV3")
                  .Handle(DataType::kFloat, "[2,?]")
                  .Input("[]")
                  .Input("[3,1]")
                  .Input("[]")
                  .Shapes(),
              HasSubstr("'value' of TensorArrayWriteV3"));
}

TEST(TensorArrayTest, RowsAreAsManyAsIndices) {
  EXPECT_EQ(ShapeTester("TensorArrayGatherV3")
                .Input("[]")
                .Input("[4]")
                .Input("[]")
                .Attr("element_shape", PartialShape({kUnknownDim, 3}))
                .Shapes(),
            "[4,?,3]");
  EXPECT_EQ(ShapeTester("TensorArrayGatherV3").Input("[]").Input("[4]").Input("[]").Shapes(), "?");
  EXPECT_THAT(ShapeTester("TensorArrayScatterV3")
                  .Input("[]")
                  .Input("[4]")
                  .Input("[3,2]")
                  .Input("[]")
                  .Shapes(),
              HasSubstr("INVALID_ARGUMENT"));
}

TEST(TensorArrayTest, JoinedElementsHaveTheirRows) {
  EXPECT_EQ(ShapeTester("TensorArrayConcatV3")
                .Input("[]")
                .Input("[]")
                .Attr("element_shape_except0", PartialShape({3}))
                .Shapes(),
            "[?,3] [?]");
}

}  // namespace
}  // namespace millstream
