// Enter, Exit, NextIteration: frames and iterations.
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "core/dynamic/dynamic_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using Outputs = std::vector<Output>;

class LoopsTest : public DynamicTest {
 protected:
  // Counts variable 0 up to `limit` and applies `body` to the others.
  Loop Count(const Outputs& others, const Output& limit,
             const std::function<Outputs(const Outputs&)>& body, const LoopOptions& loop = {}) {
    const Output entered = Enter(limit, loop.name, true, loop.parallel_iterations);
    Outputs initial = {Constant(0.0f)};
    initial.insert(initial.end(), others.begin(), others.end());
    return While(
        initial,
        [&](const Outputs& v) {
          return Op("Less", {v[0], entered});
        },
        [&](const Outputs& v) {
          Outputs results = {Op("Add", {v[0], ConstantAfter(1, v[0].node)})};
          const Outputs rest = body(Outputs(v.begin() + 1, v.end()));
          results.insert(results.end(), rest.begin(), rest.end());
          return results;
        },
        loop);
  }
  Output Twice(const Output& x) { return Op("Add", {x, x}); }

  std::vector<const Node*> slow_;  // besides what the fetches need
};

TEST_F(LoopsTest, CountsToN) {
  const Output limit = Placeholder("limit", DataType::kFloat, PartialShape::Scalar());
  const Loop loop = Count({}, limit, [](const Outputs&) { return Outputs(); });
  for (const float n : {0.0f, 1.0f, 7.0f, 1000.0f}) {
    EXPECT_EQ(Scalar(loop.exits[0], {{limit, Tensor::Scalar<float>(n)}}), n);
  }
}

TEST_F(LoopsTest, TheConditionIsAScalar) {
  const Output goes_on = Placeholder("goes_on", DataType::kBool);
  const Loop loop = While(
      {Constant(1.0f)}, [&](const Outputs&) { return Enter(goes_on, "loop", true); },
      [&](const Outputs& v) { return Outputs{Twice(v[0])}; });
  EXPECT_EQ(Scalar(loop.exits[0], {{goes_on, Tensor::Scalar<bool>(false)}}), 1);
  const Tensor vector = Tensor::Of<bool>({1}, {false});
  ExpectError(Dynamic(loop.exits, {{goes_on, vector}}).status(), absl::StatusCode::kInvalidArgument,
              {"'input' of LoopCond must be a scalar bool, got bool[1]", loop.pred.node->name()});
}

TEST_F(LoopsTest, VariablesGoThroughTheBodyTogether) {
  const Loop loop = Count({Constant(1.0f), Constant(1.0f)}, Constant(10.0f), [&](const Outputs& v) {
    return Outputs{v[1], Op("Add", {v[0], v[1]})};
  });
  EXPECT_EQ(Scalar(loop.exits[1]), 89);
  EXPECT_EQ(Scalar(loop.exits[2]), 144);
}

TEST_F(LoopsTest, AnyNumberOfIterationsInFlightGivesTheSame) {
  for (const int64_t parallel : {1, 2, 3, 32}) {
    LoopOptions options;
    options.name = absl::StrCat("loop", parallel);
    options.parallel_iterations = parallel;
    const Loop loop = Count(
        {Constant(1.0f)}, Constant(20.0f), [&](const Outputs& v) { return Outputs{Twice(v[0])}; },
        options);
    EXPECT_EQ(Scalar(loop.exits[1]), 1 << 20) << parallel;
  }
}

TEST_F(LoopsTest, TheNumberOfIterationsInFlightIsBounded) {
  LoopOptions options;
  options.parallel_iterations = 4;
  // The slow node of an iteration holds up nothing but the end of the iteration.
  const Loop loop = Count(
      {Constant(0.0f)}, Constant(40.0f),
      [&](const Outputs& v) {
        const Output slow = Op("TestHighWater", {ConstantAfter(1, v[0].node)});
        build.set_control_inputs({});
        const Output unused = Op("Neg", {slow});
        slow_.push_back(unused.node);
        return Outputs{v[0]};
      },
      options);
  HighWater::Await(4);
  ASSERT_TRUE(Dynamic({loop.exits[0]}, {}, slow_).ok());
  EXPECT_EQ(HighWater::Most(), 4);
}

TEST_F(LoopsTest, LoopsNest) {
  const Loop outer = Count({Constant(0.0f)}, Constant(5.0f), [&](const Outputs& v) {
    LoopOptions options;
    options.name = "inner";
    const Output limit = Enter(ConstantAfter(3, v[0].node), "inner", true);
    const Loop inner = While(
        {ConstantAfter(0, v[0].node), v[0]},
        [&](const Outputs& w) {
          return Op("Less", {w[0], limit});
        },
        [&](const Outputs& w) {
          const Output one = ConstantAfter(1, w[0].node);
          return Outputs{Op("Add", {w[0], one}), Op("Add", {w[1], one})};
        },
        options);
    return Outputs{inner.exits[1]};
  });
  EXPECT_EQ(Scalar(outer.exits[1]), 15);
}

TEST_F(LoopsTest, ABranchInALoop) {
  const Loop loop = Count({Constant(0.0f)}, Constant(10.0f), [&](const Outputs& v) {
    const Output small = Op("Less", {v[0], ConstantAfter(4, v[0].node)});
    const Node* branch = build.NodeOf("Switch", {v[0], small});
    const Output up = Op("Add", {branch->output(1), ConstantAfter(1, branch->output(1).node)});
    const Output over = Op("Add", {branch->output(0), branch->output(0)});
    return Outputs{Merge({over, up})->output(0)};
  });
  EXPECT_EQ(Scalar(loop.exits[1]), 256);
}

TEST_F(LoopsTest, ALoopOnABranchThatIsNotTakenIsDead) {
  const Output pred = Placeholder("pred", DataType::kBool, PartialShape::Scalar());
  const Output x = Constant(2.0f);
  const Node* branch = build.NodeOf("Switch", {x, pred});
  const Node* limit = build.NodeOf("Switch", {Constant(3.0f), pred});
  const Loop loop = While(
      {branch->output(1)},
      [&](const Outputs& v) {
        return Op("Less", {v[0], Enter(limit->output(1), "loop", true)});
      },
      [&](const Outputs& v) { return Outputs{Twice(v[0])}; });
  const Node* merged = Merge({branch->output(0), loop.exits[0]});
  EXPECT_EQ(Scalar(merged->output(0), {{pred, Tensor::Scalar<bool>(true)}}), 4);
  EXPECT_EQ(Scalar(merged->output(0), {{pred, Tensor::Scalar<bool>(false)}}), 2);
}

TEST_F(LoopsTest, ConstantsAreThereInEveryIterationWheneverTheyEnter) {
  const Output late = Op("TestAsync", {Constant(2.0f)});
  const Output entered = Enter(late, "loop", true);
  const Loop loop = Count({Constant(1.0f)}, Constant(6.0f), [&](const Outputs& v) {
    return Outputs{Op("Mul", {v[0], entered})};
  });
  EXPECT_EQ(Scalar(loop.exits[1]), 64);
}

TEST_F(LoopsTest, ShapesMayGrow) {
  const Loop loop = Count({Constant(Values<float>({1}))}, Constant(4.0f), [&](const Outputs& v) {
    build.set_control_inputs({v[0].node});
    const Output axis = build.Int32(0);
    build.set_control_inputs({});
    return Outputs{build.Variadic("ConcatV2", {{v[0], v[0]}, {axis}})->output(0)};
  });
  const auto results = Dynamic({loop.exits[1]});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].shape(), Shape({16}));
}

TEST_F(LoopsTest, VariablesAreUpdatedInEveryIteration) {
  const Output handle = Variable("v", DataType::kFloat, PartialShape::Scalar());
  ASSERT_TRUE(Dynamic({}, {}, {Assign(handle, Constant(0.0f))}).ok());
  const Output entered = Enter(handle, "loop", true);
  const Node* update = nullptr;
  const Loop loop = Count({Constant(1.0f)}, Constant(5.0f), [&](const Outputs& v) {
    update = build.NodeOf("AssignAddVariableOp", {entered, v[0]});
    build.set_control_inputs({update});
    const Output next = Twice(v[0]);
    build.set_control_inputs({});
    return Outputs{next};
  });
  ASSERT_TRUE(Dynamic({loop.exits[1]}, {}, {update}).ok());
  EXPECT_EQ(Scalar(Read(handle)), 31);
}

TEST_F(LoopsTest, AnErrorInTheLoopNamesNodeAndIteration) {
  Output checked;
  const Loop loop = Count({Constant(2.0f)}, Constant(10.0f), [&](const Outputs& v) {
    checked = Op("TestBlocking", {Op("Sub", {v[0], ConstantAfter(1, v[0].node)})});
    return Outputs{checked};
  });
  const Status status = Dynamic({loop.exits[1]}).status();
  ExpectError(status, absl::StatusCode::kOutOfRange,
              {"the number is negative", "iteration 2 of frame 'loop'", "float32[]"});
  EXPECT_EQ(StatusNode(status), checked.node->name());
}

TEST_F(LoopsTest, ALoopWithoutEndIsCancelled) {
  const Loop loop = While(
      {Constant(0.0f)},
      [&](const Outputs& v) {
        return Op("Equal", {v[0], v[0]});
      },
      [&](const Outputs& v) { return Outputs{Op("Neg", {v[0]})}; });
  Cancellation cancellation;
  options.cancellation = &cancellation;
  absl::Notification runs;
  options.should_stop_argument = &runs;
  options.should_stop = [](void* argument) {
    auto* const event = static_cast<absl::Notification*>(argument);
    if (!event->HasBeenNotified()) event->Notify();
    return false;
  };
  std::thread canceller([&] {
    runs.WaitForNotification();
    cancellation.Cancel();
  });
  EXPECT_EQ(Dynamic({loop.exits[0]}).status().code(), absl::StatusCode::kCancelled);
  canceller.join();
  options.cancellation = nullptr;
  options.should_stop = nullptr;
  options.timeout_ms = 20;
  EXPECT_EQ(Dynamic({loop.exits[0]}).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(LoopsTest, ManyIterations) {
  const Loop loop = Count({}, Constant(10000.0f), [](const Outputs&) { return Outputs(); });
  EXPECT_EQ(Scalar(loop.exits[0]), 10000);
}

TEST_F(LoopsTest, FramesNestAsDeepAsTheGraphSays) {
  constexpr int kDepth = 10000;
  Output x = Constant(1.0f);
  for (int i = 0; i < kDepth; ++i) x = Enter(x, absl::StrCat("frame", i));
  x = Op("Neg", {x});
  for (int i = 0; i < kDepth; ++i) x = Op("Exit", {x});
  EXPECT_EQ(Scalar(x), -1);
}

TEST_F(LoopsTest, DeadFramesNestAsDeep) {
  constexpr int kDepth = 10000;
  const Node* branch = build.NodeOf("Switch", {Constant(1.0f), Bool(false)});
  Output x = branch->output(1);
  for (int i = 0; i < kDepth; ++i) x = Enter(x, absl::StrCat("frame", i));
  for (int i = 0; i < kDepth; ++i) x = Op("Exit", {x});
  EXPECT_EQ(Scalar(Merge({branch->output(0), x})->output(0)), 1);
}

TEST_F(LoopsTest, FetchesInsideALoopAreRefused) {
  const Loop loop = Count({}, Constant(2.0f), [](const Outputs&) { return Outputs(); });
  ExpectError(Dynamic({loop.variables[0]}).status(), absl::StatusCode::kInvalidArgument,
              {"inside a loop", "'loop'"});
}

TEST_F(LoopsTest, AStepAfterAnErrorIsAsTheFirst) {
  const Output limit = Placeholder("limit", DataType::kFloat, PartialShape::Scalar());
  const Loop loop = Count({Constant(3.0f)}, limit, [&](const Outputs& v) {
    return Outputs{Op("TestBlocking", {Op("Sub", {v[0], ConstantAfter(1, v[0].node)})})};
  });
  auto program = Compile({{limit}, {loop.exits[1]}, {}});
  ASSERT_TRUE(program.ok()) << program.status();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(RunProgram(program->get(), 1, {Tensor::Scalar<float>(9)}).ok());
    const auto results = RunProgram(program->get(), 1, {Tensor::Scalar<float>(2)});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ(*(*results)[0].data<float>(), 1);
  }
}

}  // namespace
}  // namespace millstream
