// What the tasks of a cluster say of themselves.
#include "distributed_runtime/status_json.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed_runtime/loopback_transport.h"
#include "distributed_runtime/master_client.h"
#include "distributed_runtime/testing/cluster_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kFirst[] = "/job:worker/replica:0/task:0";
constexpr char kSecond[] = "/job:worker/replica:0/task:1";
constexpr char kApply[] = "ResourceAccumulatorApplyGradient";
constexpr char kSetStep[] = "ResourceAccumulatorSetGlobalStep";
constexpr int kSilence = 5;  // heartbeats without an answer that a task may have

class ClusterStatusTest : public ClusterTest {
 protected:
  proto::TaskStatusRecord StatusOf(int task) {
    proto::TaskStatusRecord status;
    servers_[task]->AddStatus(&status);
    return status;
  }
  proto::ClusterStatusRecord Ask(int task) {
    const auto status = AskForStatus(servers_[task]->target(), LoopbackTransport::Global());
    EXPECT_TRUE(status.ok()) << status.status();
    return status.ok() ? *status : proto::ClusterStatusRecord();
  }
  // The accumulator "sum" of a task.
  Output AccumulatorOn(int task) {
    build.set_device(absl::StrCat("/job:worker/task:", task));
    const Output handle = Op("ResourceConditionalAccumulator", {},
                             {{"dtype", DataType::kFloat},
                              {"shape", PartialShape::Scalar()},
                              {"shared_name", std::string("sum")}});
    build.set_device("");
    return handle;
  }
  Output Int64(int64_t value) { return Constant(Tensor::Scalar<int64_t>(value)); }
  const Node* Added(const Node* node) {
    EXPECT_TRUE(build.ok()) << build.status();
    return node;
  }
  // Whether a part of a step waits for a tensor.
  static bool HasWaitingPart(const proto::TaskStatusRecord& status) {
    return std::any_of(status.running().begin(), status.running().end(), [](const auto& step) {
      return !step.is_led() && step.waits_size() == 1 && !step.waits(0).tensor().empty();
    });
  }
  static proto::TrafficRecord TrafficWith(const std::string& peer,
                                          const proto::TaskStatusRecord& status) {
    for (const proto::TrafficRecord& traffic : status.traffic()) {
      if (traffic.peer() == peer) return traffic;
    }
    return proto::TrafficRecord();
  }
};

// Constants give it, and so the task that reads it computes it, too.
TEST_F(ClusterStatusTest, ATaskWhoseNodesAllStandElsewhereHasNoPartOfTheStep) {
  const Tensor ones = Tensor::Vector<float>(std::vector<float>(512, 1.0f));
  const Output lasting = On(1, "Neg", {Constant(ones)});
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(512));
  const Output sum = On(0, "AddV2", {lasting, x});
  session = Open(0);
  EXPECT_EQ(Elements<float>(Value(sum, {{x, ones}}))[511], 0);
  EXPECT_EQ(StatusOf(0).led_steps(), 1);
  EXPECT_EQ(StatusOf(1).steps(), 0);
  EXPECT_EQ(StatusOf(1).graphs(), 0);
}

TEST_F(ClusterStatusTest, TasksCountStepsAndBytes) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(100));
  const Output y = On(1, "Square", {x});
  session = Open(0);
  const Tensor value = Tensor::Vector<float>(std::vector<float>(100, 2.0f));
  for (int i = 0; i < 3; ++i) Value(y, {{x, value}});
  const Output log = On(0, "Log", {Constant(-1.0f)});
  build.set_device("/job:worker/task:1");
  const Output bad = Op("CheckNumerics", {log}, {{"message", std::string("no number")}});
  build.set_device("");
  EXPECT_FALSE(Error(bad).ok());
  const proto::TaskStatusRecord first = StatusOf(0);
  EXPECT_EQ(first.task(), kFirst);
  EXPECT_EQ(first.sessions(), 1);
  EXPECT_EQ(first.led_sessions(), 1);
  EXPECT_EQ(first.led_steps(), 4);
  EXPECT_EQ(first.failed_led_steps(), 1);
  EXPECT_THAT(first.running(), IsEmpty());
  const proto::TaskStatusRecord second = StatusOf(1);
  EXPECT_EQ(second.task(), kSecond);
  EXPECT_EQ(second.sessions(), 1);
  EXPECT_EQ(second.led_sessions(), 0);
  EXPECT_EQ(second.graphs(), 2);
  EXPECT_EQ(second.steps(), 4);
  EXPECT_EQ(second.failed_steps(), 1);
  EXPECT_EQ(second.led_steps(), 0);
  EXPECT_GT(second.up_nanos(), 0);
  // Three times 100 floats each way. The first task also counts what is no step.
  const proto::TrafficRecord sent = TrafficWith(kSecond, first);
  const proto::TrafficRecord received = TrafficWith(kFirst, second);
  EXPECT_GT(received.received_bytes(), 1200);
  EXPECT_GT(received.sent_bytes(), 1200);
  EXPECT_GT(sent.sent_bytes(), received.received_bytes());
  EXPECT_GT(sent.received_bytes(), received.sent_bytes());
}

TEST_F(ClusterStatusTest, AValueThatIsTheSameInEachStepIsNotSent) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(1));
  const Output same = On(1, "Neg", {Constant(Values<float>(std::vector<float>(1000, 2)))});
  const Output y = On(0, "AddV2", {same, x});
  session = Open(0);
  for (int i = 0; i < 3; ++i) {
    const Tensor value = Value(y, {{x, Values<float>({5})}});
    EXPECT_EQ(Elements<float>(value), std::vector<float>(1000, 3));
  }
  EXPECT_LT(TrafficWith(kFirst, StatusOf(1)).sent_bytes(), 1000);
}

TEST_F(ClusterStatusTest, ARunningStepSaysWhatItWaitsFor) {
  const Output y = On(0, "Neg", {FromEmptyQueue(1)});
  session = Open(0);
  Cancellation cancellation;
  RunOptions options;
  options.cancellation = &cancellation;
  std::thread runner(
      [&] { EXPECT_EQ(Run({y}, {}, {}, options).status().code(), absl::StatusCode::kCancelled); });
  EXPECT_TRUE(Eventually([&] { return HasWaitingPart(StatusOf(0)); }));
  const proto::TaskStatusRecord status = StatusOf(0);
  for (const proto::RunningStepRecord& step : status.running()) {
    ASSERT_EQ(step.waits_size(), 1);
    EXPECT_EQ(step.waits(0).task(), kSecond);
    EXPECT_THAT(step.waits(0).tensor(), HasSubstr(step.is_led() ? "" : "QueueDequeue"));
    EXPECT_EQ(step.step(), 1);
  }
  EXPECT_EQ(status.running_size(), 2);
  EXPECT_TRUE(Eventually([&] { return StatusOf(1).running_size() == 1; }));
  cancellation.Cancel();
  runner.join();
  EXPECT_THAT(StatusOf(0).running(), IsEmpty());
}

// Here the tensor comes with the answer to the master's message, and nobody asks for it.
TEST_F(ClusterStatusTest, ATensorThatAnAnswerCarriesIsWaitedFor) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Scalar());
  build.set_device("/job:worker/task:1");
  const Node* const pause = build.NodeOf("TestPause", {});
  build.set_device("");
  build.set_control_inputs({pause});
  const Output sent = On(1, "Exp", {x});
  build.set_control_inputs({});
  const Output y = On(0, "Neg", {sent});
  session = Open(0);
  PausePoint::Close();
  std::thread runner([&] {
    EXPECT_EQ(Run({y}, {{x, Tensor::Scalar(0.0f)}}).status(), absl::OkStatus());
  });
  EXPECT_TRUE(Eventually([&] { return HasWaitingPart(StatusOf(0)); }));
  EXPECT_EQ(StatusOf(0).running(0).waits(0).task(), kSecond);
  PausePoint::Open();
  runner.join();
  EXPECT_THAT(StatusOf(0).running(), IsEmpty());
}

TEST_F(ClusterStatusTest, StaleGradientsAreCountedWhereTheAccumulatorIs) {
  const Output sum = AccumulatorOn(1);
  const Node* const apply = Added(build.NodeOf(kApply, {sum, Int64(0), Constant(1.0f)}, {}));
  const Node* const later = Added(build.NodeOf(kSetStep, {sum, Int64(1)}, {}));
  session = Open(0);
  EXPECT_EQ(Execute({apply}), absl::OkStatus());
  EXPECT_EQ(Execute({later}), absl::OkStatus());
  EXPECT_EQ(Execute({apply}), absl::OkStatus());
  EXPECT_EQ(Execute({apply}), absl::OkStatus());
  EXPECT_THAT(StatusOf(0).accumulators(), IsEmpty());
  const proto::TaskStatusRecord status = StatusOf(1);
  ASSERT_EQ(status.accumulators_size(), 1);
  const proto::AccumulatorRecord& shared = status.accumulators(0);
  EXPECT_EQ(shared.container(), "");
  EXPECT_EQ(shared.name(), "sum");
  EXPECT_EQ(shared.session(), 0u);
  EXPECT_EQ(shared.applied(), 1);
  EXPECT_EQ(shared.dropped(), 2);
}

TEST_F(ClusterStatusTest, AnIsolatedSessionHasItsOwnAccumulators) {
  const Output sum = AccumulatorOn(1);
  const Node* const apply = Added(build.NodeOf(kApply, {sum, Int64(0), Constant(1.0f)}, {}));
  proto::ConfigProto config;
  config.set_isolate_session_state(true);
  session = Open(0, config);
  EXPECT_EQ(Execute({apply}), absl::OkStatus());
  const proto::TaskStatusRecord status = StatusOf(1);
  ASSERT_EQ(status.accumulators_size(), 1);
  EXPECT_NE(status.accumulators(0).session(), 0u);
  EXPECT_EQ(status.accumulators(0).applied(), 1);
  session.reset();
  EXPECT_TRUE(Eventually([&] { return StatusOf(1).accumulators_size() == 0; }));
}

TEST_F(ClusterStatusTest, OneTaskAsksAllOthers) {
  proto::ClusterStatusRecord status = Ask(1);
  EXPECT_EQ(status.asked(), kSecond);
  ASSERT_EQ(status.tasks_size(), 2);
  EXPECT_EQ(status.tasks(0).task(), kFirst);
  EXPECT_EQ(status.tasks(0).status().task(), kFirst);
  EXPECT_GT(status.tasks(0).status().incarnation(), 0);
  EXPECT_EQ(status.tasks(1).status().task(), kSecond);
  transports_[1]->Set(Fault::kRefused);
  status = Ask(1);
  EXPECT_FALSE(status.tasks(0).has_status());
  EXPECT_EQ(status.tasks(0).error().text(), "the message was refused");
  EXPECT_TRUE(status.tasks(1).has_status());
}

TEST_F(ClusterStatusTest, ALostTaskIsCountedOnceUntilItAnswers) {
  session = Open(0);
  transports_[0]->Set(Fault::kLost);
  for (int i = 0; i <= kSilence + 2; ++i) servers_[0]->Beat();
  proto::TaskStatusRecord status = StatusOf(0);
  EXPECT_EQ(status.losses(), 1);
  EXPECT_THAT(status.lost(), ElementsAre(kSecond));
  transports_[0]->Set(Fault::kNone);
  servers_[0]->Beat();
  status = StatusOf(0);
  EXPECT_EQ(status.losses(), 1);
  EXPECT_THAT(status.lost(), IsEmpty());
}

TEST(StatusJsonTest, HasAllFields) {
  proto::ClusterStatusRecord cluster;
  cluster.set_asked("a");
  proto::ClusterTaskRecord* const lost = cluster.add_tasks();
  lost->set_task("b");
  lost->set_address("localhost:1");
  lost->mutable_error()->set_text("no \"answer\"");
  EXPECT_EQ(StatusJson(cluster), R"({"asked":"a","tasks":[{"task":"b","address":"localhost:1",)"
                                 R"("error":"no \"answer\"","status":null}]})");
  proto::TaskStatusRecord task;
  task.set_task("a");
  task.set_incarnation(255);
  task.set_up_nanos(1'500'000'000);
  task.set_steps(3);
  task.add_lost("b");
  proto::TrafficRecord* const traffic = task.add_traffic();
  traffic->set_peer("b");
  traffic->set_sent_bytes(7);
  proto::RunningStepRecord* const step = task.add_running();
  step->set_session(1);
  step->set_step(2);
  step->add_waits()->set_task("b");
  proto::AccumulatorRecord* const shared = task.add_accumulators();
  shared->set_name("w:0/grad_accum");
  shared->set_applied(9);
  shared->set_dropped(4);
  proto::AccumulatorRecord* const isolated = task.add_accumulators();
  isolated->set_container("c");
  isolated->set_session(3);
  EXPECT_EQ(StatusJson(task),
            R"({"task":"a","incarnation":"00000000000000ff","up_seconds":1.500000,"sessions":0,)"
            R"("led_sessions":0,"graphs":0,"steps":3,"failed_steps":0,"led_steps":0,)"
            R"("failed_led_steps":0,"losses":0,"lost":["b"],)"
            R"("traffic":{"b":{"sent_bytes":7,"received_bytes":0}},)"
            R"("running":[{"session":"0000000000000001","step":2,"is_led":false,)"
            R"("seconds":0.000000,"waits":[{"task":"b","tensor":""}]}],)"
            R"("accumulators":[{"container":"","name":"w:0/grad_accum","session":"",)"
            R"("applied":9,"dropped":4},{"container":"c","name":"",)"
            R"("session":"0000000000000003","applied":0,"dropped":0}]})");
}

}  // namespace
}  // namespace millstream
