// The structural kernels where they do run: on tensors whose shapes only the step knows.
#include "core/structural/structural.h"

#include <string>
#include <utility>
#include <vector>

#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class StructuralTest : public SessionTest {
 protected:
  // A tensor of which the plan knows neither shape nor value.
  Output Unknown(const Tensor& value) {
    const Output sizes = Placeholder(graph.UniqueName("sizes", false), DataType::kInt32);
    const std::vector<int32_t> dims(value.shape().dims().begin(), value.shape().dims().end());
    feeds_.push_back({sizes, Values<int32_t>(dims)});
    return Op("Reshape", {FedAs(value), sizes});
  }
  // A fed tensor: its shape is known to the plan, its value is not.
  Output FedAs(const Tensor& value) {
    const Output tensor = Placeholder(graph.UniqueName("fed", false), value.dtype());
    feeds_.push_back({tensor, value});
    return tensor;
  }
  Tensor Get(const Output& output) { return Value(output, feeds_); }
  Status GetError(const Output& output) { return Error(output, feeds_); }

  static Tensor Zeros(const Shape& shape) {
    return Tensor::FromValues<float>(shape, std::vector<float>(shape.num_elements()));
  }

  std::vector<Feed> feeds_;
};

TEST_F(StructuralTest, RolesTellWhatNeedNotRun) {
  EXPECT_EQ(RoleOf("NoOp"), StructuralRole::kNothing);
  EXPECT_EQ(RoleOf("Identity"), StructuralRole::kIdentity);
  EXPECT_EQ(RoleOf("Reshape"), StructuralRole::kReshape);
  EXPECT_EQ(RoleOf("VarHandleOp"), StructuralRole::kHandle);
  EXPECT_EQ(RoleOf("Shape"), StructuralRole::kKernel);
  EXPECT_EQ(RoleOf("MatMul"), StructuralRole::kKernel);
}

TEST_F(StructuralTest, ReshapeFindsTheOpenSize) {
  const Tensor x = Values<float>({1, 2, 3, 4, 5, 6});
  const Tensor y = Get(Op("Reshape", {Unknown(x), FedAs(Values<int64_t>({3, -1}))}));
  EXPECT_EQ(y.shape(), Shape({3, 2}));
  EXPECT_THAT(Elements<float>(y), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(StructuralTest, ReshapeRefusesSizesThatDoNotFit) {
  const auto error = [&](const std::vector<int32_t>& sizes) {
    feeds_.clear();
    return GetError(Op("Reshape", {Unknown(Zeros({6})), FedAs(Values<int32_t>(sizes))}));
  };
  ExpectError(error({4, -1}), kInvalid, {"Reshape", "'shape'", "[6] (6 elements)"});
  ExpectError(error({-1, -1}), kInvalid, {"more than one -1"});
  ExpectError(error({2, -3}), kInvalid, {"-3"});
  ExpectError(error({5}), kInvalid, {"'shape'", "[6]", "[5]"});
  ExpectError(error({0, -1}), kInvalid, {"[6]"});
  // The product of these sizes is 0 modulo 2^64.
  ExpectError(error({1 << 30, 1 << 30, 16}), kInvalid, {"Reshape", "1073741824"});
}

TEST_F(StructuralTest, ExpandDimsAndSqueezeMoveOnes) {
  const Output x = Unknown(Zeros({2, 1, 3}));
  const auto expanded = [&](int32_t axis) {
    return Get(Op("ExpandDims", {x, FedAs(Tensor::Scalar<int32_t>(axis))})).shape();
  };
  EXPECT_EQ(expanded(0), Shape({1, 2, 1, 3}));
  EXPECT_EQ(expanded(-1), Shape({2, 1, 3, 1}));
  EXPECT_EQ(expanded(1), Shape({2, 1, 1, 3}));
  EXPECT_EQ(Get(Op("Squeeze", {x})).shape(), Shape({2, 3}));
  const auto squeezed = [&](int64_t axis) {
    return Op("Squeeze", {x}, {{"squeeze_dims", std::vector<int64_t>{axis}}});
  };
  EXPECT_EQ(Get(squeezed(-2)).shape(), Shape({2, 3}));
  ExpectError(GetError(squeezed(0)), kInvalid, {"squeeze_dims", "[2,1,3]"});
  ExpectError(GetError(squeezed(3)), kInvalid, {"squeeze_dims", "axis 3"});
}

TEST_F(StructuralTest, ExpandDimsRefusesAnAxisOutside) {
  const Output y = Op("ExpandDims", {Unknown(Zeros({2})), FedAs(Tensor::Scalar<int32_t>(2))});
  ExpectError(GetError(y), kInvalid, {"ExpandDims", "'dim'", "2"});
}

TEST_F(StructuralTest, ShapesOfTensorsThatTheStepMakes) {
  const Output x = Unknown(Zeros({2, 5}));
  const Output y = Unknown(Zeros({3}));
  EXPECT_THAT(Elements<int32_t>(Get(Op("Shape", {x}))), ElementsAre(2, 5));
  EXPECT_THAT(Elements<int64_t>(Get(Op("Shape", {x}, {{"out_type", DataType::kInt64}}))),
              ElementsAre(2, 5));
  EXPECT_THAT(Elements<int32_t>(Get(Op("Rank", {x}))), ElementsAre(2));
  EXPECT_THAT(Elements<int32_t>(Get(Op("Size", {x}))), ElementsAre(10));
  const Node* both = build.Variadic("ShapeN", {{x, y}});
  EXPECT_THAT(Elements<int32_t>(Get(both->output(0))), ElementsAre(2, 5));
  EXPECT_THAT(Elements<int32_t>(Get(both->output(1))), ElementsAre(3));
}

TEST_F(StructuralTest, TheShapeOfAScalarIsEmpty) {
  EXPECT_THAT(Elements<int32_t>(Get(Op("Shape", {Unknown(Tensor::Scalar<float>(1))}))), IsEmpty());
}

// The axes that gradients of two broadcast shapes sum over.
class BroadcastGradientArgsTest : public StructuralTest {
 protected:
  using Axes = std::vector<int32_t>;
  std::pair<Axes, Axes> Sums(const Axes& a, const Axes& b) {
    feeds_.clear();
    const Node* node = build.NodeOf("BroadcastGradientArgs",
                                    {FedAs(Values<int32_t>(a)), FedAs(Values<int32_t>(b))});
    const auto results = Run({node->output(0), node->output(1)}, feeds_);
    EXPECT_TRUE(results.ok()) << results.status();
    if (!results.ok()) return {};
    return {Elements<int32_t>((*results)[0]), Elements<int32_t>((*results)[1])};
  }
};

TEST_F(BroadcastGradientArgsTest, EqualShapesSumNothing) {
  EXPECT_THAT(Sums({2, 3}, {2, 3}), Pair(IsEmpty(), IsEmpty()));
  EXPECT_THAT(Sums({2, 1}, {2, 1}), Pair(IsEmpty(), IsEmpty()));
}

TEST_F(BroadcastGradientArgsTest, RepeatedAxesAreSummed) {
  EXPECT_THAT(Sums({2, 3}, {3}), Pair(IsEmpty(), ElementsAre(0)));
  EXPECT_THAT(Sums({3}, {2, 3}), Pair(ElementsAre(0), IsEmpty()));
  EXPECT_THAT(Sums({2, 1, 4}, {3, 1}), Pair(ElementsAre(1), ElementsAre(0, 2)));
  EXPECT_THAT(Sums({}, {2, 3}), Pair(ElementsAre(0, 1), IsEmpty()));
  EXPECT_THAT(Sums({0, 3}, {1, 3}), Pair(IsEmpty(), ElementsAre(0)));
}

TEST_F(BroadcastGradientArgsTest, ShapesThatDoNotBroadcastAreRefused) {
  const Node* node = build.NodeOf("BroadcastGradientArgs",
                                  {FedAs(Values<int32_t>({2, 3})), FedAs(Values<int32_t>({4}))});
  ExpectError(GetError(node->output(0)), kInvalid, {"[2,3]", "[4]"});
}

TEST_F(StructuralTest, ConcatOffsetsAddUpAlongTheAxis) {
  const Node* node = build.Variadic(
      "ConcatOffset", {{FedAs(Tensor::Scalar<int32_t>(1))},
                       {FedAs(Values<int32_t>({2, 3})), FedAs(Values<int32_t>({2, 4})),
                        FedAs(Values<int32_t>({2, 1}))}});
  EXPECT_THAT(Elements<int32_t>(Get(node->output(0))), ElementsAre(0, 0));
  EXPECT_THAT(Elements<int32_t>(Get(node->output(1))), ElementsAre(0, 3));
  EXPECT_THAT(Elements<int32_t>(Get(node->output(2))), ElementsAre(0, 7));
}

TEST_F(StructuralTest, ConcatOffsetRefusesPartsThatDoNotFit) {
  const auto error = [&](int32_t axis, const std::vector<int32_t>& second) {
    feeds_.clear();
    const Node* node = build.Variadic(
        "ConcatOffset", {{FedAs(Tensor::Scalar<int32_t>(axis))},
                         {FedAs(Values<int32_t>({2, 3})), FedAs(Values<int32_t>(second))}});
    return GetError(node->output(1));
  };
  ExpectError(error(1, {3, 3}), kInvalid, {"ConcatOffset", "dimension 0"});
  ExpectError(error(2, {2, 3}), kInvalid, {"concat_dim", "2"});
}

TEST_F(StructuralTest, ConcatOffsetRefusesOffsetsBeyondInt32) {
  const Node* node =
      build.Variadic("ConcatOffset", {{FedAs(Tensor::Scalar<int32_t>(0))},
                                      {FedAs(Values<int32_t>({INT32_MAX})),
                                       FedAs(Values<int32_t>({1})), FedAs(Values<int32_t>({1}))}});
  ExpectError(GetError(node->output(2)), kInvalid, {"'shape' 2 begins at 2147483648"});
}

TEST_F(StructuralTest, ADefaultValueHasTheShapeThatItsPlaceholderPromises) {
  const auto pass = [&](const Output& value, bool dynamic) {
    Output input = value;
    if (dynamic) {
      input = build.Op("Switch", {value, FedAs(Tensor::Scalar<bool>(true))}).node->output(1);
    }
    return Op("PlaceholderWithDefault", {input}, {{"shape", PartialShape({2, -1})}});
  };
  for (const bool dynamic : {false, true}) {
    const Output good = Placeholder(graph.UniqueName("good", false), DataType::kFloat);
    feeds_.push_back({good, Zeros({2, 3})});
    EXPECT_EQ(Get(pass(good, dynamic)).shape(), Shape({2, 3})) << dynamic;
    const Output bad = Placeholder(graph.UniqueName("bad", false), DataType::kFloat);
    feeds_.push_back({bad, Zeros({3, 2})});
    ExpectError(GetError(pass(bad, dynamic)), kInvalid,
                {"PlaceholderWithDefault", "'input'", "[2,?]", "[3,2]"});
  }
}

TEST_F(StructuralTest, ATransferThatCameWithAGraphIsRefusedByName) {
  const Output received = Op("_Recv", {},
                             {{"tensor_type", DataType::kFloat},
                              {"tensor_name", std::string("x")},
                              {"send_device", std::string("a")},
                              {"send_device_incarnation", int64_t{1}},
                              {"recv_device", std::string("b")}});
  ExpectError(GetError(received), kInvalid, {received.node->name(), "op _Recv", "parts of a step"});
}

TEST_F(StructuralTest, IdentityNPassesTensorsOfSeveralTypes) {
  const Node* node = build.Variadic(
      "IdentityN", {{Unknown(Values<float>({1})), Unknown(Values<int32_t>({2, 3}))}});
  EXPECT_THAT(Elements<float>(Get(node->output(0))), ElementsAre(1));
  EXPECT_THAT(Elements<int32_t>(Get(node->output(1))), ElementsAre(2, 3));
}

TEST_F(StructuralTest, AVariableTellsWhetherItHasAValue) {
  const Output w = Variable("w", DataType::kFloat, {1});
  const Output initialized = Op("VarIsInitializedOp", {w});
  EXPECT_FALSE(*Get(initialized).data<bool>());
  ASSERT_EQ(Execute({Assign(w, Constant(Values<float>({1})))}), absl::OkStatus());
  EXPECT_TRUE(*Get(initialized).data<bool>());
}

TEST_F(StructuralTest, AVariableOfOpenShapeTakesAnyValue) {
  const Output w = Variable("w", DataType::kFloat, PartialShape());
  for (const Shape& shape : {Shape({2}), Shape({3, 1}), Shape()}) {
    feeds_.clear();
    ASSERT_EQ(Execute({Assign(w, Unknown(Zeros(shape)))}, feeds_), absl::OkStatus());
    EXPECT_EQ(Get(Op("Neg", {Read(w)})).shape(), shape);
  }
}

}  // namespace
}  // namespace millstream
