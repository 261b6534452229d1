// How gradients are put together: the structure of what AddGradients adds. The numbers are checked
// by testing/conformance/gradient_check_test.py.
#include "core/gradients/gradients.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class GradientsTest : public ::testing::Test {
 protected:
  GradientsTest() : builder_(&graph_, "") {}

  Output Placeholder(const char* name, DataType dtype, const PartialShape& shape) {
    NodeSpec spec;
    spec.name = name;
    spec.op = "Placeholder";
    SetAttr(&spec.attrs, "dtype", dtype);
    SetAttr(&spec.attrs, "shape", shape);
    const StatusOr<const Node*> node = graph_.AddNode(spec);
    EXPECT_TRUE(node.ok()) << node.status();
    return node.ok() ? (*node)->output(0) : Output();
  }
  Output Floats(const char* name) { return Placeholder(name, DataType::kFloat, Shape({2, 3})); }

  // A variable of shape [5, 2].
  Output Variable() {
    NodeSpec spec;
    spec.name = "variable";
    spec.op = "VarHandleOp";
    SetAttr(&spec.attrs, "dtype", DataType::kFloat);
    SetAttr(&spec.attrs, "shape", PartialShape(Shape({5, 2})));
    const StatusOr<const Node*> node = graph_.AddNode(spec);
    EXPECT_TRUE(node.ok()) << node.status();
    return node.ok() ? (*node)->output(0) : Output();
  }
  Output RowsOf(Output variable) {
    return builder_.Op("ResourceGather", {variable, builder_.Int32Vector({4, 1, 4})},
                       {{"dtype", DataType::kFloat}});
  }
  Output AddN(const std::vector<Output>& terms) {
    const Node* node = builder_.Variadic("AddN", {terms});
    return node == nullptr ? Output() : node->output(0);
  }

  StatusOr<std::vector<Gradient>> Add(const std::vector<Output>& ys, const std::vector<Output>& xs,
                                      const std::vector<Output>& grad_ys = {}) {
    EXPECT_TRUE(builder_.ok()) << builder_.status();
    return AddGradients(&graph_, ys, xs, grad_ys, options_);
  }
  // The gradients, which must be there to be made.
  std::vector<Gradient> Made(const std::vector<Output>& ys, const std::vector<Output>& xs) {
    StatusOr<std::vector<Gradient>> gradients = Add(ys, xs);
    EXPECT_TRUE(gradients.ok()) << gradients.status();
    return gradients.ok() ? *gradients : std::vector<Gradient>(xs.size());
  }
  // Ops of the nodes that were added since there were `first`.
  std::vector<std::string> OpsSince(int first) const {
    std::vector<std::string> ops;
    for (int i = first; i < graph_.num_nodes(); ++i) ops.push_back(graph_.node(i)->op().name);
    return ops;
  }
  int CountSince(int first, const std::string& op) const {
    const std::vector<std::string> ops = OpsSince(first);
    return static_cast<int>(std::count(ops.begin(), ops.end(), op));
  }

  Graph graph_;
  GraphBuilder builder_;
  GradientOptions options_;
};

TEST_F(GradientsTest, SumsOverAllPathsByOneAddN) {
  const Output x = Floats("x");
  const Output y = AddN({builder_.Op("Tanh", {x}), builder_.Op("Exp", {x}), x});
  const int before = graph_.num_nodes();
  const std::vector<Gradient> gradients = Made({y}, {x});
  ASSERT_FALSE(gradients[0].is_none());
  EXPECT_EQ(gradients[0].values.node->op().name, "AddN");
  EXPECT_EQ(gradients[0].values.node->num_inputs(), 3);
  EXPECT_EQ(CountSince(before, "AddN"), 1);
}

TEST_F(GradientsTest, GradientThatOnePathGivesIsNotAddedUp) {
  const Output x = Floats("x");
  const Output y = builder_.Op("Exp", {builder_.Op("Neg", {x})});
  const int before = graph_.num_nodes();
  EXPECT_FALSE(Made({y}, {x})[0].is_none());
  EXPECT_EQ(CountSince(before, "AddN"), 0);
}

TEST_F(GradientsTest, BothInputsOfANodeMayBeTheSameTensor) {
  const Output x = Floats("x");
  const Output y = builder_.Op("Mul", {x, x});
  const Gradient gradient = Made({y}, {x})[0];
  ASSERT_FALSE(gradient.is_none());
  EXPECT_EQ(gradient.values.node->op().name, "AddN");
  EXPECT_EQ(graph_.Facts(gradient.values).shape, PartialShape(Shape({2, 3})));
}

TEST_F(GradientsTest, NodesStandBelowTheScopeAndTheirForwardNodesName) {
  const Output x = Floats("x");
  const Output y = builder_.Op("Exp", {x});
  const int before = graph_.num_nodes();
  options_.scope = "train/gradients";
  const Gradient gradient = Made({y}, {x})[0];
  EXPECT_EQ(gradient.values.node->name(), "train/gradients/Exp_grad/Mul");
  std::vector<std::string> names;
  for (int i = before; i < graph_.num_nodes(); ++i) names.push_back(graph_.node(i)->name());
  EXPECT_THAT(names, Each(StartsWith("train/gradients/")));
}

// As many conditionals as there are predicates, each on the result of the one before it. Every
// second Merge has the branch that is taken if the predicate holds first.
Output ChainOfConditionals(GraphBuilder* builder, const Output& x,
                           const std::vector<Output>& predicates) {
  Output value = x;
  for (size_t k = 0; k < predicates.size(); ++k) {
    const Node& branches = *builder->Op("Switch", {value, predicates[k]}).node;
    Output first = builder->Op("Neg", {branches.output(0)});
    Output second = builder->Op("Exp", {branches.output(1)});
    if (k % 2 == 1) std::swap(first, second);
    value = builder->Variadic("Merge", {{first, second}})->output(0);
  }
  return value;
}

TEST_F(GradientsTest, TheGradientOfAMergeIsASwitchOnThePredicateOfItsConditional) {
  const Output x = Floats("x");
  std::vector<Output> predicates;
  for (const char* name : {"p", "q", "r"}) {
    predicates.push_back(Placeholder(name, DataType::kBool, PartialShape::Scalar()));
  }
  // Each conditional has a name of its own for its predicate, so two may decide by the same one.
  predicates.push_back(builder_.Op("Identity", {predicates[1]}));
  const Output y = ChainOfConditionals(&builder_, x, predicates);
  const int before = graph_.num_nodes();
  ASSERT_FALSE(Made({y}, {x})[0].is_none());
  std::vector<Output> decide;
  for (int i = before; i < graph_.num_nodes(); ++i) {
    const Node& node = *graph_.node(i);
    if (node.op().name == "Switch") decide.push_back(node.input(1));
    for (const Output& input : node.inputs()) {
      if (input.node->op().name != "Switch" || input.node->id() < before) continue;
      EXPECT_EQ(input.index, node.op().name == "Neg" ? 0 : 1) << node.name();
    }
  }
  predicates[3] = predicates[1];
  EXPECT_THAT(decide, ElementsAreArray(predicates.rbegin(), predicates.rend()));
}

TEST_F(GradientsTest, NoneWhereNoPathLeadsToX) {
  const Output x = Floats("x");
  const Output other = Floats("other");
  const Output y = builder_.Op("Exp", {x});
  const std::vector<Gradient> gradients = Made({y}, {other, x});
  EXPECT_TRUE(gradients[0].is_none());
  EXPECT_FALSE(gradients[1].is_none());
}

TEST_F(GradientsTest, NoneThroughOpsThatAreNotDifferentiable) {
  const Output x = Floats("x");
  const Output stopped = builder_.Op("StopGradient", {x});
  const Output rounded = builder_.Op("Floor", {x});
  EXPECT_TRUE(Made({stopped}, {x})[0].is_none());
  EXPECT_TRUE(Made({rounded}, {x})[0].is_none());
  // Another path still counts.
  const Gradient gradient = Made({builder_.Op("Mul", {x, rounded})}, {x})[0];
  ASSERT_FALSE(gradient.is_none());
  EXPECT_EQ(gradient.values.node->op().name, "Mul");
}

TEST_F(GradientsTest, NothingIsAddedForBranchesThatDoNotLeadToX) {
  const Output x = Floats("x");
  const Output other = Floats("other");
  const Output y = builder_.Op("Add", {x, builder_.Op("Tanh", {other})});
  const int before = graph_.num_nodes();
  Made({y}, {x});
  EXPECT_EQ(CountSince(before, "TanhGrad"), 0);
}

TEST_F(GradientsTest, StopGradientsAreTakenAsConstants) {
  const Output x = Floats("x");
  const Output middle = builder_.Op("Tanh", {x});
  const Output y = builder_.Op("Mul", {middle, x});
  options_.stop_gradients = {middle};
  const std::vector<Gradient> gradients = Made({y}, {x, middle});
  EXPECT_EQ(gradients[0].values.node->op().name, "Mul");
  EXPECT_EQ(gradients[0].values.node->input(0), middle);
  EXPECT_FALSE(gradients[1].is_none()) << "a tensor that stops gradients has one itself";
}

TEST_F(GradientsTest, GradientByATensorInTheMiddleAndByYItself) {
  const Output x = Floats("x");
  const Output middle = builder_.Op("Tanh", {x});
  const Output y = builder_.Op("Exp", {middle});
  const std::vector<Gradient> gradients = Made({y}, {x, middle, y});
  for (const Gradient& gradient : gradients) EXPECT_FALSE(gradient.is_none());
  EXPECT_EQ(gradients[0].values.node->op().name, "TanhGrad");
  EXPECT_EQ(gradients[2].values.node->op().name, "Fill");
}

TEST_F(GradientsTest, SeveralYsAreAddedUp) {
  const Output x = Floats("x");
  const Output y = builder_.Op("Exp", {x});
  const Output z = builder_.Op("Neg", {x});
  EXPECT_EQ(Made({y, z}, {x})[0].values.node->op().name, "AddN");
  // A y that another y needs gets its own weight beside what flows back through it.
  const Output outer = builder_.Op("Tanh", {y});
  const int before = graph_.num_nodes();
  EXPECT_FALSE(Made({outer, y}, {x})[0].is_none());
  EXPECT_EQ(CountSince(before, "AddN"), 1);
}

TEST_F(GradientsTest, RowsStayRowsAndAreConcatenated) {
  const Output variable = Variable();
  const Gradient one = Made({RowsOf(variable)}, {variable})[0];
  EXPECT_TRUE(one.is_slices());
  const Output twice = builder_.Op("Add", {RowsOf(variable), RowsOf(variable)});
  const Gradient both = Made({twice}, {variable})[0];
  ASSERT_TRUE(both.is_slices());
  EXPECT_EQ(both.values.node->op().name, "ConcatV2");
  EXPECT_EQ(graph_.Facts(both.values).shape, PartialShape(Shape({6, 2})));
  EXPECT_EQ(graph_.Facts(both.indices).shape, PartialShape(Shape({6})));
}

TEST_F(GradientsTest, RowsAndADenseGradientAddUpDense) {
  const Output variable = Variable();
  const Output value = builder_.Op("ReadVariableOp", {variable}, {{"dtype", DataType::kFloat}});
  const Output rows = RowsOf(variable);
  const Gradient gradient = Made({value, rows}, {variable})[0];
  ASSERT_FALSE(gradient.is_none());
  EXPECT_FALSE(gradient.is_slices());
  EXPECT_EQ(gradient.values.node->op().name, "AddN");
  EXPECT_EQ(graph_.Facts(gradient.values).shape, PartialShape(Shape({5, 2})));
}

TEST_F(GradientsTest, RowsAreAddedUpWhereAnOpNeedsThemDense) {
  const Output x = Placeholder("x", DataType::kFloat, Shape({5, 2}));
  const Output y = builder_.Op(
      "GatherV2", {builder_.Op("Tanh", {x}), builder_.Int32Vector({4, 1}), builder_.Int32(0)});
  const int before = graph_.num_nodes();
  const Gradient gradient = Made({y}, {x})[0];
  EXPECT_FALSE(gradient.is_slices());
  EXPECT_EQ(gradient.values.node->op().name, "TanhGrad");
  EXPECT_EQ(CountSince(before, "UnsortedSegmentSum"), 1);
}

TEST_F(GradientsTest, MissingGradientFunctionNamesTheNode) {
  const Output x = Floats("x");
  const Output y = builder_.Op("PreventGradient", {x});
  const Status status = Add({y}, {x}).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("no gradient function is registered"));
  EXPECT_THAT(status.message(), HasSubstr("'PreventGradient'"));
  // It is no error where nothing wants the gradient.
  EXPECT_TRUE(Add({y}, {Floats("other")}).ok());
}

TEST_F(GradientsTest, YsMustBeNumbersThatHaveDerivatives) {
  const Output x = Floats("x");
  const Output y = builder_.Op("Cast", {x}, {{"DstT", DataType::kInt32}});
  const Status status = Add({y}, {x}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("must be floating point"));
  EXPECT_THAT(status.message(), HasSubstr("'Cast'"));
}

TEST_F(GradientsTest, GradYsMustFitTheirYs) {
  const Output x = Floats("x");
  const Output y = builder_.Op("Exp", {x});
  EXPECT_TRUE(Add({y}, {x}, {Floats("fits")}).ok());
  EXPECT_TRUE(Add({y}, {x}, {Output()}).ok()) << "no weight is a weight of ones";
  const Output wrong_type = Placeholder("wrong_type", DataType::kDouble, Shape({2, 3}));
  EXPECT_TRUE(absl::IsInvalidArgument(Add({y}, {x}, {wrong_type}).status()));
  const Status status = Add({y}, {x}, {Output(), Output()}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("one grad_ys for each of 1 ys, got 2"));
}

TEST_F(GradientsTest, GradYsOfAnotherShapeCountWhereTheGradientsFit) {
  const Output x = Floats("x");
  const Output flat = builder_.Op("Reshape", {x, builder_.Int32Vector({6})});
  EXPECT_TRUE(Add({flat}, {x}, {Floats("as_many_elements")}).ok());
  const Output wrong = Placeholder("wrong", DataType::kFloat, Shape({2, 4}));
  const Status status = Add({builder_.Op("Identity", {x})}, {x}, {wrong}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("Incompatible shapes between op input"));
  EXPECT_THAT(status.message(), HasSubstr("'Identity'"));
  EXPECT_THAT(status.message(), HasSubstr("[2,4]"));
}

TEST_F(GradientsTest, GradientsHaveTheShapesOfTheirInputs) {
  const Output x = Floats("x");
  const Output axis = Placeholder("axis", DataType::kInt32, PartialShape::Scalar());
  const Output y = builder_.Op("GatherV2", {x, builder_.Int32Vector({1, 0}), axis});
  EXPECT_EQ(builder_.ShapeOf(Made({y}, {x})[0].values), PartialShape(Shape({2, 3})));
}

TEST_F(GradientsTest, AnAttributeNamesAnotherGradientFunction) {
  const Output x = Floats("x");
  const int first = graph_.num_nodes();
  const Output y = builder_.Op("Floor", {x}, {{"_gradient_op_type", std::string("Exp")}});
  EXPECT_EQ(Made({builder_.Op("Floor", {x})}, {x})[0].values, Output());
  EXPECT_NE(Made({y}, {x})[0].values, Output());
  EXPECT_EQ(CountSince(first, "Mul"), 1);
  const Output unknown = builder_.Op("Floor", {x}, {{"_gradient_op_type", std::string("Other")}});
  EXPECT_TRUE(absl::IsNotFound(Add({unknown}, {x}).status()));
}

TEST_F(GradientsTest, GradientsStandBesideTheirOpsWhereThatIsAskedFor) {
  const Output x = Floats("x");
  const Output a = builder_.Op("Exp", {x});
  const Output b = builder_.Op("Neg", {x});
  const Output y = builder_.Op("Mul", {a, b});
  const auto groups = [](const Output& output) {
    return output.node->Attr<std::vector<std::string>>("_class").value_or(
        std::vector<std::string>());
  };
  EXPECT_THAT(groups(Made({y}, {x})[0].values), IsEmpty());
  options_.colocate_with_forward = true;
  const Gradient sum = Made({y}, {x})[0];
  ASSERT_EQ(sum.values.node->op().name, "AddN");
  EXPECT_THAT(groups(sum.values), ElementsAre("loc:@Neg"));
  EXPECT_THAT(groups(sum.values.node->input(0)), ElementsAre("loc:@Neg"));
  EXPECT_THAT(groups(sum.values.node->input(1)), ElementsAre("loc:@Exp"));
  const Gradient first = Made({y}, {y})[0];
  EXPECT_THAT(groups(first.values), ElementsAre("loc:@Mul"));
}

TEST_F(GradientsTest, GradientsOfOneDeviceAreSummedThereWhereTheyStandBesideTheirOps) {
  builder_.set_device("/device:CPU:0");
  const Output x = builder_.Op("Exp", {Floats("x")});
  builder_.set_device("/device:CPU:1");
  const Output a = builder_.Op("Tanh", {x});
  const Output b = builder_.Op("Square", {x});
  builder_.set_device("/device:CPU:2");
  const Output c = builder_.Op("Neg", {x});
  options_.colocate_with_forward = true;
  const int first = graph_.num_nodes();
  const Output sum = Made({a, b, c}, {x})[0].values;
  ASSERT_EQ(CountSince(first, "AddN"), 2);
  const auto groups = [](const Output& output) {
    return output.node->Attr<std::vector<std::string>>("_class").value_or(
        std::vector<std::string>());
  };
  EXPECT_EQ(graph_.Device(sum.node), "/device:CPU:0");
  EXPECT_THAT(groups(sum), ElementsAre("loc:@Exp"));
  const Output near = sum.node->input(0);
  ASSERT_EQ(near.node->op().name, "AddN");
  EXPECT_EQ(graph_.Device(near.node), "/device:CPU:1");
  EXPECT_THAT(groups(near), ElementsAre("loc:@Square"));
  EXPECT_EQ(graph_.Device(sum.node->input(1).node), "/device:CPU:2");
}

// A node that is colocated with another one passes that on, and not its own name.
TEST_F(GradientsTest, GradientsJoinTheGroupsThatTheirOpIsIn) {
  const Output x = Floats("x");
  builder_.set_colocation({"loc:@x"});
  const Output y = builder_.Op("Exp", {x});
  options_.colocate_with_forward = true;
  const Gradient gradient = Made({y}, {x})[0];
  const auto groups = gradient.values.node->Attr<std::vector<std::string>>("_class");
  EXPECT_THAT(groups.value_or(std::vector<std::string>()), ElementsAre("loc:@x"));
}

TEST_F(GradientsTest, FirstGradientOfUnknownShapeIsMadeOfTheValue) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape());
  const Gradient gradient = Made({builder_.Op("Neg", {x})}, {x})[0];
  EXPECT_EQ(gradient.values.node->input(0).node->op().name, "OnesLike");
}

TEST_F(GradientsTest, SecondDerivativeGoesThroughTheFirst) {
  const Output x = Floats("x");
  const Output y = builder_.Op("Tanh", {x});
  const Gradient first = Made({y}, {x})[0];
  ASSERT_FALSE(first.is_none());
  const Gradient second = Made({first.values}, {x})[0];
  ASSERT_FALSE(second.is_none());
  EXPECT_EQ(graph_.Facts(second.values).shape, PartialShape(Shape({2, 3})));
}

TEST_F(GradientsTest, AGradientThatNobodyCanComputeIsAnErrorWhereItIsWanted) {
  const Output a = Floats("a");
  const Output x = Floats("x");
  const Output y = builder_.Op("IgammaGradA", {a, x});
  EXPECT_FALSE(Made({y}, {x})[0].is_none());
  const Status wanted = Add({y}, {x, a}).status();
  EXPECT_TRUE(absl::IsNotFound(wanted)) << wanted;
  EXPECT_THAT(wanted.ToString(), HasSubstr("op IgammaGradA by input 0"));
}

TEST_F(GradientsTest, UnusedOutputsOfANodeCountAsZeros) {
  const Output x = Placeholder("x", DataType::kFloat, Shape({4}));
  const Node* split = builder_.NodeOf("Split", {builder_.Int32(0), x}, {{"num_split", int64_t{2}}});
  ASSERT_NE(split, nullptr);
  const int before = graph_.num_nodes();
  EXPECT_FALSE(Made({split->output(1)}, {x})[0].is_none());
  EXPECT_EQ(CountSince(before, "ZerosLike"), 1);
}

TEST(GradientRegistryTest, OpMayHaveOneGradientFunction) {
  const Status status = RegisterGradient("Exp", nullptr);
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_TRUE(absl::IsNotFound(FindGradient("NoSuchOp").status()));
}

TEST(GradientRegistryTest, DifferentiableOpsAreThoseWithAFunction) {
  const std::vector<std::string> ops = DifferentiableOps();
  EXPECT_TRUE(std::is_sorted(ops.begin(), ops.end()));
  EXPECT_TRUE(std::binary_search(ops.begin(), ops.end(), "MatMul"));
  EXPECT_FALSE(std::binary_search(ops.begin(), ops.end(), "Floor"));
}

// An eager program has tensors for what a call took and gave, and no node that took them.
TEST_F(GradientsTest, AGradientFunctionNeedsTheCallAndNoNodeOfIt) {
  const Output a = Placeholder("a", DataType::kFloat, Shape({3, 2}));
  const Output b = Placeholder("b", DataType::kFloat, Shape({3, 5}));
  const Output y = Placeholder("y", DataType::kFloat, Shape({2, 5}));
  const Output dy = Placeholder("dy", DataType::kFloat, Shape({2, 5}));
  const OwnedOpCall product =
      MakeOpCall(**OpRegistry::Global()->Find("MatMul"), {{"transpose_a", true}},
                 {DataType::kFloat, DataType::kFloat}, {1, 1})
          .value();
  const int first = graph_.num_nodes();
  GradientContext context(product.call(), {a, b}, {y}, {Gradient{dy, {}, {}}}, &builder_);
  ASSERT_EQ((*FindGradient("MatMul"))(&context), absl::OkStatus());
  EXPECT_THAT(OpsSince(first), ElementsAre("MatMul", "MatMul"));
  const Node& da = *context.dx()[0].values.node;
  EXPECT_THAT(da.inputs(), ElementsAre(b, dy));
  EXPECT_TRUE(*da.Attr<bool>("transpose_b"));
  EXPECT_EQ(builder_.ShapeOf(da.output(0)), PartialShape({3, 2}));
  EXPECT_EQ(builder_.ShapeOf(context.dx()[1].values), PartialShape({3, 5}));
}

TEST_F(GradientsTest, TheGradientOfACallTakesItsOutputAsGiven) {
  const Output x = Floats("x");
  const Output y = Floats("y");
  const Output dy = Floats("dy");
  const OwnedOpCall tanh =
      MakeOpCall(**OpRegistry::Global()->Find("Tanh"), {}, {DataType::kFloat}, {1}).value();
  GradientContext context(tanh.call(), {x}, {y}, {Gradient{dy, {}, {}}}, &builder_);
  ASSERT_EQ((*FindGradient("Tanh"))(&context), absl::OkStatus());
  EXPECT_THAT(context.dx()[0].values.node->inputs(), ElementsAre(y, dy));
}

}  // namespace
}  // namespace millstream
