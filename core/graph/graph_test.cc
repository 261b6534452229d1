#include "core/graph/graph.h"

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/testing/fork.h"
#include "core/testing/session_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using GraphTest = SessionTest;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

NodeSpec Spec(const std::string& name, const std::string& op, std::vector<Output> inputs = {}) {
  NodeSpec spec;
  spec.name = name;
  spec.op = op;
  spec.input_counts.assign(inputs.size(), 1);
  spec.inputs = std::move(inputs);
  return spec;
}

TEST_F(GraphTest, FindsNodesAndTensorsByName) {
  const Output x = Placeholder("scope/x", DataType::kFloat);
  EXPECT_EQ(graph.FindNode("scope/x").value(), x.node);
  EXPECT_EQ(graph.FindOutput("scope/x:0").value(), x);
  EXPECT_EQ(graph.FindOutput("scope/x").value(), x);
  EXPECT_EQ(x.name(), "scope/x:0");
}

TEST_F(GraphTest, SaysWhatCouldNotBeFound) {
  Placeholder("x", DataType::kFloat);
  ExpectError(graph.FindNode("y").status(), absl::StatusCode::kNotFound, {"'y'", "1 nodes"});
  ExpectError(graph.FindOutput("x:1").status(), absl::StatusCode::kNotFound,
              {"'x:1'", "node 'x' (op Placeholder)", "1 outputs"});
  ExpectError(graph.FindOutput("x:one").status(), kInvalid, {"'x:one'", "NODE:INDEX"});
}

TEST_F(GraphTest, RefusesANameTwice) {
  Placeholder("x", DataType::kFloat);
  ExpectError(TryNode("x", "NoOp", {}).status(), absl::StatusCode::kAlreadyExists,
              {"node 'x' (op NoOp)"});
  EXPECT_EQ(graph.num_nodes(), 1);
}

TEST_F(GraphTest, RefusesANodeWithoutName) {
  ExpectError(TryNode("", "NoOp", {}).status(), kInvalid, {"needs a name"});
}

TEST_F(GraphTest, GivesEveryCallAnotherUniqueName) {
  EXPECT_EQ(graph.UniqueName("x"), "x");
  EXPECT_EQ(graph.UniqueName("x"), "x_1");
  EXPECT_EQ(graph.UniqueName("x"), "x_2");
}

TEST_F(GraphTest, UniqueNamesDifferInMoreThanCase) {
  EXPECT_EQ(graph.UniqueName("Dense"), "Dense");
  EXPECT_EQ(graph.UniqueName("dense"), "dense_1");
  EXPECT_EQ(graph.UniqueName("DENSE_1"), "DENSE_1_1");
}

TEST_F(GraphTest, UniqueNamesAvoidTheNamesOfNodes) {
  Placeholder("x", DataType::kFloat);
  Placeholder("x_1", DataType::kFloat);
  EXPECT_EQ(graph.UniqueName("x"), "x_2");
}

TEST_F(GraphTest, AskingWithoutReservingChangesNothing) {
  EXPECT_EQ(graph.UniqueName("x", /*reserve=*/false), "x");
  EXPECT_EQ(graph.UniqueName("x"), "x");
  EXPECT_EQ(graph.UniqueName("x", /*reserve=*/false), "x_1");
  EXPECT_EQ(graph.UniqueName("x"), "x_1");
}

TEST_F(GraphTest, InfersAttributesAndTypesFromInputs) {
  const Output x = Placeholder("x", DataType::kDouble, {2, 3});
  const Output y = Placeholder("y", DataType::kDouble, {3, 5});
  const Output product = Op("MatMul", {x, y});
  EXPECT_EQ(product.dtype(), DataType::kDouble);
  EXPECT_EQ(product.node->Attr<bool>("transpose_a").value(), false);
  EXPECT_EQ(graph.Facts(product).shape, PartialShape({2, 5}));
}

TEST_F(GraphTest, AnUnknownOpIsNamed) {
  ExpectError(TryNode("n", "MatMull", {}).status(), absl::StatusCode::kNotFound,
              {"node 'n' (op MatMull)", "MatMull"});
}

TEST_F(GraphTest, AMissingAttributeIsNamed) {
  ExpectError(TryNode("n", "Placeholder", {}).status(), kInvalid, {"node 'n'", "dtype"});
}

TEST_F(GraphTest, AnIllTypedAttributeIsNamed) {
  ExpectError(TryNode("n", "Placeholder", {}, {{"dtype", "float"}}).status(), kInvalid,
              {"node 'n'", "dtype", "type"});
}

TEST_F(GraphTest, AnAttributeThatTheOpLacksIsNamed) {
  ExpectError(TryNode("n", "NoOp", {}, {{"speed", 3}}).status(), kInvalid, {"node 'n'", "speed"});
}

TEST_F(GraphTest, InputsOfTwoTypesNameTheArgument) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output n = Placeholder("n", DataType::kInt32);
  ExpectError(TryNode("sum", "Add", {x, n}).status(), kInvalid,
              {"node 'sum' (op Add)", "'y'", "expected float", "got int32"});
}

TEST_F(GraphTest, TheNumberOfInputsIsChecked) {
  const Output x = Placeholder("x", DataType::kFloat);
  ExpectError(TryNode("sum", "Add", {x}).status(), kInvalid,
              {"node 'sum' (op Add)", "expected 2", "got 1"});
}

TEST_F(GraphTest, ShapesThatDoNotFitNameTheNodeAndTheUsersLine) {
  NodeSpec spec = Spec(
      "product", "MatMul",
      {Placeholder("x", DataType::kFloat, {2, 3}), Placeholder("y", DataType::kFloat, {4, 5})});
  spec.source = "train.py:12 in build";
  const Status status = graph.AddNode(std::move(spec)).status();
  ExpectError(status, kInvalid,
              {"node 'product' (op MatMul), made at train.py:12 in build", "3", "4"});
  EXPECT_EQ(StatusNode(status), "product");
}

TEST_F(GraphTest, AFailedNodeLeavesNoTrace) {
  const Output x = Placeholder("x", DataType::kFloat, {2, 3});
  EXPECT_FALSE(TryNode("product", "MatMul", {x, x}).ok());
  EXPECT_EQ(graph.num_nodes(), 1);
  EXPECT_EQ(graph.UniqueName("product"), "product");
}

TEST_F(GraphTest, NodesKeepTheUsersLine) {
  NodeSpec spec = Spec("n", "NoOp");
  spec.source = "model.py:7";
  const Node* node = graph.AddNode(std::move(spec)).value();
  EXPECT_EQ(node->source(), "model.py:7");
  EXPECT_EQ(node->Describe(), "node 'n' (op NoOp), made at model.py:7");
}

// A node has a pointer to it.
TEST_F(GraphTest, NodesOfOneLineShareItsText) {
  const auto node_of = [this](const std::string& name, const std::string& source) {
    NodeSpec spec = Spec(name, "NoOp");
    spec.source = source;
    return graph.AddNode(std::move(spec)).value();
  };
  const std::string line = "examples/model.py:7 in build";
  const Node* const first = node_of("first", line);
  EXPECT_EQ(&node_of("second", line)->source(), &first->source());
  EXPECT_NE(&node_of("third", "examples/model.py:8 in build")->source(), &first->source());
}

TEST_F(GraphTest, TheFirstNodeNamedInAnErrorStays) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output y = Placeholder("y", DataType::kFloat);
  const Status inner = AnnotateWithNode(errors::Internal("broken"), *x.node);
  const Status outer = AnnotateWithNode(inner, *y.node);
  EXPECT_EQ(outer, inner);
  EXPECT_EQ(StatusNode(outer), "x");
  EXPECT_EQ(StatusNode(errors::Internal("of no node")), "");
}

TEST_F(GraphTest, RefiningAShapeKeepsWhatIsKnown) {
  const Output x = Placeholder("x", DataType::kFloat, {-1, 3});
  EXPECT_EQ(graph.RefineShape(x, {2, -1}), absl::OkStatus());
  EXPECT_EQ(graph.Facts(x).shape, PartialShape({2, 3}));
  ExpectError(graph.RefineShape(x, {4, 3}), kInvalid, {"node 'x'"});
  EXPECT_EQ(graph.Facts(x).shape, PartialShape({2, 3}));
}

TEST_F(GraphTest, NodesAddedLaterSeeTheRefinedShape) {
  const Output x = Placeholder("x", DataType::kFloat);
  ASSERT_EQ(graph.RefineShape(x, {2, 3}), absl::OkStatus());
  EXPECT_EQ(graph.Facts(Op("Neg", {x})).shape, PartialShape({2, 3}));
}

TEST_F(GraphTest, AControlInputCountsOnce) {
  const Node* first = Group({});
  const Node* second = Group({first});
  ASSERT_EQ(graph.AddControlInput(second, first), absl::OkStatus());
  EXPECT_EQ(graph.ControlInputs(second), std::vector<const Node*>{first});
}

TEST_F(GraphTest, ANodeThatHasRunCanNoLongerChange) {
  const Node* first = Group({});
  const Node* second = Group({});
  const Node* third = Group({});
  ASSERT_EQ(Execute({second}), absl::OkStatus());
  ExpectError(graph.AddControlInput(second, first), absl::StatusCode::kFailedPrecondition,
              {second->name(), "has run"});
  ExpectError(graph.SetDevice(second, "/cpu:0"), absl::StatusCode::kFailedPrecondition,
              {second->name(), "has run"});
  EXPECT_EQ(graph.AddControlInput(third, first), absl::OkStatus());
  EXPECT_EQ(graph.SetDevice(third, "/cpu:0"), absl::OkStatus());
  EXPECT_EQ(graph.Device(third), "/cpu:0");
}

// As those of a step that was compiled before the change.
TEST_F(GraphTest, NodesOfWhichOneHasChangedAreNotMarkedAsRun) {
  const Node* first = Group({});
  const Node* second = Group({});
  const int64_t before = graph.num_changes();
  ASSERT_EQ(graph.AddControlInput(second, first), absl::OkStatus());
  EXPECT_FALSE(graph.MarkAsRunUnlessChanged({first, second}, before));
  EXPECT_EQ(graph.SetDevice(first, "/cpu:0"), absl::OkStatus()) << "neither is marked";
  EXPECT_TRUE(graph.MarkAsRunUnlessChanged({first, second}, graph.num_changes()));
  ExpectError(graph.SetDevice(first, ""), absl::StatusCode::kFailedPrecondition, {"has run"});
}

TEST_F(GraphTest, ChangesOfOtherNodesDoNotCount) {
  const Node* first = Group({});
  const Node* second = Group({});
  ASSERT_EQ(graph.SetDevice(first, "/cpu:0"), absl::OkStatus());
  const int64_t before = graph.num_changes();
  ASSERT_EQ(graph.SetDevice(second, "/cpu:0"), absl::OkStatus());
  EXPECT_TRUE(graph.MarkAsRunUnlessChanged({first}, before));
  EXPECT_EQ(graph.SetDevice(second, ""), absl::OkStatus());
}

TEST_F(GraphTest, TheBuilderKeepsItsFirstError) {
  build.Op("NoSuchOp", {});
  const Status first = build.status();
  ExpectError(first, absl::StatusCode::kNotFound, {"NoSuchOp"});
  EXPECT_FALSE(build.Op("OtherMissingOp", {}));
  EXPECT_EQ(build.status(), first);
  EXPECT_EQ(graph.num_nodes(), 0);
}

class BackEdgeTest : public SessionTest {
 protected:
  // A loop that is still open: the Merge takes what enters twice.
  void StartLoop(const PartialShape& shape) {
    entered_ = Op("Enter", {Placeholder("x", DataType::kFloat, shape)},
                  {{"frame_name", std::string("loop")}});
    EXPECT_EQ(graph.RefineShape(entered_, shape), absl::OkStatus());
    merge_ = build.Variadic("Merge", {{entered_, entered_}});
  }
  PartialShape ShapeOf(const Output& output) { return graph.Facts(output).shape; }

  Output entered_;
  const Node* merge_ = nullptr;
};

TEST_F(BackEdgeTest, ClosesALoop) {
  StartLoop({2, 3});
  const Output next = Op("NextIteration", {Op("Neg", {merge_->output(0)})});
  ASSERT_EQ(graph.SetBackEdge(merge_, 1, next.node), absl::OkStatus());
  EXPECT_EQ(merge_->input(0), entered_);
  EXPECT_EQ(merge_->input(1), next);
  EXPECT_EQ(ShapeOf(merge_->output(0)), PartialShape({2, 3}));
}

TEST_F(BackEdgeTest, ShapesThatNoLongerHoldAreForgotten) {
  StartLoop({2, 3});
  const Output body =
      build.Variadic("ConcatV2", {{merge_->output(0), entered_}, {build.Int32(0)}})->output(0);
  const Output after = Op("Neg", {body});
  ASSERT_EQ(ShapeOf(after), PartialShape({4, 3}));
  const Output next = Op("NextIteration", {after});
  ASSERT_EQ(graph.SetBackEdge(merge_, 1, next.node), absl::OkStatus());
  EXPECT_EQ(ShapeOf(merge_->output(0)), PartialShape({-1, 3}));
  EXPECT_EQ(ShapeOf(after), PartialShape({-1, 3}));
  EXPECT_EQ(ShapeOf(next), PartialShape({-1, 3}));
  EXPECT_EQ(ShapeOf(entered_), PartialShape({2, 3}));
}

TEST_F(BackEdgeTest, WhatTheCallerSaidOfAShapeStays) {
  StartLoop({2, 3});
  const Output body =
      build.Variadic("ConcatV2", {{merge_->output(0), entered_}, {build.Int32(0)}})->output(0);
  const Output said = Op("Neg", {Op("Neg", {merge_->output(0)})});
  ASSERT_EQ(graph.RefineShape(said, {2, 3}), absl::OkStatus());
  const Output next = Op("NextIteration", {body});
  ASSERT_EQ(graph.SetBackEdge(merge_, 1, next.node), absl::OkStatus());
  EXPECT_EQ(ShapeOf(said), PartialShape({2, 3}));
  EXPECT_EQ(ShapeOf(said.node->input(0)), PartialShape({-1, 3}));
}

TEST_F(BackEdgeTest, OnlyAMergeTakesOneAndOnlyFromANextIteration) {
  StartLoop({});
  const Output body = Op("Neg", {merge_->output(0)});
  const Output next = Op("NextIteration", {body});
  const Output other = Op("NextIteration", {Op("Shape", {body})});
  ExpectError(graph.SetBackEdge(body.node, 0, next.node), kInvalid, {"only a Merge"});
  ExpectError(graph.SetBackEdge(merge_, 1, body.node), kInvalid, {"op Neg"});
  ExpectError(graph.SetBackEdge(merge_, 2, next.node), kInvalid, {"no input 2, it has 2"});
  ExpectError(graph.SetBackEdge(merge_, 1, other.node), kInvalid, {"expected float", "got int32"});
}

TEST_F(BackEdgeTest, ANodeThatHasRunDoesNotChange) {
  StartLoop({});
  const Output next = Op("NextIteration", {merge_->output(0)});
  graph.MarkAsRun({merge_});
  ExpectError(graph.SetBackEdge(merge_, 1, next.node), absl::StatusCode::kFailedPrecondition,
              {"has run"});
}

class ForgottenShapeTest : public SessionTest {
 protected:
  ForgottenShapeTest() {
    handle_ = Op("VarHandleOp", {}, {{"dtype", DataType::kFloat}, {"shape", PartialShape({2})}});
    read_ = Op("ReadVariableOp", {handle_}, {{"dtype", DataType::kFloat}});
  }

  Output handle_;
  Output read_;
};

TEST_F(ForgottenShapeTest, WhatFollowedFromAVariablesShapeIsForgotten) {
  const Output sum = Op("Add", {read_, read_});
  const Output count = Op("Size", {sum});
  ASSERT_EQ(graph.Facts(sum).shape, PartialShape({2}));
  ASSERT_TRUE(graph.Facts(count).value.has_value());
  ASSERT_EQ(graph.ForgetVariableShape(handle_.node), absl::OkStatus());
  EXPECT_FALSE(graph.Facts(handle_).handle->shape.known_rank());
  EXPECT_FALSE(graph.Facts(sum).shape.known_rank());
  EXPECT_FALSE(graph.Facts(count).value.has_value());
  EXPECT_EQ(graph.Facts(count).shape, PartialShape::Scalar());
}

TEST_F(ForgottenShapeTest, OnlyAHandleThatHasNotRunForgets) {
  ExpectError(graph.ForgetVariableShape(read_.node), kInvalid, {"only a VarHandleOp"});
  graph.MarkAsRun({handle_.node});
  ExpectError(graph.ForgetVariableShape(handle_.node), absl::StatusCode::kFailedPrecondition,
              {"has used the variable"});
  EXPECT_EQ(graph.Facts(read_).shape, PartialShape({2}));
}

TEST_F(BackEdgeTest, AMergeMayWaitForItsBackEdge) {
  NodeSpec spec = Spec("merge", "Merge", {Constant(1.0f), Output()});
  spec.input_counts.clear();
  SetAttr(&spec.attrs, "T", DataType::kFloat);
  SetAttr(&spec.attrs, "N", int64_t{2});
  const StatusOr<const Node*> merge = graph.AddNode(std::move(spec));
  ASSERT_TRUE(merge.ok()) << merge.status();
  EXPECT_FALSE(ShapeOf((*merge)->output(0)).known_rank());
  ExpectError(Error((*merge)->output(0)), absl::StatusCode::kFailedPrecondition,
              {"node 'merge' (op Merge)", "not closed"});
}

TEST_F(GraphTest, AForkedChildGoesOnBuildingWhatAnotherThreadHadLocked) {
  for (int i = 0; i < 2000; ++i) Placeholder("x" + std::to_string(i), DataType::kFloat);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) EXPECT_FALSE(graph.nodes().empty());  // most of the time under the lock
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(InChild([&] { return graph.AddNode(Spec("more", "NoOp")).ok(); })) << i;
  }
  stop = true;
  other.join();
  EXPECT_TRUE(graph.AddNode(Spec("more", "NoOp")).ok());
}

}  // namespace
}  // namespace millstream
