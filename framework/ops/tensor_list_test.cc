#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

constexpr DataType kFloat = DataType::kFloat;

// A list of float elements of this shape.
ShapeTester OfList(const char* op, const char* element_shape) {
  ShapeTester tester(op);
  tester.Attr("element_dtype", kFloat).Handle(kFloat, element_shape);
  return tester;
}

PartialShape ElementShapeOf(ShapeTester tester) {
  const auto outputs = tester.Infer();
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok() || !(*outputs)[0].handle.has_value()) return PartialShape({-7});
  EXPECT_EQ((*outputs)[0].handle->dtype, kFloat);
  EXPECT_EQ((*outputs)[0].shape, PartialShape::Scalar());
  return (*outputs)[0].handle->shape;
}

TEST(TensorListShapeTest, ListsKnowTheShapeOfElements) {
  const auto empty = [](const char* shape) {
    return ElementShapeOf(ShapeTester("EmptyTensorList").Value(shape).Value("-1"));
  };
  EXPECT_EQ(empty("(2 -1)"), PartialShape({2, -1}));
  EXPECT_EQ(empty("-1"), PartialShape());
  EXPECT_EQ(empty("?"), PartialShape());
  EXPECT_EQ(ElementShapeOf(ShapeTester("TensorListFromTensor").Input("[3,2]").Value("(-1)")),
            PartialShape({-1}));
  EXPECT_EQ(ElementShapeOf(OfList("TensorListPushBack", "[?]").Input("[2]")), PartialShape({-1}));
}

TEST(TensorListShapeTest, ElementsHaveWhatTheListAndTheInputKnow) {
  EXPECT_EQ(OfList("TensorListPopBack", "[2,?]").Value("(-1 3)").Shapes(), "[] [2,3]");
  EXPECT_EQ(OfList("TensorListGetItem", "?").Input("[]").Value("(4)").Shapes(), "[4]");
  EXPECT_EQ(OfList("TensorListGetItem", "?").Input("[]").Value("-1").Shapes(), "?");
  EXPECT_EQ(OfList("TensorListStack", "[2]").Value("-1").Shapes(), "[?,2]");
  EXPECT_EQ(OfList("TensorListStack", "?").Attr("num_elements", 3).Value("(2)").Shapes(), "[3,2]");
  EXPECT_EQ(OfList("TensorListGather", "[2]").Input("[5]").Value("-1").Shapes(), "[5,2]");
  EXPECT_EQ(OfList("TensorListConcat", "[?,2]").Shapes(), "[?,2] [?]");
  EXPECT_EQ(OfList("TensorListConcatV2", "?").Value("(-1 2)").Input("[0]").Shapes(), "[?,2] [?]");
}

TEST(TensorListShapeTest, TheElementShapeIsAVectorOfItsRank) {
  EXPECT_EQ(ShapeTester("TensorListElementShape").Handle(kFloat, "[2,?]").Shapes(), "[2]");
  EXPECT_EQ(ShapeTester("TensorListElementShape").Handle(kFloat, "?").Shapes(), "?");
  EXPECT_EQ(ShapeTester("TensorListLength").Handle(kFloat, "[2,?]").Shapes(), "[]");
}

TEST(TensorListShapeTest, RefusesWhatContradictsTheList) {
  EXPECT_THAT(OfList("TensorListPushBack", "[2]").Input("[3]").Shapes(),
              HasSubstr("'tensor' of TensorListPushBack"));
  EXPECT_THAT(OfList("TensorListPopBack", "[2]").Value("(3)").Shapes(),
              HasSubstr("'element_shape' of TensorListPopBack"));
  EXPECT_THAT(OfList("TensorListSetItem", "[2]").Input("[]").Input("[3]").Shapes(),
              HasSubstr("'item' of TensorListSetItem"));
  EXPECT_THAT(ShapeTester("TensorListGetItem")
                  .Attr("element_dtype", DataType::kInt32)
                  .Handle(kFloat, "[2]")
                  .Input("[]")
                  .Value("-1")
                  .Shapes(),
              HasSubstr("op elements int32 but list elements float32"));
  EXPECT_THAT(ShapeTester("EmptyTensorList").Value("2").Value("-1").Shapes(),
              HasSubstr("The only valid scalar shape tensor"));
  EXPECT_THAT(ShapeTester("TensorListFromTensor").Input("[]").Value("-1").Shapes(),
              HasSubstr("'tensor'"));
  EXPECT_THAT(ShapeTester("TensorListFromTensor").Input("[3,2]").Value("(3)").Shapes(),
              HasSubstr("'element_shape'"));
  EXPECT_THAT(ShapeTester("TensorListScatter").Input("[3,2]").Input("[2]").Value("-1").Shapes(),
              HasSubstr("'indices'"));
  EXPECT_THAT(OfList("TensorListConcat", "[]").Shapes(), HasSubstr("found scalars instead"));
  EXPECT_THAT(ShapeTester("TensorListSplit").Input("[3,2]").Value("(-1 3)").Input("[2]").Shapes(),
              HasSubstr("'element_shape'"));
}

TEST(TensorListShapeTest, BatchesHaveOneListForEachRow) {
  ShapeTester batch("TensorListPushBackBatch");
  EXPECT_EQ(batch.Input("[?]").Input("[3,2]").Shapes(), "[3]");
  EXPECT_THAT(ShapeTester("TensorListPushBackBatch").Input("[2]").Input("[3,2]").Shapes(),
              HasSubstr("'tensor'"));
}

// The elements of a list may be others in the next iteration.
TEST(TensorListShapeTest, ALoopDoesNotKnowTheElementsOfItsLists) {
  const auto entered = [](bool is_constant) {
    const auto outputs = ShapeTester("Enter")
                             .Attr("T", DataType::kVariant)
                             .Attr("frame_name", std::string("f"))
                             .Attr("is_constant", is_constant)
                             .Handle(kFloat, "[2]")
                             .Infer();
    return outputs.ok() && (*outputs)[0].handle.has_value();
  };
  EXPECT_FALSE(entered(false));
  EXPECT_TRUE(entered(true));
}

}  // namespace
}  // namespace millstream
