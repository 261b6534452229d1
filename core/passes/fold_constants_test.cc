// fold_constants changes what a plan executes, and no bit of what it gives.
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/structural_role.h"
#include "core/passes/pass_fixture.h"
#include "core/structural/structural.h"
#include "framework/op_registry.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/shape_context.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::atomic<int> counted_runs{0};
std::atomic<int> runs_of_nodes{0};

MS_Status* CountRun(void*, MS_Frame* frame) {
  ++counted_runs;
  if (frame->ctx->node != nullptr) ++runs_of_nodes;
  StructuralFrame wrapped(frame);
  return ToAbiStatus(wrapped.SetOutput(0, wrapped.BorrowInput(0)));
}

const bool counting_kernel = [] {
  KernelRegistration kernel;
  kernel.op = "TestCounted";
  kernel.device_type = kAnyDevice;
  kernel.plugin = "core";
  kernel.compute = &CountRun;
  AddStructuralKernel(std::move(kernel));
  return true;
}();

MILLSTREAM_OP("TestCounted")
    .Input("x: float")
    .Output("y: float")
    .Shape(UnchangedShape)
    .Doc("Gives x, and counts how often it did.");

class FoldConstantsTest : public PassTest {
 protected:
  FoldConstantsTest() : PassTest("fold_constants") {}

  Output Filled(const std::vector<int32_t>& dims, float value) {
    return Op("Fill", {Constant(Tensor::Vector<int32_t>(dims)), Constant(value)});
  }
};

TEST_F(FoldConstantsTest, ArithmeticOfConstantsIsDoneOnce) {
  const Output x = Fed("x", {4});
  const Output product = Op("Mul", {Constant(2.5f), Constant(Values<float>({1, 2, 3, 4}))});
  EXPECT_EQ(Saved({Op("Sub", {x, Op("Exp", {product})})}), 2);
}

TEST_F(FoldConstantsTest, EveryBitStays) {
  const Output numbers = Constant(SpecialNumbers());
  std::vector<Output> fetches;
  for (const char* op : {"Exp", "Log", "Sqrt", "Tanh", "Neg", "Abs", "Relu", "Square"}) {
    fetches.push_back(Op(op, {numbers}));
  }
  for (const char* op : {"Add", "Sub", "Mul", "RealDiv", "Maximum"}) {
    fetches.push_back(Op(op, {numbers, Op("Neg", {Constant(SpecialNumbers())})}));
  }
  EXPECT_EQ(Saved(fetches), 18);
}

TEST_F(FoldConstantsTest, OperationsOfSeveralOutputs) {
  const Node* const split = build.Variadic(
      "Split", {{build.Int32(0)}, {Op("Neg", {Constant(Numbers({6}))})}}, {{"num_split", 3}});
  const Output x = Fed("x", {2});
  EXPECT_EQ(Saved({Op("Add", {x, split->output(2)}), split->output(0)}), 2);
}

TEST_F(FoldConstantsTest, NamesAndShapesOfConstantsAreConstants) {
  const Output x = Fed("x", {3, 2});
  const Output constant = Op("Reshape", {Op("Identity", {Constant(Numbers({6}))}),
                                         Constant(Tensor::Vector<int32_t>({3, 2}))});
  EXPECT_EQ(Saved({Op("Add", {x, Op("Neg", {constant})})}), 1);
}

TEST_F(FoldConstantsTest, TheShapeAloneMakesOnesAndZeros) {
  const Output x = Fed("x", {3, 5});
  const Output hidden = Op("Exp", {x});
  const Output sum = Op("Sum", {Op("OnesLike", {hidden}), Constant(Tensor::Scalar<int32_t>(1))});
  EXPECT_EQ(Saved({Op("Add", {sum, Op("Sum", {Op("ZerosLike", {x}), build.Int32(1)})})}), 6);
}

TEST_F(FoldConstantsTest, WhatIsFedIsNoConstant) {
  const Output sum = Op("Add", {Constant(1.0f), Constant(2.0f)});
  Feed(sum, Tensor::Scalar<float>(10));
  const Output twice = Op("Mul", {sum, Constant(2.0f)});
  EXPECT_EQ(Saved({twice}), 0);
  EXPECT_THAT(Elements<float>(RunWith(SessionOptions(), {twice}).values[0]), ElementsAre(20));
  // It is a target, too, and runs without anybody reading what it gives.
  EXPECT_EQ(Saved({twice}, {sum.node}), 0);
  EXPECT_THAT(Elements<float>(RunWith(SessionOptions(), {twice}, {sum.node}).values[0]),
              ElementsAre(20));
}

TEST_F(FoldConstantsTest, TargetsRunInEveryStep) {
  const Output sum = Op("Add", {Constant(1.0f), Constant(2.0f)});
  EXPECT_EQ(Saved({}, {sum.node}), 0);
  EXPECT_EQ(Saved({sum}), 1);
}

TEST_F(FoldConstantsTest, WhatOthersWaitForRuns) {
  const Output sum = Op("Add", {Constant(1.0f), Constant(2.0f)});
  const Output read = Op("Neg", {sum});
  build.set_control_inputs({sum.node});
  EXPECT_EQ(Saved({Op("Exp", {read})}), 0);
}

TEST_F(FoldConstantsTest, RandomNumbersStayRandom) {
  const Output random = Op("RandomUniform", {Constant(Tensor::Vector<int32_t>({100}))},
                           {{"dtype", DataType::kFloat}, {"seed", 3}});
  EXPECT_EQ(Saved({Op("Neg", {random})}), 0);
}

TEST_F(FoldConstantsTest, AFailureIsLeftToTheStep) {
  const Output quotient = Op(
      "FloorDiv", {Constant(Values<int32_t>({1, 2})), Op("Sub", {build.Int32(1), build.Int32(1)})});
  const Output x = Placeholder("x", DataType::kInt32);
  const Output sum = Op("Add", {quotient, x});
  ExpectError(Error(sum, {{x, Values<int32_t>({1, 1})}}), absl::StatusCode::kInvalidArgument,
              {quotient.node->name()});
}

TEST_F(FoldConstantsTest, AStepMayBeStoppedWhileItsConstantsAreComputed) {
  const auto callable = MakeCallable({{}, {Op("TestCounted", {Constant(3.0f)})}, {}});
  Cancellation cancellation;
  cancellation.Cancel();
  RunOptions options;
  options.cancellation = &cancellation;
  std::vector<Tensor> values(1);
  const int before = counted_runs;
  EXPECT_TRUE(absl::IsCancelled(callable->Run({}, absl::MakeSpan(values), options)));
  EXPECT_EQ(counted_runs - before, 0);
  // Nothing is left of that plan.
  ASSERT_TRUE(callable->Run({}, absl::MakeSpan(values), RunOptions()).ok());
  EXPECT_THAT(Elements<float>(values[0]), ElementsAre(3));
  EXPECT_EQ(counted_runs - before, 1);
  EXPECT_EQ(callable->num_instructions(), 0);
}

TEST_F(FoldConstantsTest, IsACallWithoutANode) {
  const Output counted = Op("TestCounted", {Op("TestCounted", {Constant(3.0f)})});
  const int runs = counted_runs;
  const int of_nodes = runs_of_nodes;
  EXPECT_THAT(Elements<float>(RunWith(SessionOptions(), {counted}).values[0]), ElementsAre(3));
  EXPECT_EQ(counted_runs - runs, 2);
  EXPECT_EQ(runs_of_nodes - of_nodes, 0);
  SessionOptions as_written;
  as_written.optimize = false;
  RunWith(as_written, {counted});
  EXPECT_EQ(runs_of_nodes - of_nodes, 2);
}

TEST_F(FoldConstantsTest, LargeTensorsAreMadeInTheStep) {
  const Output x = Fed("x", {});
  const auto used = [&](const Output& constant) {
    return Op("Mul", {x, Op("GatherV2", {constant, build.Int32(0), build.Int32(0)})});
  };
  EXPECT_EQ(Saved({used(Filled({1 << 18}, 1))}), 2);
  EXPECT_EQ(Saved({used(Filled({(1 << 18) + 1}, 1))}), 0);
  // As large as what it is made of.
  EXPECT_EQ(Saved({used(Op("Neg", {Constant(Numbers({1 << 19}))}))}), 2);
}

TEST_F(FoldConstantsTest, FetchedConstantsAreTheCallersOwn) {
  const Output sum = Op("Add", {Constant(1.0f), Constant(2.0f)});
  const auto callable = MakeCallable({{}, {sum, sum}, {}});
  for (int step = 0; step < 2; ++step) {
    std::vector<Tensor> values(2);
    ASSERT_TRUE(callable->Run({}, absl::MakeSpan(values), RunOptions()).ok());
    EXPECT_THAT(Elements<float>(values[0]), ElementsAre(3));
    EXPECT_THAT(Elements<float>(values[1]), ElementsAre(3));
    *values[0].data<float>() = 7;
  }
  EXPECT_EQ(callable->num_instructions(), 0);
}

TEST_F(FoldConstantsTest, EachShapeHasItsOwnConstants) {
  const Output x = Placeholder("x", DataType::kFloat, {-1, 2});
  const Output count = Op("Cast", {Op("Shape", {x})}, {{"DstT", DataType::kFloat}});
  const Output y = Op("Mul", {x, count});
  const auto callable = MakeCallable({{x}, {y}, {}});
  for (int64_t rows : {3, 5, 3}) {
    std::vector<Tensor> values(1);
    const Tensor ones = Tensor::FromValues<float>({rows, 2}, std::vector<float>(2 * rows, 1));
    ASSERT_TRUE(callable->Run({ones}, absl::MakeSpan(values), RunOptions()).ok());
    EXPECT_EQ(Elements<float>(values[0])[0], static_cast<float>(rows));
    EXPECT_EQ(callable->num_instructions(), 1);
  }
}

TEST_F(FoldConstantsTest, PlansForOtherShapesShareConstants) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output y = Op("Mul", {x, Op("TestCounted", {Constant(2.0f)})});
  const auto callable = MakeCallable({{x}, {y}, {}});
  const int before = counted_runs;
  for (int64_t size : {1, 2, 3, 2}) {
    std::vector<Tensor> values(1);
    const Tensor ones = Tensor::FromValues<float>({size}, std::vector<float>(size, 1));
    ASSERT_TRUE(callable->Run({ones}, absl::MakeSpan(values), RunOptions()).ok());
    EXPECT_THAT(Elements<float>(values[0]), Each(2));
  }
  EXPECT_EQ(counted_runs - before, 1);
}

}  // namespace
}  // namespace millstream
