// Clusters whose tasks have devices with memory of their own: simulated accelerators.
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/graph/graph_builder.h"
#include "core/on_device/device_session_fixture.h"
#include "distributed_runtime/cluster_session.h"
#include "distributed_runtime/loopback_transport.h"
#include "distributed_runtime/testing/cluster_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Not;

constexpr absl::StatusCode kInternal = absl::StatusCode::kInternal;
constexpr absl::StatusCode kUnavailable = absl::StatusCode::kUnavailable;
constexpr int64_t kElements = 100000;

// A switch of the simulated devices is for an ordinal in both tasks, so task 0 uses SIM:0 here and
// task 1 SIM:1, where a test throws one.
class ClusterOnDeviceTest : public ClusterTest {
 protected:
  ClusterOnDeviceTest() {
    LoadSims();
    x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
    feeds = {{x, Values<float>({1, 2})}};
  }

  static std::string NameOf(int task, const std::string& device) {
    return absl::StrCat("/job:worker/replica:0/task:", task, "/device:", device);
  }
  // The nodes that `body` adds ask for `device` of the task: "SIM:0".
  template <typename Body>
  auto There(int task, const std::string& device, Body body) {
    build.set_device(absl::StrCat("/job:worker/task:", task, "/device:", device));
    auto result = body();
    build.set_device("");
    return result;
  }
  Output OpThere(int task, const std::string& device, absl::string_view op,
                 const std::vector<Output>& inputs) {
    return There(task, device, [&] { return Op(op, inputs); });
  }
  // All that use the variable are there.
  Output VariableThere(int task, const std::string& device, const std::string& name, int64_t size) {
    const Output handle = Variable(name, DataType::kFloat, PartialShape::Vector(size));
    EXPECT_EQ(graph.SetDevice(handle.node, NameOf(task, device)), absl::OkStatus());
    return handle;
  }
  // For the tasks that fit alone.
  static proto::ConfigProto Only(int task) {
    proto::ConfigProto config;
    config.add_device_filters(absl::StrCat("/job:worker/task:", task));
    return config;
  }
  // The numbers of requests in a run: those that begin parts of a step, those of further rounds,
  // and those for single tensors. The run before has prepared the step.
  std::vector<int> CountRequests(const std::vector<Output>& fetches,
                                 const std::vector<const Node*>& targets = {}) {
    EXPECT_EQ(Run(fetches, feeds, targets).status(), absl::OkStatus());
    for (const auto& transport : transports_) transport->ForgetCounts();
    EXPECT_EQ(Run(fetches, feeds, targets).status(), absl::OkStatus());
    std::vector<int> counts;
    for (const char* method : {"RunGraph", "ContinueStep", "RecvTensor"}) {
      counts.push_back(transports_[0]->Count(method) + transports_[1]->Count(method));
    }
    return counts;
  }
  std::vector<std::string> DeviceNames() const {
    std::vector<std::string> names;
    for (const DeviceInfo& device : session->ListDevices()) names.push_back(device.name);
    return names;
  }
  // Runs `y`, which is on SIM:1 of the second task, and closes the session while that device hangs
  // in it. The session there, which has still to free its state.
  std::weak_ptr<WorkerSession> CloseWhileItHangs(const Output& y) {
    session = Open(0);
    EXPECT_THAT(Elements<float>(Value(y, feeds)), ElementsAre(-1, -2));
    const std::weak_ptr<WorkerSession> kept = servers_[1]->worker()->sessions()[0];
    SetOnSims(1, "hang_work", 1);
    std::thread closing([this] {
      AwaitHangOnSims(1);
      EXPECT_EQ(session->Close(), absl::OkStatus());
    });
    EXPECT_EQ(Error(y, feeds).code(), absl::StatusCode::kCancelled);
    closing.join();
    session.reset();
    return kept;
  }

  Output x;
  std::vector<Feed> feeds;
};

TEST_F(ClusterOnDeviceTest, DevicesOfAllTasksAreListed) {
  session = Open(0);
  EXPECT_THAT(DeviceNames(), Contains(NameOf(0, "SIM:0")));
  EXPECT_THAT(DeviceNames(), Contains(NameOf(1, "SIM:2")));
  proto::ConfigProto config;
  (*config.mutable_device_count())["SIM"] = 1;
  session = Open(0, config);
  EXPECT_THAT(DeviceNames(), Contains(NameOf(1, "SIM:0")));
  EXPECT_THAT(DeviceNames(), Not(Contains(NameOf(1, "SIM:1"))));
}

TEST_F(ClusterOnDeviceTest, TensorsGoFromDeviceToDeviceOverTasks) {
  const Output a = OpThere(0, "SIM:0", "Neg", {x});
  const Output b = OpThere(1, "SIM:0", "Square", {a});
  const Output c = OpThere(1, "SIM:1", "Add", {b, a});
  const Output d = OpThere(0, "SIM:1", "Sub", {c, b});
  const Output e = OpThere(0, "CPU:0", "Mul", {d, c});
  for (int task = 0; task < kTasks; ++task) {
    session = Open(task);
    for (int i = 0; i < 3; ++i) {
      const auto fetched = Run({e, b, d}, feeds);
      ASSERT_TRUE(fetched.ok()) << fetched.status();
      EXPECT_THAT(Elements<float>((*fetched)[0]), ElementsAre(0, -4));
      EXPECT_THAT(Elements<float>((*fetched)[1]), ElementsAre(1, 4));
      EXPECT_THAT(Elements<float>((*fetched)[2]), ElementsAre(-1, -2));
    }
  }
}

TEST_F(ClusterOnDeviceTest, ATensorThatFillsSeveralMessagesArrivesWhole) {
  const Output big = Placeholder("big", DataType::kFloat, PartialShape::Vector(-1));
  const Output there = OpThere(1, "SIM:1", "Neg", {OpThere(0, "SIM:0", "Neg", {big})});
  const Output back = OpThere(0, "SIM:0", "Neg", {there});
  session = Open(0);
  for (const int64_t size : {int64_t{0}, int64_t{1}, kElements}) {
    std::vector<float> values;
    for (int64_t i = 0; i < size; ++i) values.push_back(static_cast<float>(i));
    const Tensor result = Value(back, {{big, Values<float>(values)}});
    std::vector<float> expected;
    for (const float value : values) expected.push_back(-value);
    EXPECT_EQ(Elements<float>(result), expected);
  }
}

// As a worker does with a parameter server.
TEST_F(ClusterOnDeviceTest, AVariableOfAnotherTasksDeviceIsPulledAndPushedTo) {
  const Output v = VariableThere(1, "SIM:1", "v", 2);
  const Node* const assign = Assign(v, x);
  const Output value = There(1, "SIM:1", [&] { return Read(v); });
  const Output gradient = OpThere(0, "SIM:0", "Add", {value, value});
  const Node* const push = There(1, "SIM:1", [&] {
    return build.NodeOf("AssignAddVariableOp", {v, gradient});
  });
  session = Open(0);
  ASSERT_EQ(Execute({assign}, feeds), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(gradient)), ElementsAre(2, 4));
  ASSERT_EQ(Execute({push}), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(value)), ElementsAre(3, 6));
  // It outlives the session, and the sessions of another master share it.
  session = Open(1);
  ASSERT_EQ(Execute({push}), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(value)), ElementsAre(9, 18));
  session = Open(0);
  EXPECT_THAT(Elements<float>(Value(value)), ElementsAre(9, 18));
  proto::ConfigProto isolated;
  isolated.set_isolate_session_state(true);
  session = Open(0, isolated);
  ExpectError(Error(value), absl::StatusCode::kFailedPrecondition, {"v"});
  ASSERT_EQ(Execute({assign}, feeds), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(value)), ElementsAre(1, 2));
}

// As one that asks for the task alone does.
TEST_F(ClusterOnDeviceTest, AVariableOfAnotherShapeOnADeviceBeginsAnew) {
  for (const int64_t size : {1, 5}) {
    Graph own;
    GraphBuilder builder(&own, "");
    builder.set_device(NameOf(1, "SIM:1"));
    const GraphBuilder::Attrs attrs = {{"dtype", DataType::kFloat},
                                       {"shape", PartialShape::Vector(size)},
                                       {"shared_name", std::string("v")}};
    const Output handle = builder.Op("VarHandleOp", {}, attrs);
    const Tensor value = Tensor::Vector<float>(std::vector<float>(size, 1.0f));
    StepSignature signature;
    signature.targets = {builder.NodeOf("AssignVariableOp", {handle, builder.Const(value)})};
    ASSERT_TRUE(builder.ok()) << builder.status();
    const auto opened = CreateClusterSession(&own, servers_[0]->target(), "",
                                             LoopbackTransport::Global(), absl::InfiniteFuture());
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ((*opened)->Run(signature, {}, {}, RunOptions()), absl::OkStatus());
  }
}

TEST_F(ClusterOnDeviceTest, WhatComesFromADeviceIsAskedFor) {
  const Output on_host = VariableThere(1, "CPU:0", "v", 2);
  const Output on_device = VariableThere(1, "SIM:1", "w", 2);
  session = Open(0);
  ASSERT_EQ(Execute({Assign(on_host, x), Assign(on_device, x)}, feeds), absl::OkStatus());
  const Output from_host = There(1, "CPU:0", [&] { return Read(on_host); });
  const Output from_device = There(1, "SIM:1", [&] { return Read(on_device); });
  EXPECT_THAT(CountRequests({OpThere(0, "SIM:0", "Neg", {from_host})}), ElementsAre(1, 0, 0));
  EXPECT_THAT(CountRequests({OpThere(0, "CPU:0", "Neg", {from_device})}), ElementsAre(1, 0, 1));
  const Output here = OpThere(0, "SIM:0", "Neg", {x});
  EXPECT_THAT(CountRequests({}, {Assign(on_host, here)}), ElementsAre(1, 0, 1));
  EXPECT_THAT(CountRequests({}, {Assign(on_device, here)}), ElementsAre(1, 0, 1));
  EXPECT_THAT(Elements<float>(Value(from_host)), ElementsAre(-1, -2));
  EXPECT_THAT(Elements<float>(Value(from_device)), ElementsAre(-1, -2));
}

TEST_F(ClusterOnDeviceTest, TwoSessionsUseADeviceAtTheSameTime) {
  const Output v = VariableThere(1, "SIM:1", "v", 2);
  const Node* const assign = Assign(v, Constant(Values<float>({0, 0})));
  const Output change = OpThere(0, "SIM:0", "Abs", {x});
  const Node* const add = There(1, "SIM:1", [&] {
    return build.NodeOf("AssignAddVariableOp", {v, change});
  });
  const Output value = There(1, "SIM:1", [&] { return Read(v); });
  StepSignature signature;
  signature.feeds = {x};
  signature.targets = {add};
  session = Open(0);
  ASSERT_EQ(Execute({assign}), absl::OkStatus());
  std::vector<std::unique_ptr<Session>> sessions;
  for (int task = 0; task < kTasks; ++task) sessions.push_back(Open(task));
  const std::vector<Tensor> values = {Values<float>({1, -2})};
  const auto run = [&](Session* own, int times) {
    for (int i = 0; i < times; ++i) {
      EXPECT_EQ(own->Run(signature, values, {}, RunOptions()), absl::OkStatus());
    }
  };
  for (const std::unique_ptr<Session>& one : sessions) run(one.get(), 1);  // prepares the step
  std::vector<std::thread> threads;
  for (const std::unique_ptr<Session>& one : sessions) {
    threads.emplace_back([&run, own = one.get()] { run(own, 19); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(Elements<float>(Value(value)), ElementsAre(40, 80));
}

TEST_F(ClusterOnDeviceTest, ArgumentsInHostMemoryComeFromOtherTasks) {
  const Output size = Placeholder("size", DataType::kInt32, PartialShape::Vector(1));
  const Output given = OpThere(0, "CPU:0", "Add", {size, size});
  const Output scalar = Placeholder("scalar", DataType::kFloat, PartialShape::Scalar());
  const Output element = OpThere(0, "SIM:0", "Neg", {scalar});
  const Output filled = OpThere(1, "SIM:1", "Fill", {given, element});
  // The shape of a tensor on a device is in host memory.
  const Output shape = OpThere(1, "SIM:1", "Shape", {filled});
  const Output again = OpThere(0, "SIM:0", "Fill", {shape, element});
  session = Open(0);
  for (const int32_t half : {1, 2}) {
    const std::vector<Feed> fed = {{size, Values<int32_t>({half})}, {scalar, Tensor::Scalar(3.0f)}};
    const auto fetched = Run({filled, again}, fed);
    ASSERT_TRUE(fetched.ok()) << fetched.status();
    const std::vector<float> expected(2 * half, -3.0f);
    EXPECT_EQ(Elements<float>((*fetched)[0]), expected);
    EXPECT_EQ(Elements<float>((*fetched)[1]), expected);
  }
}

TEST_F(ClusterOnDeviceTest, AReadWaitsForAnAssignmentThroughAnotherTask) {
  const Output v = VariableThere(1, "SIM:1", "v", 2);
  const Node* const assign = There(1, "SIM:1", [&] { return Assign(v, x); });
  const Node* const between = There(0, "CPU:0", [&] { return Group({assign}); });
  const Output value = There(1, "SIM:1", [&] { return Read(v, {between}); });
  session = Open(0);
  for (const float first : {1.0f, 5.0f, 9.0f}) {
    EXPECT_THAT(Elements<float>(Value(value, {{x, Values<float>({first, 2})}})),
                ElementsAre(first, 2));
  }
}

// What comes from a device is in memory that goes with it.
TEST_F(ClusterOnDeviceTest, AReceivedTensorOutlivesTheTaskThatSentIt) {
  const Output big = Placeholder("big", DataType::kFloat, PartialShape::Vector(kElements));
  const Output sent = OpThere(0, "SIM:0", "Neg", {big});
  const Output v = VariableThere(1, "CPU:0", "v", kElements);
  const Node* const assign = There(1, "CPU:0", [&] { return Assign(v, sent); });
  const Output value = There(1, "CPU:0", [&] { return Read(v); });
  const std::vector<Feed> fed = {{big, Tensor::Vector<float>(std::vector<float>(kElements, 2.0f))}};
  session = Open(0);
  ASSERT_EQ(Execute({assign}, fed), absl::OkStatus());
  const Tensor fetched = Value(sent, fed);
  session.reset();
  servers_[0].reset();
  session = Open(1, Only(1));
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(Elements<float>(Value(value)), Each(-2));
  EXPECT_THAT(Elements<float>(fetched), Each(-2));
}

TEST_F(ClusterOnDeviceTest, ACopyThatFailsNamesTensorAndDeviceAndEndsTheStepEverywhere) {
  const Output a = OpThere(0, "SIM:0", "Neg", {x});
  const Output b = OpThere(1, "SIM:1", "Square", {a});
  const Output blocked = FromEmptyQueue(1);
  ASSERT_EQ(graph.SetDevice(blocked.node, "/job:worker/task:1/device:CPU:0"), absl::OkStatus());
  session = Open(0);
  EXPECT_THAT(Elements<float>(Value(b, feeds)), ElementsAre(1, 4));
  // In task 0: the first copy is of x.
  SetOnSims(0, "fail_copy", 2);
  ExpectError(Run({b, blocked}, feeds).status(), kInternal,
              {"fail_copy", "copy to the host", NameOf(0, "SIM:0"), NameOf(1, "SIM:1"),
               "of the tensor " + a.name()});
  EXPECT_THAT(Elements<float>(Value(b, feeds)), ElementsAre(1, 4));
  // In task 1, which gets the tensor.
  SetOnSims(1, "fail_copy", 1);
  ExpectError(Run({b, blocked}, feeds).status(), kInternal,
              {"fail_copy", "copy to the device", NameOf(0, "SIM:0"), NameOf(1, "SIM:1"),
               "of the tensor " + a.name()});
  EXPECT_THAT(Elements<float>(Value(b, feeds)), ElementsAre(1, 4));
}

TEST_F(ClusterOnDeviceTest, ADeviceThatIsLostInACopyIsNamedAndOpenedAgainForTheNextSession) {
  const Output a = OpThere(0, "SIM:0", "Neg", {x});
  const Output b = OpThere(1, "SIM:1", "Square", {a});
  const Output elsewhere = OpThere(1, "SIM:2", "Neg", {OpThere(0, "SIM:2", "Neg", {x})});
  const Output v = VariableThere(0, "SIM:0", "v", 2);
  const Node* const assign = Assign(v, x);
  const Output value = There(0, "SIM:0", [&] { return Read(v); });
  session = Open(1);
  ASSERT_EQ(Execute({assign}, feeds), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(b, feeds)), ElementsAre(1, 4));
  SetOnSims(0, "lose_copy", 2);
  ExpectError(Error(b, feeds), kUnavailable, {"lost", NameOf(0, "SIM:0"), a.node->name()});
  ExpectError(Error(b, feeds), kUnavailable, {"lost", NameOf(0, "SIM:0")});
  EXPECT_THAT(Elements<float>(Value(elsewhere, feeds)), ElementsAre(1, 2));
  session = Open(0);
  EXPECT_THAT(Elements<float>(Value(b, feeds)), ElementsAre(1, 4));
  ExpectError(Error(value), absl::StatusCode::kFailedPrecondition, {"uninitialized", "v"});
  ASSERT_EQ(Execute({assign}, feeds), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(value)), ElementsAre(1, 2));
}

TEST_F(ClusterOnDeviceTest, ASessionWhoseDeviceHangsCanBeClosedAndOthersGoOnWhenItDoesNot) {
  const Output y = OpThere(1, "SIM:1", "Neg", {x});
  const std::weak_ptr<WorkerSession> kept = CloseWhileItHangs(y);
  servers_[1]->Beat();
  EXPECT_FALSE(kept.expired());  // its kernel has still to run
  SetOnSims(1, "hang_work", 0);
  EXPECT_TRUE(Eventually([&] {
    servers_[1]->Beat();
    return kept.expired();
  }));
  session = Open(0);
  EXPECT_THAT(Elements<float>(Value(y, feeds)), ElementsAre(-1, -2));
}

TEST_F(ClusterOnDeviceTest, AServerWhoseDeviceHangsCanBeStopped) {
  const Output y = OpThere(1, "SIM:1", "Neg", {x});
  const std::weak_ptr<WorkerSession> kept = CloseWhileItHangs(y);
  servers_[1].reset();
  EXPECT_TRUE(Eventually([&] { return kept.expired(); }));
}

TEST_F(ClusterOnDeviceTest, MemoryThatAnotherSessionKeepsForLaterIsGivenUpWhenItIsWanted) {
  const Output big = Placeholder("big", DataType::kFloat, PartialShape::Vector(-1));
  const Output axis = Constant(Tensor::Scalar<int32_t>(0));
  const Output twice = OpThere(1, "SIM:1", "Neg", {OpThere(1, "SIM:1", "Neg", {big})});
  const Output sum = OpThere(1, "SIM:1", "Sum", {twice, axis});
  std::vector<std::unique_ptr<Session>> others;
  for (int64_t i = 0; i < 20; ++i) {  // of 12 MB each, where the device has 64
    session = Open(0);
    const Tensor value = Tensor::Vector<float>(std::vector<float>((3 << 20) + i, 0.0f));
    EXPECT_THAT(Elements<float>(Value(sum, {{big, value}})), ElementsAre(0)) << i;
    others.push_back(std::move(session));
  }
}

TEST_F(ClusterOnDeviceTest, ReductionsOverDevicesOfTwoTasks) {
  const auto member = [&](int task, const std::string& device, const Output& given) {
    return There(task, device, [&] {
      return Op("CollectiveReduce", {given},
                {{"group_size", int64_t{2}},
                 {"group_key", int64_t{1}},
                 {"instance_key", int64_t{0}},
                 {"merge_op", std::string("Add")},
                 {"final_op", std::string("Id")},
                 {"subdiv_offsets", std::vector<int64_t>{0}}});
    });
  };
  const Output big = Placeholder("big", DataType::kFloat, PartialShape::Vector(-1));
  const Output one = member(0, "SIM:0", OpThere(0, "SIM:0", "Neg", {big}));
  const Output other = member(1, "SIM:1", OpThere(1, "SIM:1", "Add", {big, big}));
  const Output used = OpThere(1, "SIM:1", "Neg", {other});
  session = Open(0);
  for (const int64_t size : {int64_t{2}, kElements}) {  // through the leader, and in pieces
    const Tensor given = Tensor::Vector<float>(std::vector<float>(size, 3.0f));
    const auto fetched = Run({one, used}, {{big, given}});
    ASSERT_TRUE(fetched.ok()) << fetched.status();
    EXPECT_THAT(Elements<float>((*fetched)[0]), Each(3));
    EXPECT_THAT(Elements<float>((*fetched)[1]), Each(-3));
  }
}

}  // namespace
}  // namespace millstream
