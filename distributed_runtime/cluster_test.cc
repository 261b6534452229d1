// Clusters of two tasks in one process: sessions of each of them.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "distributed_runtime/cluster_session.h"
#include "distributed_runtime/loopback_transport.h"
#include "distributed_runtime/master_client.h"
#include "distributed_runtime/testing/cluster_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ClusterTest, AStepRunsOverBothTasks) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output y = On(0, "Neg", {On(1, "Square", {On(0, "Neg", {x})})});
  for (int task = 0; task < kTasks; ++task) {
    session = Open(task);
    ASSERT_NE(session, nullptr);
    for (const float value : {2.0f, 3.0f}) {
      EXPECT_THAT(Elements<float>(Value(y, {{x, Values<float>({value, 1})}})),
                  ElementsAre(-value * value, -1));
    }
  }
}

// Nothing is computed for it in its task.
TEST_F(ClusterTest, WhatIsFedIsFetchedInATaskThatComputesNothing) {
  build.set_device("/job:worker/task:1");
  const Output there = Constant(1.0f);
  build.set_device("");
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Scalar());
  build.set_control_inputs({there.node});
  const Output y = On(0, "Neg", {x});
  build.set_control_inputs({});
  session = Open(0);
  const StatusOr<std::vector<Tensor>> run =
      Run({there, y}, {{there, Tensor::Scalar<float>(5)}, {x, Tensor::Scalar<float>(2)}});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(Elements<float>((*run)[0]), ElementsAre(5));
  EXPECT_THAT(Elements<float>((*run)[1]), ElementsAre(-2));
}

TEST_F(ClusterTest, DevicesOfBothTasksAreListedThoseOfTheMasterFirst) {
  session = Open(1);
  std::vector<std::string> names;
  for (const DeviceInfo& device : session->ListDevices()) names.push_back(device.name);
  EXPECT_THAT(names, ElementsAre("/job:worker/replica:0/task:1/device:CPU:0",
                                 "/job:worker/replica:0/task:0/device:CPU:0"));
}

TEST_F(ClusterTest, TheGraphGrowsBetweenSteps) {
  session = Open(0);
  Output y = Constant(2.0f);
  for (int i = 0; i < 4; ++i) {
    y = On(i % 2, "Square", {On(1 - i % 2, "Neg", {y})});
    EXPECT_EQ(Elements<float>(Value(y))[0], std::vector<float>({4, 16, 256, 65536})[i]);
  }
}

TEST_F(ClusterTest, SessionsShareVariablesUnlessTheyAreIsolated) {
  build.set_device("/job:worker/task:1");
  const Output v = Variable("v", DataType::kFloat, PartialShape::Scalar());
  const Node* const assign = Assign(v, Constant(5.0f));
  const Output read = Read(v);
  build.set_device("");
  session = Open(0);
  ASSERT_EQ(Execute({assign}), absl::OkStatus());
  session = Open(1);
  EXPECT_EQ(Elements<float>(Value(read))[0], 5);
  proto::ConfigProto config;
  config.set_isolate_session_state(true);
  session = Open(0, config);
  ExpectError(Error(read), absl::StatusCode::kFailedPrecondition, {"v"});
  session.reset();
  EXPECT_EQ(ResetMaster(servers_[0]->target(), {}, LoopbackTransport::Global()), absl::OkStatus());
  session = Open(1);
  ExpectError(Error(read), absl::StatusCode::kFailedPrecondition, {"v"});
}

TEST_F(ClusterTest, AVariableOfAnotherShapeBeginsAnew) {
  const auto on_task = [](Graph* of, int64_t size) {
    GraphBuilder builder(of, "");
    builder.set_device("/job:worker/task:1");
    const GraphBuilder::Attrs attrs = {{"dtype", DataType::kFloat},
                                       {"shape", PartialShape::Vector(size)},
                                       {"shared_name", std::string("v")}};
    const Output handle = builder.Op("VarHandleOp", {}, attrs);
    const Tensor value = Tensor::Vector<float>(std::vector<float>(size, 1.0f));
    StepSignature signature;
    signature.targets = {builder.NodeOf("AssignVariableOp", {handle, builder.Const(value)})};
    EXPECT_TRUE(builder.ok()) << builder.status();
    return signature;
  };
  for (const int64_t size : {1, 5}) {
    Graph own;
    const StepSignature signature = on_task(&own, size);
    const auto opened = CreateClusterSession(&own, servers_[0]->target(), "",
                                             LoopbackTransport::Global(), absl::InfiniteFuture());
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ((*opened)->Run(signature, {}, {}, RunOptions()), absl::OkStatus());
  }
}

// Feeds and fetches keep their bits.
TEST_F(ClusterTest, TransfersOfFloatsAreShortenedWhereTheSessionAsksForIt) {
  const float value = 1.0f + 0x1p-10f;
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Scalar());
  const Output here = On(0, "Neg", {x});
  const Output there = On(1, "Neg", {here});
  const Output back = On(0, "Neg", {On(1, "Mul", {there, x})});
  proto::ConfigProto config;
  for (const bool shortens : {false, true}) {
    config.mutable_graph_options()->set_enable_bfloat16_sendrecv(shortens);
    session = Open(0, config);
    const auto fetched = Run({here, there, back}, {{x, Tensor::Scalar(value)}});
    ASSERT_TRUE(fetched.ok()) << fetched.status();
    EXPECT_EQ(Elements<float>((*fetched)[0])[0], -value);
    EXPECT_EQ(Elements<float>((*fetched)[1])[0], shortens ? 1.0f : value);
    EXPECT_EQ(Elements<float>((*fetched)[2])[0], shortens ? -1.0f : -(value * value));
  }
}

TEST_F(ClusterTest, AnErrorNamesTheNodeAndTheTask) {
  const Output log = On(0, "Log", {Constant(-1.0f)});
  build.set_device("/job:worker/task:1");
  const Output bad = Op("CheckNumerics", {log}, {{"message", std::string("no number")}});
  build.set_device("");
  const Output y = On(0, "Neg", {bad});
  session = Open(0);
  const Status status = Error(y);
  ExpectError(status, absl::StatusCode::kInvalidArgument,
              {"no number", bad.node->name(), "/job:worker/replica:0/task:1"});
  EXPECT_EQ(StatusNode(status), bad.node->name());
  EXPECT_EQ(Elements<float>(Value(On(1, "Neg", {Constant(1.0f)})))[0], -1);
}

TEST_F(ClusterTest, ATaskThatDoesNotExistIsAnError) {
  const Output y = On(9, "Neg", {Constant(1.0f)});
  session = Open(0);
  ExpectError(Error(y), absl::StatusCode::kInvalidArgument, {"task:9"});
}

TEST_F(ClusterTest, AStepThatTakesTooLongEndsEverywhere) {
  const Output y = On(0, "Neg", {FromEmptyQueue(1)});
  session = Open(0);
  RunOptions options;
  options.timeout_ms = 50;
  const Status status = Run({y}, {}, {}, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
}

TEST_F(ClusterTest, ACancelledStepEnds) {
  const Output y = FromEmptyQueue(1);
  const Node* const pause = build.NodeOf("TestPause", {});
  session = Open(0);
  Cancellation cancellation;
  PausePoint::Close();
  std::thread canceller([&] {
    PausePoint::AwaitStep();
    PausePoint::Open();
    cancellation.Cancel();
  });
  RunOptions options;
  options.cancellation = &cancellation;
  EXPECT_EQ(Run({y}, {}, {pause}, options).status().code(), absl::StatusCode::kCancelled);
  canceller.join();
}

TEST_F(ClusterTest, ClosingASessionEndsItsSteps) {
  const Output y = FromEmptyQueue(1);
  const Node* const pause = build.NodeOf("TestPause", {});
  session = Open(0);
  PausePoint::Close();
  std::thread closer([&] {
    PausePoint::AwaitStep();
    PausePoint::Open();
    EXPECT_EQ(session->Close(), absl::OkStatus());
  });
  EXPECT_EQ(Run({y}, {}, {pause}).status().code(), absl::StatusCode::kCancelled);
  closer.join();
  EXPECT_EQ(Run({y}).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ClusterTest, ASessionLeavesOutDevicesThatItsFiltersLeaveOut) {
  const Output there = On(1, "Neg", {Constant(1.0f)});
  const Output here = On(0, "Neg", {Constant(2.0f)});
  servers_[1].reset();
  proto::ConfigProto config;
  config.add_device_filters("/job:ps");
  config.add_device_filters("/job:worker/task:0/device:CPU:0");
  session = Open(0, config);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->ListDevices().size(), 1);
  EXPECT_EQ(Elements<float>(Value(here))[0], -2);
  ExpectError(Error(there), absl::StatusCode::kInvalidArgument, {"task:1"});
  config.add_device_filters("/job:worker/task:first");
  EXPECT_EQ(TryOpen(0, config).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ClusterTest, AFilterThatNamesTheOtherTaskLeavesTheMastersOwnDevices) {
  proto::ConfigProto config;
  config.add_device_filters("/job:worker/task:1");
  session = Open(0, config);
  EXPECT_EQ(session->ListDevices().size(), 2);
  EXPECT_EQ(Elements<float>(Value(On(1, "Neg", {On(0, "Neg", {Constant(1.0f)})})))[0], 1);
}

TEST_F(ClusterTest, AnAddressMayBeThatOfASocketInAFile) {
  proto::ServerDef def;
  def.set_job_name("local");
  proto::JobDef* const job = def.mutable_cluster()->add_job();
  job->set_name("local");
  (*job->mutable_tasks())[0] = "unix:/there/is/no/socket";
  const auto server = Server::Create(def.SerializeAsString(), LoopbackTransport::Global());
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->target(), "unix:/there/is/no/socket");
  const auto opened = CreateClusterSession(&graph, (*server)->target(), "",
                                           LoopbackTransport::Global(), absl::InfiniteFuture());
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ((*opened)->ListDevices()[0].name, "/job:local/replica:0/task:0/device:CPU:0");
}

TEST_F(ClusterTest, ASessionNeedsAllTasks) {
  servers_[1].reset();
  const auto opened = TryOpen(0);
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kUnavailable) << opened.status();
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("/job:worker/replica:0/task:1"));
}

TEST_F(ClusterTest, ATaskThatWasStartedAgainIsNotTheOldOne) {
  const Output y = On(1, "Neg", {On(0, "Neg", {Constant(2.0f)})});
  session = Open(0);
  EXPECT_EQ(Elements<float>(Value(y))[0], 2);
  servers_[1].reset();
  ExpectError(Error(y), absl::StatusCode::kUnavailable, {"/job:worker/replica:0/task:1"});
  servers_[1] = Start(1);
  ExpectError(Error(y), absl::StatusCode::kAborted, {"/job:worker/replica:0/task:1"});
  session = Open(0);
  EXPECT_EQ(Elements<float>(Value(y))[0], 2);
}

TEST_F(ClusterTest, ServersOfOneAddressAndOfNoTaskAreRefused) {
  def_.set_task_index(1);
  const auto again = Server::Create(def_.SerializeAsString(), LoopbackTransport::Global());
  EXPECT_EQ(again.status().code(), absl::StatusCode::kUnavailable) << again.status();
  def_.set_task_index(7);
  const auto none = Server::Create(def_.SerializeAsString(), LoopbackTransport::Global());
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument) << none.status();
}

// 99999 would be taken for 34463, where another program may be.
TEST_F(ClusterTest, AddressesWithAPortThatCannotBeAreRefused) {
  for (const int task : {0, 1}) {
    proto::ServerDef def = def_;
    def.set_task_index(0);
    (*def.mutable_cluster()->mutable_job(0)->mutable_tasks())[task] = "ports:99999";
    const auto server = Server::Create(def.SerializeAsString(), LoopbackTransport::Global());
    ExpectError(server.status(), absl::StatusCode::kInvalidArgument,
                {absl::StrCat("/job:worker/replica:0/task:", task), "ports:99999"});
  }
  const auto opened = CreateClusterSession(&graph, "grpc://ports:99999", "",
                                           LoopbackTransport::Global(), absl::InfiniteFuture());
  ExpectError(opened.status(), absl::StatusCode::kInvalidArgument, {"ports:99999"});
  ExpectError(ResetMaster("grpc://ports:99999", {}, LoopbackTransport::Global()),
              absl::StatusCode::kInvalidArgument, {"ports:99999"});
}

}  // namespace
}  // namespace millstream
