// Steps of clusters that are placed by costs.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/step/step_trace.h"
#include "distributed_runtime/graph_coding.h"
#include "distributed_runtime/rpc.h"
#include "distributed_runtime/testing/cluster_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"
#include "millstream/distributed_runtime/protos/status_messages.pb.h"
#include "millstream/framework/protos/graph.pb.h"

namespace millstream {
namespace {

constexpr int kPeriod = 2;
constexpr int kDepth = 4;

// The costs of what is to take long are given, so that no test depends on real times. The messages
// between the tasks are measured, and take much less.
class ClusterPlacementTest : public ClusterTest {
 protected:
  ClusterPlacementTest() {
    x = Placeholder("x", DataType::kFloat, PartialShape::Vector(4));
    pinned = Chain("/job:worker/task:0", "Exp");
    free = Chain("/job:worker", "Neg");
    variable = Variable("v", DataType::kFloat, PartialShape::Vector(4));
    read = Read(variable);
    there = On(1, "Square", {x});
  }

  // Nodes of an op one after the other. Returns the last one.
  Output Chain(const std::string& device, const std::string& op) {
    build.set_device(device);
    Output end = x;
    for (int i = 0; i < kDepth; ++i) {
      end = Op(op, {end});
      heavy.push_back(end.node->name());
    }
    build.set_device("");
    return end;
  }
  // A session in which the variable has a value, and the step ran once.
  std::vector<Tensor> Begin(const proto::ConfigProto& config) {
    session = Open(0, config);
    EXPECT_EQ(Execute({Assign(variable, Constant(Values<float>({5, 6, 7, 8})))}), absl::OkStatus());
    return RunOnce();
  }
  static proto::ConfigProto Adaptive() {
    proto::ConfigProto config;
    config.set_placement_period(kPeriod);
    return config;
  }
  std::vector<Tensor> RunOnce(const RunOptions& options = RunOptions()) {
    const std::vector<Feed> feeds = {{x, Values<float>({0.5f, 0.25f, -1, -2})}};
    StatusOr<std::vector<Tensor>> run = Run({pinned, free, read, there}, feeds, {}, options);
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? *std::move(run) : std::vector<Tensor>(4, Values<float>({}));
  }
  // As if the nodes had taken long in most of the measured steps.
  void GiveCosts() {
    const std::shared_ptr<WorkerSession> master = servers_[0]->worker()->sessions()[0];
    ASSERT_NE(master->costs(), nullptr);
    std::vector<std::string> names = heavy;
    names.push_back(read.node->name());
    for (const std::string& name : names) {
      const StatusOr<const Node*> node = master->graph().FindNode(name);
      ASSERT_TRUE(node.ok()) << node.status();
      for (int i = 0; i < 4; ++i) {
        master->costs()->model.AddNodeTime(*node, NodeWork{0, 32}, 0, 1e8);
      }
    }
  }
  // How many nodes of the op the present placement has in a task.
  int CountIn(int task, const std::string& op) {
    StepSignature signature;
    signature.feeds = {x};
    signature.fetches = {pinned, free, read, there};
    int count = 0;
    const std::string text = MakeCallable(signature)->placement_text();
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      count += absl::StrContains(line, absl::StrCat("(", op, "): ")) &&
               absl::StrContains(line, absl::StrCat("/task:", task, "/"));
    }
    return count;
  }
  int64_t GraphsIn(int task) {
    proto::TaskStatusRecord status;
    servers_[task]->AddStatus(&status);
    return status.graphs();
  }

  Output x;
  Output pinned;
  Output free;
  Output variable;
  Output read;
  Output there;
  std::vector<std::string> heavy;
};

TEST_F(ClusterPlacementTest, AFreeChainMovesToTheIdleTaskWithEqualResults) {
  const std::vector<Tensor> first = Begin(Adaptive());
  EXPECT_EQ(CountIn(0, "Neg"), kDepth) << "nothing is measured as yet";
  GiveCosts();
  transports_[0]->ForgetCounts();
  const int64_t graphs = GraphsIn(1);
  RunOnce();
  EXPECT_EQ(CountIn(1, "Neg"), kDepth);
  EXPECT_EQ(CountIn(0, "Exp"), kDepth) << "it asks for the task";
  EXPECT_EQ(CountIn(0, "ReadVariableOp"), 1) << "its variable is there";
  EXPECT_EQ(transports_[0]->Count("RegisterGraph"), 1);
  EXPECT_EQ(transports_[0]->Count("ReleaseGraph"), 1);
  EXPECT_TRUE(Eventually([&] { return GraphsIn(1) == graphs; })) << "the first one is kept";

  StepReport report;
  report.want_partition_graphs = true;
  RunOptions options;
  options.report = &report;
  const std::vector<Tensor> second = RunOnce(options);
  for (size_t k = 0; k < first.size(); ++k) {
    EXPECT_EQ(Elements<float>(first[k]), Elements<float>(second[k]));
  }
  std::map<std::string, int> devices;  // of the chain
  for (const std::string& bytes : report.partition_graphs) {
    proto::GraphDef cut;
    ASSERT_TRUE(cut.ParseFromString(bytes));
    for (const proto::NodeDef& node : cut.node()) devices[node.device()] += node.op() == "Neg";
  }
  EXPECT_EQ(devices["/job:worker/replica:0/task:0/device:CPU:0"], 0);
  EXPECT_EQ(devices["/job:worker/replica:0/task:1/device:CPU:0"], kDepth);
}

TEST_F(ClusterPlacementTest, OnlyMeasuredStepsSendMoreMessages) {
  session = Open(0, Adaptive());
  ASSERT_EQ(Execute({Assign(variable, Constant(Values<float>({5, 6, 7, 8})))}), absl::OkStatus());
  transports_[0]->ForgetCounts();
  RunOnce();
  EXPECT_EQ(transports_[0]->Count("RunGraph"), 1);
  EXPECT_EQ(transports_[0]->Count("ReadClock"), 0);
  RunOnce();
  EXPECT_EQ(transports_[0]->Count("RunGraph"), 2);
  EXPECT_GT(transports_[0]->Count("ReadClock"), 0);
}

TEST_F(ClusterPlacementTest, AMeasuredStepReportsOnlyWhatIsAskedFor) {
  Begin(Adaptive());
  for (int i = 1; i < kPeriod; ++i) {
    StepReport report;
    report.want_partition_graphs = true;
    RunOptions options;
    options.report = &report;
    RunOnce(options);
    EXPECT_EQ(report.partition_graphs.size(), 2);
    EXPECT_EQ(report.trace.parts().size(), 0);
  }
}

TEST_F(ClusterPlacementTest, WithoutAPeriodNothingIsMeasured) {
  Begin(proto::ConfigProto());
  transports_[0]->ForgetCounts();
  for (int i = 0; i < 2 * kPeriod; ++i) RunOnce();
  EXPECT_EQ(servers_[0]->worker()->sessions()[0]->costs(), nullptr);
  EXPECT_EQ(transports_[0]->Count("ReadClock"), 0);
  EXPECT_EQ(transports_[0]->Count("RegisterGraph"), 0);
}

TEST_F(ClusterPlacementTest, AStepThatCannotMoveGoesOnWhereItIs) {
  const std::vector<Tensor> first = Begin(Adaptive());
  GiveCosts();
  // Now the other task has another graph than its master has sent, and takes nothing that follows.
  GraphSender sender;
  proto::GraphChunk known;
  ASSERT_EQ(sender.AddChanges(graph, &known), absl::OkStatus());
  On(1, "Neg", {x});
  proto::RegisterGraphRequest request;
  request.set_session(servers_[1]->worker()->sessions()[0]->handle());
  request.set_graph(99);
  ASSERT_EQ(sender.AddChanges(graph, request.mutable_chunk()), absl::OkStatus());
  const Status taken = RegisterInTask1(request);
  ASSERT_TRUE(taken.ok() || HasGraphTaken(taken)) << taken;
  transports_[0]->ForgetCounts();
  for (int i = 0; i < 2 * kPeriod; ++i) {
    EXPECT_EQ(Elements<float>(RunOnce()[1]), Elements<float>(first[1]));
  }
  EXPECT_EQ(transports_[0]->Count("RegisterGraph"), 1) << "it is not tried again";
  EXPECT_EQ(CountIn(0, "Neg"), kDepth);
}

TEST_F(ClusterPlacementTest, NothingMovesToATaskThatDoesNotAnswer) {
  Begin(Adaptive());
  GiveCosts();
  // The step's own messages are there, but no clock.
  transports_[0]->HoldResponses("ReadClock");
  RunOnce();
  EXPECT_EQ(CountIn(0, "Neg"), kDepth);
  transports_[0]->ReleaseResponses();
  for (int i = 0; i < kPeriod; ++i) RunOnce();
  EXPECT_EQ(CountIn(1, "Neg"), kDepth) << "it is placed after the next period";
}

}  // namespace
}  // namespace millstream
