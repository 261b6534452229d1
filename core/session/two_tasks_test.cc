// One graph that is placed on the devices of two tasks: each task runs its own parts, and tensors
// cross by name.
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/dynamic/dynamic_fixture.h"
#include "core/partition/loopback_rendezvous.h"
#include "core/session/executable.h"
#include "core/testing/two_tasks.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using Outputs = std::vector<Output>;

class TwoTasksTest : public DynamicTest {
 protected:
  TwoTasksTest() : tasks(&graph, {{"CPU", 2}}) {}

  // What `body` adds asks for that CPU of that task.
  Output OnTask(int task, const std::function<Output()>& body, int cpu = 0) {
    build.set_device(absl::StrCat("/job:worker/task:", task, "/cpu:", cpu));
    const Output result = body();
    build.set_device("");
    return result;
  }
  Output OnTask(int task, absl::string_view op, const Outputs& inputs, int cpu = 0) {
    const auto body = [&] { return Op(op, inputs); };
    return OnTask(task, body, cpu);
  }

  // The same nodes on one device, wherever they ask to be.
  std::vector<Tensor> FetchAlone(const Outputs& fetches, const std::vector<Feed>& feeds) {
    Task alone(0, {{"CPU", 1}});
    alone.context.graph = &graph;
    alone.context.settings.options.allow_soft_placement = true;
    alone.context.SetDevices(alone.devices);
    StepSignature signature;
    signature.fetches = fetches;
    std::vector<Tensor> values;
    for (const Feed& feed : feeds) {
      signature.feeds.push_back(feed.tensor);
      values.push_back(feed.value);
    }
    EXPECT_EQ(alone.Compile(signature), absl::OkStatus());
    std::vector<Tensor> fetched(fetches.size());
    EXPECT_EQ(alone.step->Run(values, absl::MakeSpan(fetched), options), absl::OkStatus());
    return fetched;
  }
  void ExpectEqualResults(const Outputs& fetches, const std::vector<Feed>& feeds = {}) {
    ASSERT_TRUE(build.ok()) << build.status();
    const std::vector<Tensor> there = tasks.Fetch(fetches, feeds);
    const std::vector<Tensor> alone = FetchAlone(fetches, feeds);
    for (size_t k = 0; k < fetches.size(); ++k) {
      ASSERT_TRUE(there[k].has_value()) << fetches[k].name();
      EXPECT_EQ(Elements<float>(there[k]), Elements<float>(alone[k])) << fetches[k].name();
    }
  }
  // The step in one task alone. `between`: null, there is none.
  Status RunInSecond(Rendezvous* between, int64_t timeout_ms = kHangGuardMillis) {
    RunOptions run;
    run.other_tasks = between;
    run.timeout_ms = timeout_ms;
    Tensor value;
    return tasks.task(1).step->Run({}, absl::MakeSpan(&value, 1), run);
  }

  TwoTasks tasks;
};

TEST_F(TwoTasksTest, EachTaskRunsThePartsOfItsOwnDevices) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output a = OnTask(0, "Square", {x});
  const Output b = OnTask(1, "Neg", {a});
  const Output c = OnTask(1, "Square", {b}, 1);
  const std::vector<Tensor> fetched = tasks.Fetch({c}, {{x, Values<float>({2, -3})}});
  EXPECT_THAT(Elements<float>(fetched[0]), ElementsAre(16, 81));
  const auto own_parts = [&](int task) {
    std::vector<bool> own;
    const ExecutableBuilder& builder = tasks.task(task).step->builder();
    for (int part = 0; part < 3; ++part) own.push_back(builder.IsOwn(part));
    return own;
  };
  EXPECT_THAT(own_parts(0), ElementsAre(true, false, false));
  EXPECT_THAT(own_parts(1), ElementsAre(false, true, true));
}

TEST_F(TwoTasksTest, TensorsCrossInBothDirectionsWithEqualResults) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(3));
  Outputs values = {x, OnTask(1, "Square", {x})};
  for (int i = 0; i < 24; ++i) {
    const Output& a = values[values.size() - 1];
    const Output& b = values[values.size() - 2];
    values.push_back(i % 3 == 0 ? OnTask(i % 2, "Tanh", {a}, i / 2 % 2)
                                : OnTask(i % 2, "AddV2", {a, b}, i / 2 % 2));
  }
  ExpectEqualResults({values.back(), values[10], values[7]}, {{x, Values<float>({0.5, -2, 3})}});
}

TEST_F(TwoTasksTest, ATensorThatIsReadOftenCrossesOnceToEachDevice) {
  const Output a = OnTask(0, "Neg", {Constant(2.0f)});
  const Output b = OnTask(1, "Square", {a});
  const Output c = OnTask(1, "AddV2", {a, b});
  ExpectEqualResults({c});
  EXPECT_EQ(tasks.task(0).step->builder().partitions().transfers.size(), 1);
}

TEST_F(TwoTasksTest, ControlEdgesCross) {
  const Output a = OnTask(0, "Neg", {Constant(2.0f)});
  const Output b = OnTask(1, [&] { return ConstantAfter(7, a.node); });
  const Output c = OnTask(1, "Neg", {b});
  ExpectEqualResults({c});
}

TEST_F(TwoTasksTest, WhatABranchDidNotGiveCrossesDead) {
  const Output pred = Placeholder("pred", DataType::kBool, PartialShape::Scalar());
  const Output x = OnTask(0, "Neg", {Constant(3.0f)});
  const Node* branch = nullptr;
  OnTask(0, [&] {
    branch = build.NodeOf("Switch", {x, pred});
    return branch->output(0);
  });
  const Output left = OnTask(1, "Square", {branch->output(0)});
  const Output right = OnTask(0, "Neg", {branch->output(1)});
  const Output merged = OnTask(1, [&] { return Merge({left, right})->output(0); });
  const Output last = OnTask(0, "Neg", {merged});
  for (const bool taken : {false, true}) {
    ExpectEqualResults({last}, {{pred, Tensor::Scalar<bool>(taken)}});
  }
}

TEST_F(TwoTasksTest, ALoopRunsItsIterationsInBothTasks) {
  const Loop loop = While(
      {Constant(1.0f)},
      [&](const Outputs& v) {
        return OnTask(0, [&] { return Op("Less", {v[0], ConstantAfter(100, v[0].node)}); });
      },
      [&](const Outputs& v) {
        const Output doubled = OnTask(1, "AddV2", {v[0], v[0]});
        return Outputs{OnTask(0, "Abs", {doubled})};
      });
  const Output end = OnTask(1, "Neg", {loop.exits[0]});
  EXPECT_EQ(*tasks.Fetch({end})[0].data<float>(), -128);
  ExpectEqualResults({end});
  EXPECT_TRUE(tasks.task(1).step->builder().is_all_dynamic());
}

TEST_F(TwoTasksTest, ATaskThatHasNoPartOfTheStepGivesNothing) {
  const Output y = OnTask(1, "Neg", {OnTask(1, "Square", {Constant(3.0f)})});
  const std::vector<TwoTasks::Result> results = tasks.Run({y});
  EXPECT_EQ(results[0].status, absl::OkStatus());
  EXPECT_FALSE(results[0].values[0].has_value());
  ASSERT_EQ(results[1].status, absl::OkStatus());
  EXPECT_EQ(*results[1].values[0].data<float>(), -9);
}

TEST_F(TwoTasksTest, AStepRunsAgain) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Scalar());
  const Output y = OnTask(1, "Square", {OnTask(0, "Neg", {x})});
  for (const float value : {1.0f, 2.0f, 3.0f}) {
    EXPECT_EQ(*tasks.Fetch({y}, {{x, Tensor::Scalar(value)}})[0].data<float>(), value * value);
  }
}

TEST_F(TwoTasksTest, AnErrorInOneTaskEndsTheStepInTheOther) {
  const Output bad = OnTask(0, "TestBlocking", {Constant(-1.0f)});
  const Output y = OnTask(1, "Neg", {bad});
  for (const TwoTasks::Result& result : tasks.Run({y})) {
    ExpectError(result.status, absl::StatusCode::kOutOfRange, {"the number is negative"});
  }
}

// The task that waits fails itself, so that nobody takes what it waited for.
TEST_F(TwoTasksTest, ATaskThatFailsDoesNotWaitForTheOther) {
  const Output slow = OnTask(0, "TestBlocking", {OnTask(1, "TestBlocking", {Constant(-1.0f)})});
  const Output here = OnTask(1, "AddV2", {slow, OnTask(1, "TestBlocking", {Constant(-2.0f)})});
  for (const TwoTasks::Result& result : tasks.Run({here})) {
    EXPECT_EQ(result.status.code(), absl::StatusCode::kOutOfRange) << result.status;
  }
}

TEST_F(TwoTasksTest, ATaskThatWaitsInVainSaysForWhat) {
  const Output a = OnTask(0, "Neg", {Constant(2.0f)});
  tasks.Compile({OnTask(1, "Neg", {a})});
  LoopbackRendezvous between(&tasks.cluster());
  ExpectError(RunInSecond(&between, 50), absl::StatusCode::kDeadlineExceeded,
              {"longer than 50 ms", "waits for " + a.name() + " from " + tasks.task(0).name});
}

TEST_F(TwoTasksTest, ADeviceThatWasMadeAgainIsNotTheOneTheGraphWasCutFor) {
  tasks.Compile({OnTask(1, "Neg", {OnTask(0, "Neg", {Constant(2.0f)})})});
  const Task restarted(0, {{"CPU", 2}});
  DeviceSet now = Describe(restarted.devices);
  now.Append(Describe(tasks.task(1).devices));
  LoopbackRendezvous between(&now);
  ExpectError(RunInSecond(&between), absl::StatusCode::kAborted,
              {tasks.task(0).name, "was made again"});
}

TEST_F(TwoTasksTest, AStepOfSeveralTasksNeedsAWayBetweenThem) {
  tasks.Compile({OnTask(1, "Neg", {OnTask(0, "Neg", {Constant(2.0f)})})});
  ExpectError(RunInSecond(nullptr), absl::StatusCode::kFailedPrecondition,
              {tasks.task(0).name, "a device of another task"});
}

}  // namespace
}  // namespace millstream
