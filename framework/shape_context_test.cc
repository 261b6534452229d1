#include "framework/shape_context.h"

#include <algorithm>
#include <random>

#include "framework/op_registry.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using Code = absl::StatusCode;

class ShapeContextTest : public testing::Test {
 protected:
  ShapeContext Context(std::vector<InputFacts> inputs) {
    return ShapeContext({&op_, &attrs_, &signature_, ""}, std::move(inputs));
  }
  static InputFacts Of(PartialShape shape, DataType dtype = DataType::kInt32) {
    InputFacts facts;
    facts.shape = std::move(shape);
    facts.dtype = dtype;
    return facts;
  }
  static InputFacts Constant(const Tensor& tensor) {
    InputFacts facts = Of(tensor.shape(), tensor.dtype());
    facts.constant = &tensor;
    return facts;
  }
  static InputFacts Partial(const PartialValue& value) {
    InputFacts facts = Of(PartialShape::Vector(value.size()));
    facts.partial_value = &value;
    return facts;
  }

  const OpDef op_ = OpSpec("Op")
                        .Input("first: int32")
                        .Input("rest: N * int32")
                        .Output("y: float")
                        .Attr("N: int")
                        .Build()
                        .value();
  const AttrMap attrs_ = {{"N", 2}};
  const NodeSignature signature_ = ExpandSignature(op_, attrs_).value();
};

TEST_F(ShapeContextTest, NamesInputsByArgumentAndPlace) {
  const ShapeContext context = Context({InputFacts(), InputFacts(), InputFacts()});
  EXPECT_EQ(context.InputName(0), "first");
  EXPECT_EQ(context.InputName(1), "rest[0]");
  EXPECT_EQ(context.InputName(2), "rest[1]");
  EXPECT_EQ(context.InputName(3), "input 3");
}

TEST_F(ShapeContextTest, ValuesComeFromConstantsPartialValuesOrLengths) {
  const Tensor constant = Tensor::Vector<int64_t>({4, 5});
  const PartialValue partial = {7, std::nullopt};
  EXPECT_EQ(Context({Constant(constant)}).InputValue(0), PartialValue({4, 5}));
  EXPECT_EQ(Context({Partial(partial)}).InputValue(0), partial);
  EXPECT_EQ(Context({Of({3})}).InputValue(0), PartialValue(3, std::nullopt));
  EXPECT_EQ(Context({Of(PartialShape::Scalar())}).InputValue(0), PartialValue(1, std::nullopt));
}

TEST_F(ShapeContextTest, ValuesOfOtherInputsAreUnknown) {
  const Tensor matrix = Tensor::Of<int32_t>({1, 2}, {4, 5});
  const Tensor floats = Tensor::Vector<float>({1});
  EXPECT_EQ(Context({Of({-1})}).InputValue(0), std::nullopt);
  EXPECT_EQ(Context({Of(PartialShape())}).InputValue(0), std::nullopt);
  EXPECT_EQ(Context({Constant(matrix)}).InputValue(0), std::nullopt);
  EXPECT_EQ(Context({Constant(floats)}).InputValue(0), std::nullopt);
  EXPECT_EQ(Context({Of({int64_t{1} << 40})}).InputValue(0), std::nullopt);
}

TEST_F(ShapeContextTest, AVectorOfSizesDescribesAShape) {
  const Tensor constant = Tensor::Vector<int32_t>({4, -1, 0});
  const PartialValue partial = {7, std::nullopt};
  EXPECT_EQ(*Context({Constant(constant)}).InputAsShape(0), PartialShape({4, -1, 0}));
  EXPECT_EQ(*Context({Partial(partial)}).InputAsShape(0), PartialShape({7, -1}));
  EXPECT_EQ(*Context({Of({2})}).InputAsShape(0), PartialShape({-1, -1}));
  EXPECT_EQ(*Context({Of({0})}).InputAsShape(0), PartialShape::Scalar());
  EXPECT_EQ(*Context({Of({-1})}).InputAsShape(0), PartialShape());
  EXPECT_EQ(*Context({Of(PartialShape())}).InputAsShape(0), PartialShape());
}

TEST_F(ShapeContextTest, AShapeMustBeAVectorOfSizes) {
  const Tensor negative = Tensor::Vector<int32_t>({4, -2});
  const Status sizes = Context({Constant(negative)}).InputAsShape(0).status();
  EXPECT_EQ(sizes.code(), Code::kInvalidArgument);
  EXPECT_EQ(sizes.message(),
            "argument 'first' of Op must hold sizes, or -1 for unknown ones, got -2");
  EXPECT_EQ(Context({Of({2, 2})}).InputAsShape(0).status().code(), Code::kInvalidArgument);
}

TEST_F(ShapeContextTest, ReadsScalars) {
  const Tensor three = Tensor::Scalar<int64_t>(3);
  EXPECT_EQ(*Context({Constant(three)}).InputAsScalar(0), 3);
  EXPECT_EQ(*Context({Of(PartialShape::Scalar())}).InputAsScalar(0), std::nullopt);
  EXPECT_EQ(*Context({Of(PartialShape())}).InputAsScalar(0), std::nullopt);
  EXPECT_EQ(Context({Of({2})}).InputAsScalar(0).status().message(),
            "argument 'first' of Op must be a scalar, got shape [2]");
}

TEST_F(ShapeContextTest, RanksAreCheckedAndFilledIn) {
  const ShapeContext context = Context({Of({2, 3}), Of(PartialShape())});
  EXPECT_EQ(*context.WithRank(0, 2), PartialShape({2, 3}));
  EXPECT_EQ(*context.WithRank(1, 2), PartialShape({-1, -1}));
  EXPECT_EQ(*context.WithRankAtLeast(1, 2), PartialShape());
  EXPECT_EQ(context.WithRank(0, 3).status().message(),
            "Shape must be rank 3 but is rank 2 for argument 'first' of Op, which has shape [2,3]");
  EXPECT_EQ(context.WithRankAtLeast(0, 3).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(context.WithRankAtMost(0, 1).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(context.WithRankAtMost(0, 2).ok());
}

TEST_F(ShapeContextTest, SizesMergeWhenEitherIsUnknown) {
  const ShapeContext context = Context({});
  EXPECT_EQ(*context.MergeDim(-1, 3), 3);
  EXPECT_EQ(*context.MergeDim(3, -1), 3);
  EXPECT_EQ(*context.MergeDim(-1, -1), -1);
  EXPECT_EQ(context.MergeDim(3, 4).status().message(),
            "Dimensions must be equal, but are 3 and 4 for Op");
}

TEST_F(ShapeContextTest, WithoutAShapeFunctionOutputsAreUnknown) {
  ShapeContext context = Context({});
  const auto outputs = *InferShapes(&context);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_FALSE(outputs[0].shape.known_rank());
  EXPECT_FALSE(outputs[0].value.has_value());
}

TEST_F(ShapeContextTest, RunsTheValueFunctionAfterTheShapeFunction) {
  OpDef op = op_;
  op.shape_function = UnchangedShape;
  op.value_function = [](ShapeContext* context) {
    context->SetOutputValue(0, PartialValue{context->output(0).dim(0)});
  };
  ShapeContext context({&op, &attrs_, &signature_, ""}, {Of({5})});
  EXPECT_EQ((*InferShapes(&context))[0].value, PartialValue{5});
}

TEST_F(ShapeContextTest, AllInputsMergeIntoOne) {
  ShapeContext context = Context({Of({2, -1}), Of(PartialShape()), Of({-1, 3})});
  ASSERT_TRUE(MergeAllInputsShape(&context).ok());
  EXPECT_EQ(context.output(0), PartialShape({2, 3}));
  ShapeContext wrong = Context({Of({2}), Of({2}), Of({3})});
  EXPECT_NE(MergeAllInputsShape(&wrong).message().find("'rest[1]'"), absl::string_view::npos);
}

TEST(BroadcastShapesTest, FollowsNumPysRule) {
  EXPECT_EQ(*BroadcastShapes({2, 1, 3}, {4, 1}), PartialShape({2, 4, 3}));
  EXPECT_EQ(*BroadcastShapes({3}, PartialShape::Scalar()), PartialShape({3}));
  EXPECT_EQ(*BroadcastShapes({1}, {0}), PartialShape({0}));
  EXPECT_EQ(*BroadcastShapes(PartialShape(), {4}), PartialShape());
  const Status status = BroadcastShapes({2, 3}, {2, 4}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "Incompatible shapes: [2,3] vs. [2,4]: Dimensions must be equal, but are 3 and 4 in "
            "dimension -1");
}

TEST(BroadcastShapesTest, AnUnknownSizeIsKnownAfterwardsUnlessTheOtherIsOne) {
  EXPECT_EQ(*BroadcastShapes({-1}, {5}), PartialShape({5}));
  EXPECT_EQ(*BroadcastShapes({-1}, {0}), PartialShape({0}));
  EXPECT_EQ(*BroadcastShapes({-1}, {1}), PartialShape({-1}));
  EXPECT_EQ(*BroadcastShapes({-1}, {-1}), PartialShape({-1}));
}

// A full shape that `partial`, of known rank, may stand for.
PartialShape Complete(PartialShape partial, std::mt19937* random) {
  for (int i = 0; i < partial.rank(); ++i) {
    if (partial.dim(i) == kUnknownDim) partial.set_dim(i, (*random)() % 4);
  }
  return partial;
}

PartialShape RandomShape(std::mt19937* random) {
  PartialShape shape = PartialShape::Scalar();
  for (int i = (*random)() % 4; i > 0; --i) shape.AddDim(static_cast<int>((*random)() % 5) - 1);
  return shape;
}

TEST(BroadcastShapesTest, WhatIsSaidOfPartialShapesHoldsForAllTheyStandFor) {
  std::mt19937 random(2);
  for (int i = 0; i < 20000; ++i) {
    const PartialShape a = RandomShape(&random);
    const PartialShape b = RandomShape(&random);
    const auto known = BroadcastShapes(Complete(a, &random), Complete(b, &random));
    const auto partial = BroadcastShapes(a, b);
    if (!known.ok()) continue;
    ASSERT_TRUE(partial.ok()) << a.ToString() << " " << b.ToString();
    EXPECT_TRUE(partial->IsCompatibleWith(*known)) << a.ToString() << " " << b.ToString();
  }
}

TEST(BroadcastShapesTest, IsSymmetricAndRefusesSymmetrically) {
  std::mt19937 random(3);
  for (int i = 0; i < 5000; ++i) {
    const PartialShape a = RandomShape(&random);
    const PartialShape b = RandomShape(&random);
    const auto ab = BroadcastShapes(a, b);
    const auto ba = BroadcastShapes(b, a);
    ASSERT_EQ(ab.ok(), ba.ok());
    if (!ab.ok()) continue;
    EXPECT_EQ(*ab, *ba);
  }
}

TEST(NormalizeAxisTest, CountsNegativeAxesFromTheEnd) {
  EXPECT_EQ(*NormalizeAxis(-1, 3), 2);
  EXPECT_EQ(*NormalizeAxis(0, 3), 0);
  EXPECT_EQ(NormalizeAxis(3, 3).status().message(),
            "axis 3 is outside [-3, 3) of a tensor of rank 3");
  EXPECT_FALSE(NormalizeAxis(-4, 3).ok());
  EXPECT_FALSE(NormalizeAxis(0, 0).ok());
}

}  // namespace
}  // namespace millstream
