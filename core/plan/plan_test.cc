// What the compiler makes of graphs: which nodes become instructions, and where tensors lie.
#include "core/plan/plan.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/device/kernel_instance.h"
#include "core/graph/prune.h"
#include "core/numerics/numeric_checks.h"
#include "core/passes/pass.h"
#include "core/plan/plan_compiler.h"
#include "core/plan/running_steps.h"
#include "core/resources/resource_manager.h"
#include "core/testing/session_fixture.h"
#include "framework/op_registry.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/shape_context.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

MILLSTREAM_OP("TestHolds")
    .Input("x: float")
    .Output("y: float")
    .SharesOutputs()
    .Shape(UnchangedShape)
    .Doc("Gives a tensor that exists already.");
MILLSTREAM_OP("TestMakes")
    .Input("x: float")
    .Output("y: float")
    .Shape(UnchangedShape)
    .Doc("Makes a tensor.");

// A kernel for plans that do not run.
KernelRegistration IdleKernel(const char* op) {
  KernelRegistration kernel;
  kernel.op = op;
  kernel.device_type = kAnyDevice;
  kernel.plugin = "test";
  kernel.create = [](void*, const MS_KernelInfo*, void**) -> MS_Status* { return nullptr; };
  kernel.compute = [](void*, MS_Frame*) -> MS_Status* { return nullptr; };
  return kernel;
}

class PlanTest : public SessionTest {
 protected:
  void SetUp() override {
    StartSession();
    settings_.resources = &resources_;
  }

  // The plan for feeds of these shapes.
  std::unique_ptr<Plan> Compile(const StepSignature& signature,
                                const std::vector<Shape>& feed_shapes = {}) {
    const StatusOr<PrunedGraph> pruned = Prune(graph, signature);
    EXPECT_TRUE(pruned.ok()) << pruned.status();
    PlanRequest request;
    request.graph = &*pruned;
    request.signature = &signature;
    request.feed_shapes = &feed_shapes;
    request.kernels = &kernels_;
    request.settings = &settings_;
    StatusOr<std::unique_ptr<Plan>> plan = CompilePlan(request);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? *std::move(plan) : std::make_unique<Plan>();
  }

  static std::vector<std::string> OpsOf(const Plan& plan) {
    std::vector<std::string> ops;
    for (const Instruction& instruction : plan.instructions) {
      ops.push_back(instruction.node->op().name);
    }
    return ops;
  }

  static const Root& OutputRoot(const Plan& plan, int instruction, int output = 0) {
    return plan.roots[plan.instructions[instruction].outputs[output].root];
  }

  // Instructions of the step that ran last.
  int64_t InstructionsOf(const StepSignature& signature) {
    const std::unique_ptr<Callable> callable = MakeCallable(signature);
    std::vector<Tensor> results(signature.fetches.size());
    EXPECT_EQ(callable->Run({}, absl::MakeSpan(results), RunOptions()), absl::OkStatus());
    return callable->num_instructions();
  }

  // What Compile does without.
  // Nor with passes, some of which save what plans would.
  void Without(const std::string& name) {
    settings_.features = PlanFeaturesWithout({name});
    settings_.options.disabled_passes = PassNames();
  }

  ResourceManager resources_;
  SessionSettings settings_;
  KernelCache kernels_{"CPU", "/job:localhost/replica:0/task:0/device:CPU:0", &kNoDevice};
};

TEST_F(PlanTest, ConstantsAndVariablesHandlesAreNoInstructions) {
  const Output w = Variable("w", DataType::kFloat, {2});
  const Output y = Op("Mul", {Read(w), Constant(2.0f)});
  EXPECT_THAT(OpsOf(*Compile({{}, {y}, {}})), ElementsAre("ReadVariableOp", "Mul"));
}

TEST_F(PlanTest, RenamesAreNoInstructions) {
  const Output x = Placeholder("x", DataType::kFloat);
  Output y = Op("Neg", {x});
  y = Op("Identity", {y});
  y = Op("Reshape", {y, Constant(Values<int32_t>({3, -1}))});
  y = Op("ExpandDims", {y, Constant(Tensor::Scalar<int32_t>(0))});
  y = Op("StopGradient", {Op("Squeeze", {y})});
  const std::unique_ptr<Plan> plan = Compile({{x}, {Op("Exp", {y})}, {}}, {{2, 3}});
  EXPECT_THAT(OpsOf(*plan), ElementsAre("Neg", "Exp"));
  EXPECT_EQ(plan->instructions[0].outputs[0].root, plan->instructions[1].inputs[0].root);
  EXPECT_EQ(plan->instructions[1].inputs[0].shape, Shape({3, 2}));
}

TEST_F(PlanTest, ARenamedTensorIsFetchedInItsShape) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output flat = Op("Neg", {x});
  const Output square = Op("Reshape", {flat, Constant(Values<int32_t>({2, 2}))});
  const auto results = Run({flat, square}, {{x, Values<float>({1, 2, 3, 4})}});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].shape(), Shape({4}));
  EXPECT_EQ((*results)[1].shape(), Shape({2, 2}));
  EXPECT_THAT(Elements<float>((*results)[1]), ElementsAre(-1, -2, -3, -4));
}

TEST_F(PlanTest, ShapeArithmeticFoldsOnceShapesAreKnown) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output rows = Op("StridedSlice",
                         {Op("Shape", {x}), Constant(Values<int32_t>({0})),
                          Constant(Values<int32_t>({1})), Constant(Values<int32_t>({1}))},
                         {{"shrink_axis_mask", 1}});
  const Node* sizes = build.Variadic("Pack", {{rows, Constant(Tensor::Scalar<int32_t>(-1))}});
  const Output y = Op("Reshape", {Op("Neg", {x}), sizes->output(0)});
  EXPECT_THAT(OpsOf(*Compile({{x}, {y}, {}}, {{2, 3, 4}})), ElementsAre("Neg"));
  EXPECT_EQ(Value(y, {{x, Tensor::Create(DataType::kFloat, {2, 3, 4}).value()}}).shape(),
            Shape({2, 12}));
}

TEST_F(PlanTest, AShapeThatInferenceOnlyAssumesIsChecked) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output sizes = Placeholder("sizes", DataType::kInt32);
  // A vector of six elements can only be reshaped to [6] if `sizes` holds one number.
  const Output y = Op("Reshape", {x, sizes});
  const Tensor six = Values<float>({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Value(y, {{x, six}, {sizes, Values<int32_t>({6})}}).shape(), Shape({6}));
  ExpectError(Error(y, {{x, six}, {sizes, Values<int32_t>({5})}}),
              absl::StatusCode::kInvalidArgument, {y.node->name(), "[6]", "[5]"});
}

TEST_F(PlanTest, AFetchedShapeIsAConstantOfThePlan) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output shape = Op("Shape", {x});
  EXPECT_THAT(OpsOf(*Compile({{x}, {shape}, {}}, {{5, 6}})), IsEmpty());
  EXPECT_THAT(
      Elements<int32_t>(Value(shape, {{x, Tensor::Create(DataType::kFloat, {5, 6}).value()}})),
      ElementsAre(5, 6));
}

TEST_F(PlanTest, AFoldedNodeStillWaitsForItsControlInputs) {
  const Output w = Variable("w", DataType::kFloat, PartialShape::Scalar());
  const Node* assign = Assign(w, Constant(4.0f));
  build.set_control_inputs({assign});
  const Output shape = Op("Shape", {Constant(Values<float>({1, 2}))});
  build.set_control_inputs({});
  ASSERT_TRUE(Run({shape}).ok());
  EXPECT_THAT(Elements<float>(Value(Read(w))), ElementsAre(4));
}

TEST_F(PlanTest, StatefulNodesAreNeverFolded) {
  const Output random =
      Op("RandomUniformInt", {Constant(Values<int32_t>({2})), Constant(Tensor::Scalar<int32_t>(0)),
                              Constant(Tensor::Scalar<int32_t>(100))});
  EXPECT_THAT(OpsOf(*Compile({{}, {random}, {}})), ElementsAre("RandomUniformInt"));
}

// Of doubles: operations on floats would become one.
TEST_F(PlanTest, AChainWorksInPlace) {
  const Output x = Placeholder("x", DataType::kDouble);
  Output y = x;
  for (int i = 0; i < 4; ++i) y = Op("Exp", {y});
  const Output end = Op("Sum", {y, Constant(Values<int32_t>({0}))});
  const std::unique_ptr<Plan> plan = Compile({{x}, {end}, {}}, {{1000}});
  ASSERT_EQ(plan->instructions.size(), 5u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(OutputRoot(*plan, i).kind, RootKind::kPlanned);
    EXPECT_EQ(OutputRoot(*plan, i).offset, OutputRoot(*plan, 0).offset);
  }
}

TEST_F(PlanTest, WhatIsReadLaterIsNotOverwritten) {
  const Output x = Placeholder("x", DataType::kDouble);
  const Output a = Op("Neg", {x});
  const Output b = Op("Square", {a});
  const Output c = Op("Add", {a, b});
  const Output end = Op("Exp", {c});
  const std::unique_ptr<Plan> plan = Compile({{x}, {end}, {}}, {{1000}});
  EXPECT_NE(OutputRoot(*plan, 0).offset, OutputRoot(*plan, 1).offset);
  EXPECT_THAT(Elements<double>(Value(c, {{x, Values<double>({1, 2})}})), ElementsAre(0, 2));
}

TEST_F(PlanTest, ReadingThroughAReshapeKeepsATensorAlive) {
  const Output x = Placeholder("x", DataType::kDouble);
  const Output a = Op("Neg", {x});
  const Output same = Op("Reshape", {a, Constant(Values<int32_t>({2}))});
  const Output b = Op("Square", {a});
  const Output sum = Op("Add", {same, b});
  EXPECT_THAT(Elements<double>(Value(Op("Neg", {sum}), {{x, Values<double>({1, 2})}})),
              ElementsAre(0, -2));
}

TEST_F(PlanTest, ATensorThatIsReadTwiceByOneInstructionMayBeOverwrittenByIt) {
  const Output x = Placeholder("x", DataType::kDouble);
  const Output a = Op("Neg", {x});
  const Output doubled = Op("Sub", {Op("Add", {a, a}), Constant(Tensor::Scalar<double>(1))});
  EXPECT_THAT(Elements<double>(Value(doubled, {{x, Values<double>({1, 2})}})), ElementsAre(-3, -5));
}

TEST_F(PlanTest, UnusedOutputsAreMarked) {
  const Output logits = Placeholder("logits", DataType::kFloat);
  const Output labels = Placeholder("labels", DataType::kInt32);
  const Node* node = build.NodeOf("SparseSoftmaxCrossEntropyWithLogits", {logits, labels});
  const auto used = [&](const StepSignature& signature) {
    return Compile(signature, {{2, 3}, {2}})->instructions[0].outputs_used[0];
  };
  EXPECT_EQ(used({{logits, labels}, {node->output(0)}, {}}), 1u);
  EXPECT_EQ(used({{logits, labels}, {node->output(1)}, {}}), 2u);
  EXPECT_EQ(used({{logits, labels}, {Op("Neg", {node->output(1)})}, {}}), 2u);
  EXPECT_EQ(used({{logits, labels}, {}, {node}}), 3u);
}

TEST_F(PlanTest, AFedOutputOfARunningNodeIsTheFeed) {
  const Output logits = Placeholder("logits", DataType::kFloat);
  const Output labels = Placeholder("labels", DataType::kInt32);
  const Node* node = build.NodeOf("SparseSoftmaxCrossEntropyWithLogits", {logits, labels});
  const Output sum = Op("Neg", {node->output(0)});
  const auto results =
      Run({sum, node->output(1)}, {{node->output(0), Values<float>({4, 5})},
                                   {logits, Tensor::Of<float>({2, 2}, {0, 0, 0, 0})},
                                   {labels, Values<int32_t>({0, 1})}});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Elements<float>((*results)[0]), ElementsAre(-4, -5));
  EXPECT_THAT(Elements<float>((*results)[1]), ElementsAre(-0.5, 0.5, 0.5, -0.5));
}

TEST_F(PlanTest, WithoutOptimizationEveryNodeIsAnInstruction) {
  const Node* last = nullptr;
  for (int i = 0; i < 10000; ++i) {
    last = last == nullptr ? Group({}) : Group({last});
  }
  EXPECT_EQ(InstructionsOf({{}, {}, {last}}), 0);
  SessionOptions options;
  options.optimize = false;
  StartSession(options);
  EXPECT_EQ(InstructionsOf({{}, {}, {last}}), 10000);
}

TEST_F(PlanTest, WithoutOptimizationResultsAreTheSame) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output reshaped = Op("Reshape", {Op("Identity", {x}), Constant(Values<int32_t>({2, -1}))});
  const Output scale = Op("Cast", {Op("Size", {reshaped})}, {{"DstT", DataType::kFloat}});
  const Output y = Op("Mul", {reshaped, scale});
  const std::vector<Feed> feeds = {{x, Values<float>({1, 2, 3, 4})}};
  const Tensor optimized = Value(y, feeds);
  SessionOptions options;
  options.optimize = false;
  StartSession(options);
  EXPECT_TRUE(TensorsEqual(Value(y, feeds), optimized));
  EXPECT_THAT(Elements<float>(optimized), ElementsAre(4, 8, 12, 16));
}

TEST_F(PlanTest, EveryFeedShapeIsServedThoughOnly32PlansAreKept) {
  const Output x = Placeholder("x", DataType::kFloat, {-1});
  const Output scale = Op("Cast", {Op("Size", {x})}, {{"DstT", DataType::kFloat}});
  const Output tail = Op("Slice", {x, Constant(Values<int32_t>({0})),
                                   Op("Sub", {Op("Shape", {x}), Constant(Values<int32_t>({1}))})});
  const Output sum = Op("Sum", {Op("Mul", {tail, scale}), Constant(Values<int32_t>({0}))});
  const std::unique_ptr<Callable> callable = MakeCallable({{x}, {sum}, {}});
  const auto run = [&](int size) {
    const std::vector<Tensor> feeds = {Values<float>(std::vector<float>(size, 2))};
    std::vector<Tensor> results(1);
    EXPECT_EQ(callable->Run(feeds, absl::MakeSpan(results), RunOptions()), absl::OkStatus());
    EXPECT_THAT(Elements<float>(results[0]),
                ElementsAre(2.0f * static_cast<float>((size - 1) * size)));
    return callable->num_instructions();
  };
  // Of one element the scale would be 1, and the product gone.
  const int64_t planned = run(2);
  for (int size = 3; size <= 33; ++size) EXPECT_EQ(run(size), planned);
  // From here on shapes are found as the step runs: the shape arithmetic is done in it.
  const int64_t dynamic = run(34);
  EXPECT_GT(dynamic, planned);
  for (int size = 35; size < 40; ++size) EXPECT_EQ(run(size), dynamic);
  EXPECT_EQ(run(7), planned);
}

TEST_F(PlanTest, ShapesThatOnlyTheStepKnowsGiveTheSameResults) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output sizes = Placeholder("sizes", DataType::kInt32);
  const Output known = Constant(Values<int32_t>({3, 2}));
  const auto tower = [&](const Output& shape) {
    const Output wide = Op("Reshape", {Op("Neg", {x}), shape});
    const Output product = Op("MatMul", {wide, wide}, {{"transpose_b", true}});
    const Output relu = Op("Relu", {Op("Sub", {product, Constant(8.0f)})});
    return Op("Identity", {Op("Add", {relu, relu})});
  };
  const Output planned = tower(known);
  const Output dynamic = tower(sizes);
  const auto results = Run({planned, dynamic}, {{x, Values<float>({1, 2, 3, 4, 5, 6})},
                                                {sizes, Values<int32_t>({3, 2})}});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_TRUE(TensorsEqual((*results)[0], (*results)[1]));
  EXPECT_THAT(Elements<float>((*results)[0]), ElementsAre(0, 6, 18, 6, 34, 62, 18, 62, 106));
}

TEST_F(PlanTest, DynamicTensorsAreOverwrittenOnlyByTheirLastReader) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output sizes = Placeholder("sizes", DataType::kInt32);
  const Output a = Op("Reshape", {x, sizes});
  const Output b = Op("Neg", {a});
  const Output c = Op("Square", {b});
  const Output d = Op("Add", {b, c});
  const Tensor fed = Values<float>({1, 2, 3});
  const auto results = Run({d, b}, {{x, fed}, {sizes, Values<int32_t>({3})}});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Elements<float>((*results)[0]), ElementsAre(0, 2, 6));
  EXPECT_THAT(Elements<float>((*results)[1]), ElementsAre(-1, -2, -3));
  EXPECT_THAT(Elements<float>(fed), ElementsAre(1, 2, 3));
}

TEST_F(PlanTest, AConstantThatPassesThroughAStepIsNotWritten) {
  const Output sizes = Placeholder("sizes", DataType::kInt32);
  const Output c = Constant(Values<float>({1, 2, 3}));
  const Output y = Op("Neg", {Op("Reshape", {c, sizes})});
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Elements<float>(Value(y, {{sizes, Values<int32_t>({3})}})),
                ElementsAre(-1, -2, -3));
  }
}

TEST_F(PlanTest, TheSlabHoldsNoMoreThanWhatLivesTogether) {
  const Output x = Placeholder("x", DataType::kFloat);
  Output y = x;
  // MatMul cannot work in place, so that each step needs its input and its output.
  for (int i = 0; i < 10; ++i) y = Op("MatMul", {y, y});
  const std::unique_ptr<Plan> plan = Compile({{x}, {Op("Neg", {y})}, {}}, {{64, 64}});
  int64_t scratch = 0;
  for (const Instruction& instruction : plan->instructions) {
    scratch = std::max(scratch, instruction.scratch_bytes);
  }
  EXPECT_LE(plan->slab_bytes, 2 * 64 * 64 * 4 + scratch + 64);
}

// ---- What can be switched off; that results stay the same is optimizations_test's ----

TEST_F(PlanTest, WithoutSlabEachTensorIsMadeByItsInstruction) {
  const Output x = Placeholder("x", DataType::kDouble);
  const Output end = Op("Exp", {Op("Neg", {x})});
  const StepSignature step{{x}, {end}, {}};
  EXPECT_GT(Compile(step, {{1000}})->slab_bytes, 0);
  Without("slab");
  const std::unique_ptr<Plan> plan = Compile(step, {{1000}});
  EXPECT_EQ(plan->slab_bytes, 0);
  EXPECT_THAT(plan->escaping_roots, IsEmpty());
  EXPECT_EQ(plan->num_slots, 2);
  EXPECT_THAT(plan->instructions[1].release, ElementsAre(OutputRoot(*plan, 0).index));
}

TEST_F(PlanTest, WithoutInPlaceOutputsHaveMemoryOfTheirOwn) {
  const Output x = Placeholder("x", DataType::kDouble);
  const Output sum = Op("Sum", {Op("Neg", {Op("Neg", {x})}), Constant(Values<int32_t>({0}))});
  Without("in_place");
  const std::unique_ptr<Plan> plan = Compile({{x}, {sum}, {}}, {{1000}});
  ASSERT_EQ(plan->instructions.size(), 3u);
  EXPECT_EQ(OutputRoot(*plan, 0).kind, RootKind::kPlanned);
  EXPECT_NE(OutputRoot(*plan, 0).offset, OutputRoot(*plan, 1).offset);
}

// Plans come and go while the session stays.
TEST_F(PlanTest, ChecksForgetTheKernelsOfAPlanThatIsGone) {
  NumericChecks checks("", nullptr);
  settings_.checks = &checks;
  NumericChecks::DisableFusion(&settings_.options.disabled_passes);
  const Output gradients = Placeholder("gradients", DataType::kFloat);
  const Output features = Placeholder("features", DataType::kFloat);
  const Output gradient = Op("ReluGrad", {gradients, features});
  const StepSignature step{
      {gradients, features}, {Op("Exp", {gradient}), Op("BiasAddGrad", {gradient})}, {}};
  std::unique_ptr<Plan> plan = Compile(step, {{70, 130}, {70, 130}});
  ASSERT_THAT(plan->own_kernels, SizeIs(1));
  EXPECT_EQ(checks.num_kernels(), 2u);
  plan.reset();
  EXPECT_EQ(checks.num_kernels(), 1u) << "of Exp, which is the session's";
}

TEST_F(PlanTest, WithoutFoldShapesTheStepComputesThem) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output y = Op("Reshape", {Op("Neg", {x}), Op("Shape", {x})});
  Without("fold_shapes");
  EXPECT_THAT(OpsOf(*Compile({{x}, {y}, {}}, {{2, 3}})), ElementsAre("Neg", "Shape"));
}

TEST_F(PlanTest, WithoutViewsRenamesAreInstructionsWithMemoryOfTheirOwn) {
  const Output x = Placeholder("x", DataType::kFloat);
  Output y = Op("Neg", {x});
  y = Op("Identity", {y});
  y = Op("Reshape", {y, Constant(Values<int32_t>({3, -1}))});
  Without("views");
  const std::unique_ptr<Plan> plan = Compile({{x}, {Op("Exp", {y})}, {}}, {{2, 3}});
  ASSERT_THAT(OpsOf(*plan), ElementsAre("Neg", "Identity", "Reshape", "Exp"));
  EXPECT_NE(OutputRoot(*plan, 0).offset, OutputRoot(*plan, 1).offset);
  EXPECT_NE(OutputRoot(*plan, 1).offset, OutputRoot(*plan, 2).offset);
}

TEST_F(PlanTest, WithoutViewsHandlesStillHaveOtherNames) {
  const Output w = Variable("w", DataType::kFloat, {2});
  const Output y = Op("Neg", {Read(Op("Identity", {w}))});
  Without("views");
  EXPECT_THAT(OpsOf(*Compile({{}, {y}, {}})), ElementsAre("ReadVariableOp", "Neg"));
}

TEST_F(PlanTest, AnOpThatSharesItsOutputsHasNoPlaceForThem) {
  ASSERT_EQ(KernelRegistry::Global()->Commit({IdleKernel("TestHolds"), IdleKernel("TestMakes")}),
            absl::OkStatus());
  const Output x = Placeholder("x", DataType::kFloat);
  const auto kind_of = [&](const char* op) {
    return OutputRoot(*Compile({{x}, {Op("Exp", {Op(op, {x})})}, {}}, {{1000}}), 0).kind;
  };
  EXPECT_EQ(kind_of("TestHolds"), RootKind::kSlot);
  EXPECT_EQ(kind_of("TestMakes"), RootKind::kPlanned);
}

TEST_F(PlanTest, WithoutVariablesAReadCopies) {
  const Output w = Variable("w", DataType::kFloat, {2});
  const StepSignature step{{}, {Op("Exp", {Read(w)})}, {}};
  EXPECT_EQ(OutputRoot(*Compile(step), 0).kind, RootKind::kSlot);
  Without("variables");
  EXPECT_EQ(OutputRoot(*Compile(step), 0).kind, RootKind::kPlanned);
}

TEST_F(PlanTest, WithoutUnusedOutputsAllCountAsUsed) {
  const Output logits = Placeholder("logits", DataType::kFloat);
  const Output labels = Placeholder("labels", DataType::kInt32);
  const Node* node = build.NodeOf("SparseSoftmaxCrossEntropyWithLogits", {logits, labels});
  Without("unused_outputs");
  const StepSignature step{{logits, labels}, {node->output(0)}, {}};
  EXPECT_EQ(Compile(step, {{2, 3}, {2}})->instructions[0].outputs_used[0], 3u);
}

TEST_F(PlanTest, WithoutMovedFetchesTheyAreCopiedOutOfTheSlab) {
  const Output x = Placeholder("x", DataType::kFloat);
  const StepSignature step{{x}, {Op("Neg", {x})}, {}};
  const std::unique_ptr<Plan> moved = Compile(step, {{8}});
  EXPECT_EQ(OutputRoot(*moved, 0).kind, RootKind::kEscaping);
  EXPECT_TRUE(moved->fetches[0].move);
  Without("moved_fetches");
  const std::unique_ptr<Plan> copied = Compile(step, {{8}});
  EXPECT_EQ(OutputRoot(*copied, 0).kind, RootKind::kPlanned);
  EXPECT_FALSE(copied->fetches[0].move);
}

TEST_F(PlanTest, AWarningAboutLateStepsNamesTheConstantThatIsComputed) {
  const Output sum = Op("Add", {Constant(1.0f), Constant(2.0f)});
  RunningSteps running;
  running.AddConstant(sum.node);
  EXPECT_THAT(running.LateWarnings("closing"),
              ElementsAre(HasSubstr(absl::StrCat(sum.node->Describe(), ", is running"))));
  running.RemoveConstant(sum.node);
  EXPECT_THAT(running.LateWarnings("closing"), Not(Contains(HasSubstr("is running"))));
}

}  // namespace
}  // namespace millstream
