#include "core/loops/raise_loops.h"

#include <string>
#include <vector>

#include "core/loops/raise_loops_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

TEST_F(RaiseLoopsTest, AWellFormedLoopIsANode) {
  const Loop loop = Count({Constant(1.0f)}, 10, [&](const Outputs& v) {
    return Outputs{Op("Add", {v[0], v[0]})};
  });
  EXPECT_EQ(Raised(loop.exits), 1);
  EXPECT_FALSE(keeps_control_flow_);
  EXPECT_EQ(Number(loop.exits[0]), 10);
  EXPECT_EQ(Number(loop.exits[1]), 1024);
}

TEST_F(RaiseLoopsTest, ATraceHasTheNodeAndTheNodesInside) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Loop loop = Count({x}, 3, [&](const Outputs& v) {
    return Outputs{Op("MatMul", {v[0], v[0]})};
  });
  StepReport report;
  report.want_trace = true;
  RunOptions run;
  run.report = &report;
  const Tensor matrix = Tensor::Of<float>({1, 1}, {2});
  ASSERT_TRUE(Run({loop.exits[1]}, {{x, matrix}}, {}, run).ok());
  ASSERT_EQ(report.trace.parts().size(), 1);
  int loops = 0;
  int products = 0;
  for (const TracedNode& node : report.trace.parts()[0].nodes) {
    loops += node.op == "_Loop" ? 1 : 0;
    products += node.op == "MatMul" ? 1 : 0;
  }
  EXPECT_EQ(loops, 1);
  EXPECT_EQ(products, 3);
}

TEST_F(RaiseLoopsTest, ALoopInALoopIsANodeOfItsBody) {
  const Loop loop = Count({Constant(1.0f)}, 3, [&](const Outputs& v) {
    const Loop inner = While(
        {v[0]},
        [&](const Outputs& w) {
          return Op("Less",
                    {w[0], Op("Mul", {Enter(v[0], "inner", true), ConstantAfter(3, w[0].node)})});
        },
        [&](const Outputs& w) {
          return Outputs{Op("Add", {w[0], ConstantAfter(1, w[0].node)})};
        },
        {"inner", 10});
    return inner.exits;
  });
  EXPECT_EQ(Raised(loop.exits), 1);
  EXPECT_FALSE(keeps_control_flow_);
  EXPECT_EQ(Number(loop.exits[1]), 27);
}

TEST_F(RaiseLoopsTest, VariablesMayChangePlacesAndStayAsTheyAre) {
  const Loop loop =
      Count({Constant(1.0f), Constant(2.0f), Constant(7.0f)}, 5, [&](const Outputs& v) {
        return Outputs{v[1], v[0], v[2]};
      });
  EXPECT_EQ(Raised(loop.exits), 1);
  EXPECT_EQ(Number(loop.exits[1]), 2);
  EXPECT_EQ(Number(loop.exits[2]), 1);
  EXPECT_EQ(Number(loop.exits[3]), 7);
}

TEST_F(RaiseLoopsTest, TwoVariablesMayGetOneValue) {
  const Loop loop = Count({Constant(1.0f), Constant(2.0f)}, 5, [&](const Outputs& v) {
    const Output sum = Op("Add", {v[0], v[1]});
    return Outputs{sum, sum};
  });
  EXPECT_EQ(Number(loop.exits[1]), 48);
  EXPECT_EQ(Number(loop.exits[2]), 48);
}

TEST_F(RaiseLoopsTest, WithoutIterationsTheInitialValuesLeave) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Loop loop = Count({x}, 0, [&](const Outputs& v) { return Outputs{Op("Neg", {v[0]})}; });
  EXPECT_EQ(Number(loop.exits[1], {{x, Tensor::Scalar<float>(4)}}), 4);
}

TEST_F(RaiseLoopsTest, VariablesMayGrow) {
  const Output axis = Constant(Tensor::Scalar<int32_t>(0));
  const Output x = Placeholder("x", DataType::kFloat);
  const Loop loop = Count({x}, 4, [&](const Outputs& v) {
    const Output entered = Enter(axis, "loop", true);
    return Outputs{build.Variadic("ConcatV2", {{v[0], v[0]}, {entered}})->output(0)};
  });
  EXPECT_EQ(Raised(loop.exits), 1);
  for (const int64_t size : {1, 3}) {
    EXPECT_EQ(Value(loop.exits[1], {{x, *Tensor::Create(DataType::kFloat, Shape({size}))}}).shape(),
              Shape({16 * size}));
  }
}

TEST_F(RaiseLoopsTest, TheConditionMayBeAVariable) {
  const Loop loop = While(
      {Bool(true), Constant(0.0f)}, [](const Outputs& v) { return v[0]; },
      [&](const Outputs& v) {
        const Output next = Op("Add", {v[1], ConstantAfter(1, v[1].node)});
        return Outputs{Op("Less", {next, ConstantAfter(6, v[1].node)}), next};
      });
  EXPECT_EQ(Raised(loop.exits), 1);
  EXPECT_EQ(Number(loop.exits[1]), 6);
  EXPECT_FALSE(*Value(loop.exits[0]).data<bool>());
}

// Neither goes through a Switch; the doubled number is read by the condition and by the body.
TEST_F(RaiseLoopsTest, TheBodyMayReadWhatIsComputedBesideTheCondition) {
  const Output x = Placeholder("x", DataType::kFloat);
  Output doubled;
  Output merged;
  const Loop loop = While(
      {x},
      [&](const Outputs& v) {
        merged = v[0];
        doubled = Op("Add", {v[0], v[0]});
        return Op("Less", {doubled, ConstantAfter(50, v[0].node)});
      },
      [&](const Outputs& v) {
        const Output beside = Op("Square", {merged});
        return Outputs{Op("Add", {Op("Sub", {beside, v[0]}), doubled})};
      });
  EXPECT_EQ(Raised(loop.exits), 1);
  // x*x + x: 2, 6, 42
  EXPECT_EQ(Number(loop.exits[0], {{x, Tensor::Scalar<float>(2)}}), 42);
}

TEST_F(RaiseLoopsTest, AFeedIsThereInEveryIteration) {
  const Output step = Placeholder("step", DataType::kFloat, PartialShape::Scalar());
  const Loop loop = Count({Constant(0.0f)}, 4, [&](const Outputs& v) {
    return Outputs{Op("Add", {v[0], step})};
  });
  StepSignature signature;
  signature.feeds = {step};
  signature.fetches = loop.exits;
  EXPECT_EQ(Raised(signature), 1);
  EXPECT_EQ(Number(loop.exits[1], {{step, Tensor::Scalar<float>(2.5f)}}), 10);
}

TEST_F(RaiseLoopsTest, VariablesOfTheSessionAreWrittenInOrder) {
  const Output handle = Variable("total", DataType::kFloat, PartialShape::Scalar());
  ASSERT_TRUE(Execute({Assign(handle, Constant(0.0f))}).ok());
  const Output entered = Enter(handle, "loop", true);
  const Loop loop = While(
      {Constant(0.0f)},
      [&](const Outputs& v) {
        return Op("Less", {v[0], ConstantAfter(5, v[0].node)});
      },
      [&](const Outputs& v) {
        const Node* const add = build.NodeOf("AssignAddVariableOp", {entered, v[0]});
        const Output next = Op("Add", {v[0], ConstantAfter(1, v[0].node)});
        EXPECT_TRUE(graph.AddControlInput(next.node, add).ok());
        return Outputs{next};
      });
  EXPECT_EQ(Raised(loop.exits), 1);
  EXPECT_EQ(Number(loop.exits[0]), 5);
  EXPECT_EQ(Number(Read(handle)), 10);
}

TEST_F(RaiseLoopsTest, WhatOthersSeeOrWaitForStays) {
  Output inside;
  const Loop seen = Count({Constant(1.0f)}, 3,
                          [&](const Outputs& v) { return Outputs{inside = Op("Neg", {v[0]})}; });
  EXPECT_EQ(Raised(seen.exits), 1);
  StepSignature signature;
  signature.fetches = seen.exits;
  signature.targets = {inside.node};
  EXPECT_EQ(Raised(signature), 0);
  const Loop waiting = Count(
      {Constant(1.0f)}, 3, [&](const Outputs& v) { return Outputs{Op("TestAsync", {v[0]})}; },
      "waiting");
  EXPECT_EQ(Raised(waiting.exits), 0);
}

TEST_F(RaiseLoopsTest, AConditionalIsANode) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output is_low = Op("Less", {x, Constant(2.0f)});
  const Node* const branch = build.NodeOf("Switch", {x, is_low});
  const Node* const merged =
      Merge({Op("Neg", {branch->output(0)}), Op("Square", {branch->output(1)})});
  StepSignature signature;
  signature.feeds = {x};
  signature.fetches = {merged->output(0)};
  EXPECT_EQ(Raised(signature), 1);
  EXPECT_FALSE(keeps_control_flow_);
  EXPECT_EQ(Number(merged->output(0), {{x, Tensor::Scalar<float>(1.5f)}}), 2.25f);
  EXPECT_EQ(Number(merged->output(0), {{x, Tensor::Scalar<float>(5)}}), -5);
  // The number of the branch is no value that a node could give.
  signature.fetches = {merged->output(0), merged->output(1)};
  EXPECT_EQ(Raised(signature), 0);
  signature.fetches = {merged->output(0), Op("Add", {merged->output(1), merged->output(1)})};
  EXPECT_EQ(Raised(signature), 0);
}

TEST_F(RaiseLoopsTest, ABranchMayGiveBackWhatItGets) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Node* const branch = build.NodeOf("Switch", {x, Op("Less", {x, Constant(0.0f)})});
  const Node* const magnitude = Merge({branch->output(0), Op("Neg", {branch->output(1)})});
  EXPECT_EQ(Number(magnitude->output(0), {{x, Tensor::Scalar<float>(-3)}}), 3);
  EXPECT_EQ(Number(magnitude->output(0), {{x, Tensor::Scalar<float>(4)}}), 4);
}

// Both take their branch by one value, and the second reads what the first gives.
TEST_F(RaiseLoopsTest, ConditionalsOfOnePredicateMayFollowEachOther) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output goes = Placeholder("goes", DataType::kBool);
  Output value = x;
  for (int i = 0; i < 3; ++i) {
    const Node* const branch = build.NodeOf("Switch", {value, goes});
    value =
        Merge({Op("Neg", {branch->output(0)}), Op("Add", {branch->output(1), branch->output(1)})})
            ->output(0);
  }
  StepSignature signature;
  signature.feeds = {x, goes};
  signature.fetches = {value};
  EXPECT_EQ(Raised(signature), 3);
  const Tensor two = Tensor::Scalar<float>(2);
  EXPECT_EQ(Number(value, {{x, two}, {goes, Tensor::Scalar<bool>(true)}}), 16);
  EXPECT_EQ(Number(value, {{x, two}, {goes, Tensor::Scalar<bool>(false)}}), -2);
}

// As programs have it: some Switches read the predicate, others an Identity of it.
TEST_F(RaiseLoopsTest, AnIdentityOfThePredicateIsThePredicate) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output goes = Placeholder("goes", DataType::kBool);
  const Node* const first = build.NodeOf("Switch", {x, goes});
  const Node* const second = build.NodeOf("Switch", {x, Op("Identity", {Op("Identity", {goes})})});
  const Node* const merged = Merge({Op("Add", {first->output(0), second->output(0)}),
                                    Op("Mul", {first->output(1), second->output(1)})});
  StepSignature signature;
  signature.feeds = {x, goes};
  signature.fetches = {merged->output(0)};
  EXPECT_EQ(Raised(signature), 1);
  EXPECT_FALSE(keeps_control_flow_);
  const Tensor three = Tensor::Scalar<float>(3);
  EXPECT_EQ(Number(merged->output(0), {{x, three}, {goes, Tensor::Scalar<bool>(true)}}), 9);
  EXPECT_EQ(Number(merged->output(0), {{x, three}, {goes, Tensor::Scalar<bool>(false)}}), 6);
}

// A fed Identity has a value of its own.
TEST_F(RaiseLoopsTest, AFedIdentityIsAnotherPredicate) {
  const Output goes = Placeholder("goes", DataType::kBool);
  const Output same = Op("Identity", {goes});
  const Node* const first = build.NodeOf("Switch", {Constant(1.0f), goes});
  const Node* const second = build.NodeOf("Switch", {Constant(2.0f), same});
  const Node* const merged = Merge({first->output(0), second->output(1)});
  StepSignature signature;
  signature.feeds = {goes, same};
  signature.fetches = {merged->output(0)};
  EXPECT_EQ(Raised(signature), 0);
}

// The sum comes if both predicates are true, which nobody knows to be one value. What reads the sum
// and a branch of another conditional is no part of that conditional.
TEST_F(RaiseLoopsTest, WhatWaitsForTwoConditionalsIsInNeither) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output goes = Placeholder("goes", DataType::kBool);
  const Output inner_goes = Placeholder("inner_goes", DataType::kBool);
  const Output same = Op("LogicalNot", {Op("LogicalNot", {goes})});
  const Node* const first = build.NodeOf("Switch", {x, goes});
  const Node* const second = build.NodeOf("Switch", {x, same});
  const Output sum = Op("Add", {first->output(1), second->output(1)});
  const Node* const inner = build.NodeOf("Switch", {x, inner_goes});
  const Node* const merged = Merge({inner->output(0), Op("Add", {sum, inner->output(1)})});
  StepSignature signature;
  signature.feeds = {x, goes, inner_goes};
  signature.fetches = {merged->output(0)};
  EXPECT_EQ(Raised(signature), 0);
  const auto run = [&](bool outer_value, bool inner_value) {
    return Number(merged->output(0), {{x, Tensor::Scalar<float>(3)},
                                      {goes, Tensor::Scalar<bool>(outer_value)},
                                      {inner_goes, Tensor::Scalar<bool>(inner_value)}});
  };
  EXPECT_EQ(run(true, true), 9);
  EXPECT_EQ(run(true, false), 3);
  EXPECT_EQ(run(false, false), 3);
}

TEST_F(RaiseLoopsTest, ConditionalsAreNodesOfLoopsAndOfConditionals) {
  const Loop loop = Count({Constant(1.0f)}, 6, [&](const Outputs& v) {
    const Output is_low = Op("Less", {v[0], ConstantAfter(10, v[0].node)});
    const Node* const outer = build.NodeOf("Switch", {v[0], is_low});
    const Output low = outer->output(1);
    const Output is_lower = Op("Less", {low, ConstantAfter(3, low.node)});
    const Node* const inner = build.NodeOf("Switch", {low, is_lower});
    const Node* const below =
        Merge({Op("Square", {inner->output(0)}), Op("Add", {inner->output(1), inner->output(1)})});
    return Outputs{Merge({Op("Neg", {outer->output(0)}), below->output(0)})->output(0)};
  });
  EXPECT_EQ(Raised(loop.exits), 1);
  EXPECT_FALSE(keeps_control_flow_);
  // 1, 2, 4, 16, -16, -32, -64
  EXPECT_EQ(Number(loop.exits[1]), -64);
}

TEST_F(RaiseLoopsTest, ALoopInABranchIsANodeOfIt) {
  const Output goes = Placeholder("goes", DataType::kBool);
  const Node* const branch = build.NodeOf("Switch", {Constant(1.0f), goes});
  const Loop loop = Count({branch->output(1)}, 3, [&](const Outputs& v) {
    return Outputs{Op("Add", {v[0], v[0]})};
  });
  const Node* const merged = Merge({loop.exits[1], branch->output(0)});
  StepSignature signature;
  signature.feeds = {goes};
  signature.fetches = {merged->output(0)};
  EXPECT_EQ(Raised(signature), 1);
  EXPECT_FALSE(keeps_control_flow_);
  EXPECT_EQ(Number(merged->output(0), {{goes, Tensor::Scalar<bool>(true)}}), 8);
  EXPECT_EQ(Number(merged->output(0), {{goes, Tensor::Scalar<bool>(false)}}), 1);
}

TEST_F(RaiseLoopsTest, ALoopBesideAWaitingBranchIsANodeOfTheDynamicExecutor) {
  const Output goes = Placeholder("goes", DataType::kBool);
  const Loop loop = Count({Constant(1.0f)}, 3, [&](const Outputs& v) {
    return Outputs{Op("Add", {v[0], v[0]})};
  });
  const Node* const branch = build.NodeOf("Switch", {loop.exits[1], goes});
  const Node* const merged = Merge({Op("TestAsync", {branch->output(1)}), branch->output(0)});
  StepSignature signature;
  signature.feeds = {goes};
  signature.fetches = {merged->output(0)};
  EXPECT_EQ(Raised(signature), 1);
  EXPECT_TRUE(keeps_control_flow_);
  EXPECT_EQ(Number(merged->output(0), {{goes, Tensor::Scalar<bool>(true)}}), 8);
}

TEST_F(RaiseLoopsTest, AnErrorNamesTheNodeAndTheIteration) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Loop loop = Count({x}, 5, [&](const Outputs& v) {
    const Output fine = Op("Less", {v[0], ConstantAfter(3, v[0].node)});
    const Node* const check = build.Variadic("Assert", {{fine}, {v[0]}});
    const Output next = Op("Add", {v[0], ConstantAfter(1, v[0].node)});
    EXPECT_TRUE(graph.AddControlInput(next.node, check).ok());
    return Outputs{next};
  });
  ExpectError(Run(loop.exits, {{x, Tensor::Scalar<float>(1)}}).status(),
              absl::StatusCode::kInvalidArgument,
              {"op Assert", "loop: iteration 2 of frame 'loop'"});
  EXPECT_EQ(Number(loop.exits[1], {{x, Tensor::Scalar<float>(-9)}}), -4);
}

TEST_F(RaiseLoopsTest, ALoopThatNeverEndsEndsAtTheTimeLimit) {
  const Loop loop = While(
      {Constant(0.0f)},
      [&](const Outputs& v) {
        return Op("Equal", {v[0], v[0]});
      },
      [&](const Outputs& v) { return Outputs{Op("Neg", {v[0]})}; });
  EXPECT_EQ(Raised(loop.exits), 1);
  RunOptions run;
  run.timeout_ms = 50;
  ExpectError(Run(loop.exits, {}, {}, run).status(), absl::StatusCode::kDeadlineExceeded, {"50"});
}

class RandomRaisedLoopsTest : public RandomProgramTest, public ::testing::WithParamInterface<int> {
 protected:
  RandomRaisedLoopsTest() : RandomProgramTest(GetParam()) {}

  std::vector<Tensor> RunIn(const SessionOptions& options, const Outputs& fetches, float value) {
    StartSession(options);
    const auto results = Run(fetches, {{x, Tensor::Scalar<float>(value)}});
    EXPECT_TRUE(results.ok()) << results.status();
    return results.ok() ? *results : std::vector<Tensor>();
  }
};

TEST_P(RandomRaisedLoopsTest, GiveTheBitsOfTheDynamicExecutor) {
  const Outputs fetches = Build();
  SessionOptions dynamic;
  dynamic.disabled_passes = {"raise_loops"};
  for (const float value : {-1.5f, 0.75f}) {
    SCOPED_TRACE(value);
    ExpectSameBits(RunIn(SessionOptions(), fetches, value), RunIn(dynamic, fetches, value));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRaisedLoopsTest, ::testing::Range(1, 201));

}  // namespace
}  // namespace millstream
