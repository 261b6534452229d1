// Loops over several devices: the same results as on one, and an end in any case.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/dynamic/dynamic_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using Outputs = std::vector<Output>;

class CutLoopsTest : public DynamicTest {
 protected:
  void StartWithCpus(int cpus, int inter_op_threads = 1) {
    SessionOptions session_options;
    session_options.device_count["CPU"] = cpus;
    session_options.inter_op_threads = inter_op_threads;
    session_options.intra_op_threads = 1;
    session_options.operation_timeout_ms = kHangGuardMillis;
    StartSession(session_options);
  }
  template <typename Body>
  auto OnCpu(int cpu, Body body) {
    build.set_device(absl::StrCat("/cpu:", cpu));
    auto result = body();
    build.set_device("");
    return result;
  }
  // while (v[0] < limit) { v[0] += 1; the others = body(others) }, all of it on `cpu` but what says
  // otherwise.
  Loop Count(int cpu, const Output& start, const Outputs& others, const Output& limit,
             const std::function<Outputs(const Outputs&)>& body, const LoopOptions& loop = {}) {
    Outputs initial = {start};
    initial.insert(initial.end(), others.begin(), others.end());
    build.set_device(absl::StrCat("/cpu:", cpu));
    const Loop result = While(
        initial,
        [&](const Outputs& v) {
          return Op("Less", {v[0], Enter(limit, loop.name, true, loop.parallel_iterations)});
        },
        [&](const Outputs& v) {
          const Output one = ConstantAfter(1, v[0].node);
          Outputs results = {Op("Add", {v[0], one})};
          const Outputs rest = body(Outputs(v.begin() + 1, v.end()));
          build.set_device(absl::StrCat("/cpu:", cpu));
          results.insert(results.end(), rest.begin(), rest.end());
          return results;
        },
        loop);
    build.set_device("");
    return result;
  }
  Loop Count(int cpu, const Outputs& others, const Output& limit,
             const std::function<Outputs(const Outputs&)>& body, const LoopOptions& loop = {}) {
    return Count(cpu, Constant(0.0f), others, limit, body, loop);
  }
  void PutAll(const std::string& op, int cpu) {
    for (const Node* node : graph.nodes()) {
      if (node->op().name != op) continue;
      EXPECT_EQ(graph.SetDevice(node, absl::StrCat("/cpu:", cpu)), absl::OkStatus());
    }
  }
  // x + 1, computed on a CPU of its own.
  Output AddOne(int cpu, const Output& x) {
    return OnCpu(cpu, [&] { return Op("Add", {x, ConstantAfter(1, x.node)}); });
  }
  float FloatValue(const Output& fetch, const std::vector<Feed>& feeds = {}) {
    const Tensor value = Value(fetch, feeds);
    return value.has_value() ? *value.data<float>() : -1;
  }
  Feed Fed(const Output& placeholder, float value) {
    return {placeholder, Tensor::Scalar<float>(value)};
  }

  const Output limit_ = Placeholder("limit", DataType::kFloat, PartialShape::Scalar());
};

TEST_F(CutLoopsTest, TheBodyIsElsewhere) {
  const Loop loop = Count(0, {Constant(5.0f)}, limit_,
                          [&](const Outputs& v) { return Outputs{AddOne(1, v[0])}; });
  for (const int threads : {1, 3}) {
    StartWithCpus(2, threads);
    for (const float n : {0.0f, 1.0f, 2.0f, 11.0f, 1500.0f}) {
      EXPECT_EQ(FloatValue(loop.exits[1], {Fed(limit_, n)}), 5 + n);
    }
  }
}

TEST_F(CutLoopsTest, TheConditionIsElsewhere) {
  const Loop loop = OnCpu(1, [&] {
    return While(
        {Constant(1.0f)},
        [&](const Outputs& v) {
          return OnCpu(0, [&] { return Op("Less", {v[0], Enter(limit_, "loop", true)}); });
        },
        [&](const Outputs& v) {
          return OnCpu(1, [&] { return Outputs{Op("Add", {v[0], v[0]})}; });
        });
  });
  StartWithCpus(2);
  EXPECT_EQ(FloatValue(loop.exits[0], {Fed(limit_, 1000)}), 1024);
  EXPECT_EQ(FloatValue(loop.exits[0], {Fed(limit_, 0)}), 1);
}

TEST_F(CutLoopsTest, EveryVariableIsOnADeviceOfItsOwn) {
  const Loop loop = Count(0, {Constant(1.0f), Constant(1.0f)}, limit_, [&](const Outputs& v) {
    return Outputs{v[1], OnCpu(2, [&] { return Op("Add", {v[0], v[1]}); })};
  });
  PutAll("Merge", 1);
  PutAll("NextIteration", 2);
  PutAll("LoopCond", 2);
  PutAll("Exit", 1);
  StartWithCpus(3, 2);
  const auto results = Run({loop.exits[1], loop.exits[2]}, {Fed(limit_, 10)});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(*(*results)[0].data<float>(), 89);
  EXPECT_EQ(*(*results)[1].data<float>(), 144);
}

TEST_F(CutLoopsTest, AnyNumberOfIterationsInFlightGivesTheSame) {
  for (const int64_t parallel : {1, 2, 3, 32}) {
    LoopOptions loop_options;
    loop_options.name = absl::StrCat("loop", parallel);
    loop_options.parallel_iterations = parallel;
    const Loop loop = Count(
        0, {Constant(0.0f)}, Constant(40.0f),
        [&](const Outputs& v) { return Outputs{AddOne(2, AddOne(1, v[0]))}; }, loop_options);
    StartWithCpus(3, 3);
    EXPECT_EQ(FloatValue(loop.exits[1]), 80) << parallel;
  }
}

TEST_F(CutLoopsTest, TheNumberOfIterationsInFlightIsBoundedOnEveryDevice) {
  LoopOptions loop_options;
  loop_options.parallel_iterations = 4;
  const Node* slow = nullptr;
  const Loop loop = Count(
      0, {Constant(0.0f)}, Constant(40.0f),
      [&](const Outputs& v) {
        const Output one = OnCpu(1, [&] { return ConstantAfter(1, v[0].node); });
        slow = OnCpu(1, [&] { return Op("TestHighWater", {one}); }).node;
        return Outputs{v[0]};
      },
      loop_options);
  StartWithCpus(2);
  HighWater::Await(4);
  ASSERT_TRUE(Run({loop.exits[0]}, {}, {slow}).ok());
  EXPECT_EQ(HighWater::Most(), 4);
}

// An outer loop on CPU 0, an inner one on CPU 1 whose body is on `body_cpu`.
TEST_F(CutLoopsTest, LoopsNestOverTwoAndThreeDevices) {
  for (const int body_cpu : {0, 1, 2}) {
    LoopOptions outer_options;
    outer_options.name = absl::StrCat("outer", body_cpu);
    LoopOptions inner_options;
    inner_options.name = absl::StrCat("inner", body_cpu);
    const Output outer_limit = OnCpu(1, [&] { return Op("Neg", {Constant(-5.0f)}); });
    const Loop outer = Count(
        0, {Constant(0.0f)}, outer_limit,
        [&](const Outputs& v) {
          const Output limit = Enter(limit_, outer_options.name, true);
          const Loop inner = Count(
              1, ConstantAfter(0, v[0].node), {v[0]}, limit,
              [&](const Outputs& w) { return Outputs{AddOne(body_cpu, w[0])}; }, inner_options);
          return Outputs{inner.exits[1]};
        },
        outer_options);
    StartWithCpus(3, 2);
    for (const float n : {3.0f, 0.0f, 1.0f}) {
      EXPECT_EQ(FloatValue(outer.exits[1], {Fed(limit_, n)}), 5 * n) << body_cpu;
    }
  }
}

TEST_F(CutLoopsTest, BranchesOfAConditionalInTheBodyAreOnDifferentDevices) {
  const Loop loop = Count(0, {Constant(0.0f)}, Constant(10.0f), [&](const Outputs& v) {
    const Output small = Op("Less", {v[0], ConstantAfter(4, v[0].node)});
    const Node* branch = build.NodeOf("Switch", {v[0], small});
    const Output up = AddOne(1, branch->output(1));
    const Output over = OnCpu(2, [&] { return Op("Add", {branch->output(0), branch->output(0)}); });
    return Outputs{OnCpu(1, [&] { return Merge({over, up})->output(0); })};
  });
  StartWithCpus(3);
  EXPECT_EQ(FloatValue(loop.exits[1]), 256);
}

TEST_F(CutLoopsTest, ALoopOnABranchThatIsNotTakenEndsOnAllDevices) {
  const Output pred = Placeholder("pred", DataType::kBool, PartialShape::Scalar());
  const Node* branch = build.NodeOf("Switch", {Constant(2.0f), pred});
  const Loop loop =
      Count(0, branch->output(1), {}, Constant(7.0f), [&](const Outputs&) { return Outputs{}; });
  const Output doubled =
      Count(0, branch->output(1), {branch->output(1)}, Constant(7.0f),
            [&](const Outputs& v) { return Outputs{AddOne(1, v[0])}; }, {"other"})
          .exits[1];
  const Output merged = Merge({branch->output(0), Op("Add", {loop.exits[0], doubled})})->output(0);
  StartWithCpus(2);
  EXPECT_EQ(FloatValue(merged, {{pred, Tensor::Scalar<bool>(true)}}), 14);
  EXPECT_EQ(FloatValue(merged, {{pred, Tensor::Scalar<bool>(false)}}), 2);
}

TEST_F(CutLoopsTest, ALoopInABranchOfALoop) {
  const Loop outer = Count(0, {Constant(0.0f)}, Constant(6.0f), [&](const Outputs& v) {
    const Output small = Op("Less", {v[0], ConstantAfter(4, v[0].node)});
    const Node* branch = build.NodeOf("Switch", {v[0], small});
    const Output zero = ConstantAfter(0, branch->output(1).node);
    const Output start = Op("Minimum", {branch->output(1), zero});
    LoopOptions inner_options;
    inner_options.name = "inner";
    const Loop inner = Count(
        2, start, {branch->output(1)}, ConstantAfter(3, branch->output(1).node),
        [&](const Outputs& w) { return Outputs{AddOne(1, w[0])}; }, inner_options);
    const Output over = AddOne(1, AddOne(2, branch->output(0)));
    return Outputs{Merge({over, inner.exits[1]})->output(0)};
  });
  StartWithCpus(3, 2);
  // 0, 3, 6, 8, 10, 12, 14: three at a time while it is small.
  EXPECT_EQ(FloatValue(outer.exits[1]), 14);
}

// As a gradient follows the loop that it belongs to.
TEST_F(CutLoopsTest, TwoLoopsInARow) {
  const Loop first = Count(0, {Constant(1.0f)}, limit_, [&](const Outputs& v) {
    return Outputs{OnCpu(1, [&] { return Op("Add", {v[0], v[0]}); })};
  });
  const Loop second = Count(
      1, {first.exits[1]}, first.exits[0],
      [&](const Outputs& v) {
        return Outputs{OnCpu(0, [&] { return Op("Mul", {v[0], ConstantAfter(0.5f, v[0].node)}); })};
      },
      {"second"});
  StartWithCpus(2);
  const auto results = Run({first.exits[1], second.exits[1], second.exits[0]}, {Fed(limit_, 12)});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(*(*results)[0].data<float>(), 4096);
  EXPECT_EQ(*(*results)[1].data<float>(), 1);
  EXPECT_EQ(*(*results)[2].data<float>(), 12);
}

TEST_F(CutLoopsTest, ANodeBehindAControlEdgeRunsOnceAnIteration) {
  const Output handle = Variable("v", DataType::kFloat, PartialShape::Scalar());
  ASSERT_EQ(graph.SetDevice(handle.node, "/cpu:1"), absl::OkStatus());
  const Output entered = Enter(handle, "loop", true);
  const Node* add = nullptr;
  const Loop loop = Count(0, {Constant(0.0f)}, limit_, [&](const Outputs& v) {
    build.set_device("/cpu:1");
    const Output one = ConstantAfter(1, v[0].node);
    add = build.NodeOf("AssignAddVariableOp", {entered, one});
    build.set_control_inputs({add});
    build.set_device("/cpu:0");
    const Output passed = Op("Identity", {v[0]});
    build.set_control_inputs({});
    return Outputs{passed};
  });
  StartWithCpus(2);
  ASSERT_EQ(Execute({Assign(handle, Constant(0.0f))}), absl::OkStatus());
  EXPECT_EQ(FloatValue(loop.exits[1], {Fed(limit_, 25)}), 0);
  EXPECT_EQ(FloatValue(Read(handle)), 25);
}

// What is computed from invariants alone crosses too, in every iteration.
TEST_F(CutLoopsTest, WhatDependsOnInvariantsAloneCrosses) {
  const Output entered = Enter(limit_, "loop", true);
  const Loop loop = Count(0, {Constant(0.0f)}, limit_, [&](const Outputs& v) {
    const Output negative = OnCpu(1, [&] { return Op("Neg", {entered}); });
    return Outputs{OnCpu(2, [&] { return Op("Add", {v[0], negative}); })};
  });
  StartWithCpus(3);
  EXPECT_EQ(FloatValue(loop.exits[1], {Fed(limit_, 6)}), -36);
}

// Between an Enter and the Merge: it runs in the first iteration alone.
TEST_F(CutLoopsTest, WhatRunsInTheFirstIterationAloneCrosses) {
  const Output entered = Enter(Constant(3.0f), "loop");
  const Output before = OnCpu(1, [&] { return Op("Neg", {entered}); });
  const Loop loop = Count(0, {}, Constant(5.0f), [&](const Outputs&) { return Outputs{}; });
  const Node* merge = OnCpu(2, [&] { return Merge({before, before}); });
  const Node* decision = build.NodeOf("Switch", {merge->output(0), loop.pred});
  const Output next = Op("NextIteration", {AddOne(1, decision->output(1))});
  ASSERT_EQ(graph.SetBackEdge(merge, 1, next.node), absl::OkStatus());
  const Output left = Op("Exit", {decision->output(0)});
  StartWithCpus(3);
  EXPECT_EQ(FloatValue(left), 2);
}

// One device lost a variable of the loop after the first iteration, the other waits for it: the
// cause is named.
TEST_F(CutLoopsTest, AVariableThatGetsLostEndsTheStepOnAllDevices) {
  const Output once = Enter(Constant(3.0f), "loop");
  Output sum;
  const Loop loop = Count(0, {Constant(1.0f)}, limit_, [&](const Outputs& v) {
    sum = OnCpu(1, [&] { return Op("Add", {v[0], once}); });
    return Outputs{sum};
  });
  for (const int threads : {1, 3}) {
    StartWithCpus(2, threads);
    EXPECT_EQ(FloatValue(loop.exits[1], {Fed(limit_, 0)}), 1);
    ExpectError(
        Error(loop.exits[1], {Fed(limit_, 5)}), absl::StatusCode::kInternal,
        {"the step cannot continue", absl::StrCat("node '", sum.node->name(), "' (op Add), on"),
         absl::StrCat("CPU:1, waits for ", once.name(), ", in iteration 1 of frame")});
  }
}

TEST_F(CutLoopsTest, AnErrorInTheBodyEndsTheStepOnAllDevices) {
  const Loop loop = Count(0, {Constant(3.0f)}, Constant(1000.0f), [&](const Outputs& v) {
    return Outputs{OnCpu(1, [&] {
      return Op("TestBlocking", {Op("Sub", {v[0], ConstantAfter(1, v[0].node)})});
    })};
  });
  const Output behind = OnCpu(2, [&] { return Op("Neg", {loop.exits[1]}); });
  for (const int threads : {1, 3}) {
    StartWithCpus(3, threads);
    for (int i = 0; i < 20; ++i) {
      ExpectError(Error(behind), absl::StatusCode::kOutOfRange,
                  {"the number is negative", "TestBlocking", "CPU:1", "iteration 3 of frame"});
    }
  }
}

class EndlessCutLoopTest : public CutLoopsTest {
 protected:
  EndlessCutLoopTest() {
    loop_ = Count(0, {Constant(0.0f)}, Constant(1e30f),
                  [&](const Outputs& v) { return Outputs{AddOne(1, v[0])}; });
    StartWithCpus(2, 2);
    options_.should_stop_argument = &runs_;
    options_.should_stop = [](void* asked) {
      *static_cast<std::atomic<bool>*>(asked) = true;
      return false;
    };
  }
  Loop loop_;
  RunOptions options_;
  std::atomic<bool> runs_{false};
};

TEST_F(EndlessCutLoopTest, IsCancelled) {
  Cancellation cancellation;
  options_.cancellation = &cancellation;
  Status status;
  std::thread step([&] { status = Run({loop_.exits[1]}, {}, {}, options_).status(); });
  EXPECT_TRUE(Eventually([&] { return runs_.load(); }));
  cancellation.Cancel();
  step.join();
  ExpectError(status, absl::StatusCode::kCancelled, {"cancelled"});
}

TEST_F(EndlessCutLoopTest, RunsIntoItsTimeLimit) {
  options_.timeout_ms = 50;
  ExpectError(Run({loop_.exits[1]}, {}, {}, options_).status(), absl::StatusCode::kDeadlineExceeded,
              {"took longer than 50 ms"});
}

TEST_F(EndlessCutLoopTest, EndsAsItsSessionIsClosed) {
  Status status;
  std::thread step([&] { status = Run({loop_.exits[1]}, {}, {}, options_).status(); });
  EXPECT_TRUE(Eventually([&] { return runs_.load(); }));
  EXPECT_EQ(session->Close(), absl::OkStatus());
  step.join();
  ExpectError(status, absl::StatusCode::kCancelled, {"closed while the step ran"});
}

TEST_F(CutLoopsTest, ManyStepsRunAtOnce) {
  const Loop loop = Count(0, {limit_}, limit_,
                          [&](const Outputs& v) { return Outputs{AddOne(2, AddOne(1, v[0]))}; });
  for (const int inter_op_threads : {1, 3}) {
    StartWithCpus(3, inter_op_threads);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 40; ++i) {
          const float n = static_cast<float>(t * 5 + i % 3);
          const auto results = Run({loop.exits[1]}, {Fed(limit_, n)});
          ASSERT_TRUE(results.ok()) << results.status();
          EXPECT_EQ(*(*results)[0].data<float>(), 3 * n);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace millstream
