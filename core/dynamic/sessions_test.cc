// Sessions run branches and loops: on one device, and beside others.
#include <string>
#include <thread>
#include <vector>

#include "core/dynamic/dynamic_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using Outputs = std::vector<Output>;

class SessionsTest : public DynamicTest {
 protected:
  void StartWithCpus(int cpus, int inter_op_threads = 1) {
    SessionOptions session_options;
    session_options.device_count["CPU"] = cpus;
    session_options.inter_op_threads = inter_op_threads;
    session_options.intra_op_threads = 1;
    StartSession(session_options);
  }
  // Doubles x until it is not below the limit.
  Loop Double(const Output& x, const Output& limit) {
    const Output entered = Enter(limit, "loop", true);
    return While(
        {x},
        [&](const Outputs& v) {
          return Op("Less", {v[0], entered});
        },
        [&](const Outputs& v) {
          return Outputs{Op("Add", {v[0], v[0]})};
        });
  }
  float FloatValue(const Output& fetch, const std::vector<Feed>& feeds = {}) {
    const Tensor value = Value(fetch, feeds);
    return value.has_value() ? *value.data<float>() : -1;
  }
};

TEST_F(SessionsTest, ALoopIsAStepLikeOthers) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Loop loop = Double(x, Constant(100.0f));
  for (const float start : {1.0f, 3.0f, 200.0f}) {
    float expected = start;
    while (expected < 100) expected *= 2;
    EXPECT_EQ(FloatValue(loop.exits[0], {{x, Tensor::Scalar<float>(start)}}), expected);
  }
}

TEST_F(SessionsTest, FeedsOfAnyShapeShareAProgram) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Node* branch = build.NodeOf("Switch", {x, Bool(true)});
  const Output y = Op("Neg", {branch->output(1)});
  for (int64_t size = 1; size < 40; ++size) {
    const Tensor value = Value(y, {{x, *Tensor::Create(DataType::kFloat, Shape({size}))}});
    EXPECT_EQ(value.shape(), Shape({size}));
  }
}

TEST_F(SessionsTest, FeedsThatContradictTheGraphAreRefused) {
  const Output x = Placeholder("x", DataType::kFloat, {2});
  const Node* branch = build.NodeOf("Switch", {x, Bool(true)});
  ExpectError(Error(branch->output(1), {{x, Values<float>({1, 2, 3})}}),
              absl::StatusCode::kInvalidArgument, {"feed of x:0 must have shape [2]", "[3]"});
}

TEST_F(SessionsTest, ManyStepsRunAtOnce) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Loop loop = Double(x, Constant(1000.0f));
  StartWithCpus(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto results = Run({loop.exits[0]}, {{x, Tensor::Scalar<float>(1.0f + t)}});
        ASSERT_TRUE(results.ok()) << results.status();
        EXPECT_GE(*(*results)[0].data<float>(), 1000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SessionsTest, ABranchMayEndOnAnotherDevice) {
  StartWithCpus(2);
  const Output pred = Placeholder("pred", DataType::kBool, PartialShape::Scalar());
  const Node* branch = build.NodeOf("Switch", {Constant(3.0f), pred});
  build.set_device("/cpu:1");
  const Output negative = Op("Neg", {branch->output(0)});
  const Output square = Op("Square", {branch->output(1)});
  build.set_control_inputs({negative.node});
  const Output behind = Constant(5.0f);
  build.set_control_inputs({});
  build.set_device("");
  const Node* merged = Merge({Op("Add", {behind, negative}), square});
  EXPECT_EQ(FloatValue(merged->output(0), {{pred, Tensor::Scalar<bool>(false)}}), 2);
  EXPECT_EQ(FloatValue(merged->output(0), {{pred, Tensor::Scalar<bool>(true)}}), 9);
  ExpectError(Error(negative, {{pred, Tensor::Scalar<bool>(true)}}),
              absl::StatusCode::kInvalidArgument, {"does not have value"});
}

TEST_F(SessionsTest, ALoopGoesWhereOneOfItsNodesAsksFor) {
  StartWithCpus(3);
  build.set_device("/cpu:2");
  const Output x = Op("Neg", {Constant(-1.0f)});
  build.set_device("");
  const Output entered = Enter(Op("Neg", {Constant(-100.0f)}), "loop", true);
  const Loop loop = While(
      {x},
      [&](const Outputs& v) {
        return Op("Less", {v[0], entered});
      },
      [&](const Outputs& v) {
        build.set_device("/cpu:1");
        const Output twice = Op("Add", {v[0], v[0]});
        build.set_device("");
        return Outputs{twice};
      });
  EXPECT_EQ(FloatValue(Op("Neg", {loop.exits[0]})), -128);
}

TEST_F(SessionsTest, ALoopWhoseNodesAskForTwoDevicesIsCut) {
  StartWithCpus(2);
  const Loop loop = While(
      {Constant(1.0f)},
      [&](const Outputs& v) {
        return Op("Less", {v[0], ConstantAfter(10, v[0].node)});
      },
      [&](const Outputs& v) {
        build.set_device("/cpu:0");
        const Output a = Op("Add", {v[0], v[0]});
        build.set_device("/cpu:1");
        const Output b = Op("Square", {a});
        build.set_device("");
        return Outputs{b};
      });
  EXPECT_EQ(FloatValue(loop.exits[0]), 64);
  StepSignature signature;
  signature.fetches = {loop.exits[0]};
  const std::string text = MakeCallable(signature)->placement_text();
  EXPECT_THAT(text, ::testing::HasSubstr("Square: (Square): "
                                         "/job:localhost/replica:0/task:0/device:CPU:1 because it "
                                         "asks for '/cpu:1'"));
  EXPECT_THAT(text, ::testing::HasSubstr("it is together with 'Enter'"));
}

TEST_F(SessionsTest, ATracedLoopTellsEveryIteration) {
  SessionOptions session_options;
  session_options.disabled_passes = {"compile_loops"};  // makes one operation of the loop
  StartSession(session_options);
  const Loop loop = Double(Constant(1.0f), Constant(8.0f));
  StepReport report;
  report.want_trace = true;
  RunOptions traced;
  traced.report = &report;
  ASSERT_TRUE(Run({loop.exits[0]}, {}, {}, traced).ok());
  ASSERT_EQ(report.trace.parts().size(), 1u);
  int additions = 0;
  for (const TracedNode& node : report.trace.parts()[0].nodes) {
    if (node.op != "Add") continue;
    ++additions;
    ASSERT_EQ(node.outputs.size(), 1u);
    EXPECT_EQ(node.outputs[0].bytes, 4);
    EXPECT_LE(node.start, node.end);
  }
  EXPECT_EQ(additions, 3);
}

TEST_F(SessionsTest, LongKernelsShareTheThreadsThatTheSessionHas) {
  // In each iteration two branches of long products that do not wait for each other.
  constexpr int kSize = 128;
  Tensor start = *Tensor::Create(DataType::kFloat, Shape({kSize, kSize}));
  for (float& value : start.flat<float>()) value = 1.0f / kSize;
  const Output matrix = Enter(Constant(start), "loop", true);
  const Output limit = Enter(Constant(40.0f), "loop", true);
  const Loop loop = While(
      {Constant(0.0f), Constant(start), Constant(start)},
      [&](const Outputs& v) {
        return Op("Less", {v[0], limit});
      },
      [&](const Outputs& v) {
        return Outputs{Op("Add", {v[0], ConstantAfter(1, v[0].node)}), Op("MatMul", {v[1], matrix}),
                       Op("MatMul", {v[2], matrix})};
      });
  const Outputs fetches = {loop.exits[1], loop.exits[2]};
  StartWithCpus(1, 1);
  const auto alone = Run(fetches);
  StartWithCpus(1, 3);
  const auto shared = Run(fetches);
  ASSERT_TRUE(alone.ok() && shared.ok()) << alone.status() << shared.status();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Elements<float>((*alone)[i]), Elements<float>((*shared)[i]));
  }
}

}  // namespace
}  // namespace millstream
