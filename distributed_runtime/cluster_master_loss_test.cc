// Clusters in which the connection of a task to the master of its sessions ends.
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "distributed_runtime/loopback_transport.h"
#include "distributed_runtime/rpc.h"
#include "distributed_runtime/testing/faults_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"

namespace millstream {
namespace {

using ::testing::SizeIs;

TEST_F(ClusterFaultsTest, TheStepsOfAMasterEndWhenTheConnectionToItEnds) {
  session = Open(0);
  const Status status = RunDuring([this] {
    EXPECT_TRUE(Eventually([&] { return RunningIn(1) == 1; }));
    AwaitWatches(1);
    transports_[1]->Break("WatchMaster");
  });
  ExpectError(status, absl::StatusCode::kUnavailable,
              {"the master /job:worker/replica:0/task:0 is lost", "the connection broke",
               "/job:worker/replica:0/task:1"});
  // It was no more than the connection.
  Beat(1, 1);
  AwaitWatches(1);
  EXPECT_EQ(Elements<float>(Value(On(1, "Neg", {Constant(1.0f)})))[0], -1);
  EXPECT_THAT(SessionsIn(1), SizeIs(1));
}

TEST_F(ClusterFaultsTest, StepsOfOtherMastersGoOnWhenTheConnectionToOneEnds) {
  const std::unique_ptr<Session> of_other = Open(0);
  AwaitWatches(1);
  session = Open(1);
  const Status status = RunDuring([this] {
    EXPECT_TRUE(Eventually([&] { return RunningIn(1) == 2; }));
    transports_[1]->Break("WatchMaster");
    EXPECT_EQ(RunningIn(1), 2);
    EXPECT_EQ(session->Close(), absl::OkStatus());
  });
  ExpectError(status, absl::StatusCode::kCancelled, {"the session was closed"});
}

TEST_F(ClusterFaultsTest, IsolatedSessionsAndOthersOfAMasterEndTheirStepsAlike) {
  session = Open(0);
  const std::unique_ptr<Session> isolated = Open(0, Isolated());
  const Output y = FromEmptyQueue(1);
  StepSignature signature;
  signature.fetches = {y};
  std::vector<Status> statuses(2);
  std::vector<std::thread> runs;
  for (size_t i = 0; i < 2; ++i) {
    Session* const one = i == 0 ? session.get() : isolated.get();
    runs.emplace_back([&statuses, &signature, one, i] {
      std::vector<Tensor> fetched(1);
      statuses[i] = one->Run(signature, {}, absl::MakeSpan(fetched), RunOptions());
    });
  }
  EXPECT_TRUE(Eventually([&] { return RunningIn(1) == 2; }));
  AwaitWatches(1);
  transports_[1]->Break("WatchMaster");
  for (std::thread& run : runs) run.join();
  for (const Status& status : statuses) {
    ExpectError(status, absl::StatusCode::kUnavailable,
                {"the master /job:worker/replica:0/task:0 is lost"});
  }
}

TEST_F(ClusterFaultsTest, AStepOfAMasterThatIsGoneEndsWhenItsMessageComesLate) {
  const Output y = FromEmptyQueue(1);
  session = Open(0);
  AwaitWatches(1);
  transports_[0]->HoldRequests("RunGraph");
  std::thread waiting([&] { EXPECT_FALSE(Run({y}).ok()); });
  EXPECT_TRUE(Eventually([&] { return transports_[0]->Count("RunGraph") == 1; }));
  transports_[1]->Break("WatchMaster");
  transports_[1]->Set(Fault::kRefused);
  transports_[0]->ReleaseRequests();
  EXPECT_TRUE(Eventually([&] { return RunningIn(1) == 1; }));
  Beat(1, 1);
  EXPECT_EQ(RunningIn(1), 1);  // it may be a message of a master that is there
  Beat(1, 1);
  waiting.join();
  EXPECT_EQ(RunningIn(1), 0);
}

TEST_F(ClusterFaultsTest, ASessionEndsWhenALaterProcessOfItsMasterAnswers) {
  session = Open(0, Isolated());
  const std::weak_ptr<WorkerSession> kept = SessionsIn(1)[0];
  AwaitWatches(1);
  Kill(0);
  session.reset();
  transports_[1]->Break("WatchMaster");
  Beat(1, 1);
  EXPECT_THAT(SessionsIn(1), SizeIs(1));  // nobody answers
  servers_[0] = Start(0);
  Beat(1, 1);
  EXPECT_TRUE(Eventually([&] {
    Beat(1, 1);
    return SessionsIn(1).empty();
  }));
  EXPECT_TRUE(Eventually([&] { return kept.expired(); }));
}

TEST_F(ClusterFaultsTest, AMasterIsWatchedAsLongAsItHasSessions) {
  session = Open(0);
  AwaitWatches(1);
  EXPECT_EQ(transports_[1]->Count("WatchMaster"), 2);
  const std::unique_ptr<Session> other = Open(0);
  Beat(1, 3);
  EXPECT_EQ(transports_[1]->Count("WatchMaster"), 2);
  EXPECT_EQ(other->Close(), absl::OkStatus());
  EXPECT_EQ(session->Close(), absl::OkStatus());
  Beat(1, 3);
  EXPECT_EQ(transports_[1]->Count("WatchMaster"), 2);
  session = Open(0);
  AwaitWatches(1);
  EXPECT_EQ(transports_[1]->Count("WatchMaster"), 4);
}

TEST_F(ClusterFaultsTest, AMasterIsWatchedByTasksOfItsClusterOnly) {
  const auto channel = LoopbackTransport::Global()->Connect(servers_[0]->target().substr(7));
  ASSERT_TRUE(channel.ok()) << channel.status();
  proto::WatchMasterRequest request;
  request.set_task("/job:other/replica:0/task:0");
  request.set_is_held(true);
  proto::NothingResponse nothing;
  ExpectError(
      RequestMessage(channel->get(), "WatchMaster", request, absl::InfiniteFuture(), &nothing),
      absl::StatusCode::kInvalidArgument, {"no task /job:other/replica:0/task:0"});
  request.set_task("/job:worker/replica:0/task:1");
  ExpectError(
      RequestMessage(channel->get(), "WatchMaster", request, absl::InfiniteFuture(), &nothing),
      absl::StatusCode::kAborted, {"/job:worker/replica:0/task:0 was started again"});
}

}  // namespace
}  // namespace millstream
