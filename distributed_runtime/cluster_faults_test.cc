// Clusters whose tasks and clients are lost.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "distributed_runtime/graph_coding.h"
#include "distributed_runtime/loopback_transport.h"
#include "distributed_runtime/rpc.h"
#include "distributed_runtime/testing/faults_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"

namespace millstream {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(ClusterFaultsTest, AClosedSessionLeavesNothingInOtherTasks) {
  session = Open(0, Isolated());
  EXPECT_EQ(Elements<float>(Value(On(1, "Neg", {Constant(1.0f)})))[0], -1);
  const std::weak_ptr<WorkerSession> kept = SessionsIn(1)[0];
  session.reset();
  EXPECT_THAT(SessionsIn(1), IsEmpty());
  EXPECT_TRUE(Eventually([&] { return kept.expired(); }));
}

TEST_F(ClusterFaultsTest, AWorkerEndsTheSessionsOfAMasterThatWasKilled) {
  build.set_device("/job:worker/task:1");
  const Output v = Variable("v", DataType::kFloat, PartialShape::Scalar());
  const Node* const assign = Assign(v, Constant(5.0f));
  build.set_device("");
  session = Open(0, Isolated());
  ASSERT_EQ(Execute({assign}), absl::OkStatus());
  const std::weak_ptr<WorkerSession> kept = SessionsIn(1)[0];
  Beat(0, 1);
  Beat(1, kLease - 1);
  Beat(0, 1);
  Beat(1, kLease - 1);
  EXPECT_THAT(SessionsIn(1), SizeIs(1));
  Kill(0);
  session.reset();
  Beat(1, 1);
  EXPECT_THAT(SessionsIn(1), IsEmpty());
  EXPECT_TRUE(Eventually([&] { return kept.expired(); }));
}

TEST_F(ClusterFaultsTest, TheStepsOfAMasterThatWasKilledEndWithItsSessions) {
  session = Open(0);
  const std::weak_ptr<WorkerSession> kept = SessionsIn(1)[0];
  const Status status = RunDuring([this] {
    transports_[0]->Set(Fault::kRefused);
    EXPECT_EQ(session->Close(), absl::OkStatus());
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  EXPECT_FALSE(kept.expired());
  Beat(1, kLease);
  EXPECT_TRUE(Eventually([&] { return kept.expired(); }));
}

// A kernel that nothing ends keeps its session. Others end all the same, and the task stops when it
// has.
TEST_F(ClusterFaultsTest, AStuckStepKeepsNoOtherSession) {
  build.set_device("/job:worker/task:1");
  const Node* const pause = build.NodeOf("TestPause", {});
  build.set_device("");
  const std::unique_ptr<Session> other = Open(0);
  session = Open(0);
  std::vector<std::weak_ptr<WorkerSession>> kept;
  for (const auto& one : SessionsIn(1)) kept.push_back(one);
  ASSERT_THAT(kept, SizeIs(2));
  PausePoint::Close();
  std::thread stuck([&] { Execute({pause}).IgnoreError(); });
  PausePoint::AwaitStep();
  transports_[0]->Set(Fault::kRefused);
  Beat(1, kLease);
  EXPECT_THAT(SessionsIn(1), IsEmpty());
  EXPECT_TRUE(Eventually([&] { return kept[0].expired() || kept[1].expired(); }));
  EXPECT_FALSE(kept[0].expired() && kept[1].expired());
  const auto channel = LoopbackTransport::Global()->Connect(servers_[1]->target().substr(7));
  ASSERT_TRUE(channel.ok()) << channel.status();
  std::atomic<bool> has_opened{false};
  std::thread opener([&] {
    EXPECT_TRUE(Eventually([&] {
      proto::NothingResponse nothing;
      return absl::IsUnavailable(
          RequestMessage(channel->get(), "ReadClock", nothing, absl::InfiniteFuture(), &nothing));
    }));
    has_opened = true;
    PausePoint::Open();
  });
  servers_[1].reset();
  EXPECT_TRUE(has_opened.load());
  opener.join();
  session->Close().IgnoreError();
  stuck.join();
}

// A client that has lost its session by the stop asks for another one at once, while the task still
// listens.
TEST_F(ClusterFaultsTest, AMasterThatStopsBeginsNoSession) {
  servers_[0]->master()->Stop();
  ExpectError(TryOpen(0).status(), absl::StatusCode::kUnavailable,
              {"/job:worker/replica:0/task:0 has stopped"});
  EXPECT_THAT(SessionsIn(0), IsEmpty());
  EXPECT_TRUE(Eventually([&] { return SessionsIn(1).empty(); }));
}

TEST_F(ClusterFaultsTest, TheStepsOfASilentMasterEndAndItsSessionStays) {
  session = Open(0);
  const Status status = RunDuring([this] {
    EXPECT_TRUE(Eventually([&] { return RunningIn(1) == 1; }));
    Beat(1, kSilence - 1);
    Beat(0, 1);
    Beat(1, kSilence - 1);
    EXPECT_EQ(RunningIn(1), 1);
    Beat(1, 1);
  });
  ExpectError(
      status, absl::StatusCode::kUnavailable,
      {"the master /job:worker/replica:0/task:0 does not answer", "/job:worker/replica:0/task:1"});
  EXPECT_EQ(Elements<float>(Value(On(1, "Neg", {Constant(1.0f)})))[0], -1);
  EXPECT_THAT(SessionsIn(1), SizeIs(1));
  // The request of a step says that the master is there, too.
  const Status later = RunDuring([this] {
    EXPECT_TRUE(Eventually([&] { return RunningIn(1) == 1; }));
    Beat(1, kSilence - 1);
    EXPECT_EQ(session->Close(), absl::OkStatus());
  });
  ExpectError(later, absl::StatusCode::kCancelled, {"the session was closed"});
}

// It may be a token that a worker waits for.
TEST_F(ClusterFaultsTest, AnElementOfAQueueIsNotForTheStepOfAMasterThatWasKilled) {
  const QueueInTask1 queue = LeaveStepAtQueue();
  Beat(1, kSilence);
  EXPECT_TRUE(Eventually([&] { return RunningIn(1) == 0; }));
  session = Open(1);
  ASSERT_EQ(Execute({queue.put}), absl::OkStatus());
  EXPECT_EQ(Elements<int32_t>(Value(queue.size))[0], 1);
}

// It may be a token that the worker waits for when it has begun again.
TEST_F(ClusterFaultsTest, AnElementOfAQueueIsNotForAnOldStepOfAMasterThatWasStartedAgain) {
  const QueueInTask1 queue = LeaveStepAtQueue();
  Kill(0);
  session.reset();
  servers_[0] = Start(0);
  session = Open(0);
  ASSERT_EQ(Execute({queue.put}), absl::OkStatus());
  EXPECT_EQ(Elements<int32_t>(Value(queue.size))[0], 1);
  EXPECT_TRUE(Eventually([&] { return RunningIn(1) == 0; }));
}

TEST_F(ClusterFaultsTest, AMasterThatWasStartedAgainEndsItsOldSessions) {
  session = Open(0);
  Kill(0);
  session.reset();
  servers_[0] = Start(0);
  session = Open(0);
  EXPECT_THAT(SessionsIn(1), SizeIs(2));
  Beat(1, 1);
  EXPECT_THAT(SessionsIn(1), SizeIs(1));
  EXPECT_EQ(Elements<float>(Value(On(1, "Neg", {Constant(1.0f)})))[0], -1);
}

TEST_F(ClusterFaultsTest, AStepDoesNotWaitForATaskThatIsSilent) {
  session = Open(0);
  const Status status = RunDuring([this] {
    transports_[0]->Set(Fault::kLost);
    Beat(0, kSilence);
  });
  ExpectError(status, absl::StatusCode::kUnavailable, {"/job:worker/replica:0/task:1"});
  transports_[0]->Set(Fault::kNone);
  EXPECT_EQ(Elements<float>(Value(On(1, "Neg", {Constant(1.0f)})))[0], -1);
}

TEST_F(ClusterFaultsTest, AnAnswerCountsHoweverManyWereLostBefore) {
  session = Open(0);
  const Status status = RunDuring([this] {
    for (int i = 0; i < 3; ++i) {
      transports_[0]->Set(Fault::kLost);
      Beat(0, kSilence - 2);
      transports_[0]->Set(Fault::kNone);
      Beat(0, 1);
    }
    EXPECT_EQ(session->Close(), absl::OkStatus());
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
}

TEST_F(ClusterFaultsTest, AStepThatHasFailedDoesNotRunAfterALaterOne) {
  session = Open(0);
  const Counted counted = CountInTask1();
  ASSERT_EQ(Execute({counted.add}), absl::OkStatus());
  CancelOnTheWay(counted.add);
  EXPECT_EQ(Elements<float>(Value(counted.value))[0], 6);
  transports_[0]->ReleaseRequests();
  session = Open(0);  // the other one has waited for its steps
  EXPECT_EQ(Elements<float>(Value(counted.value))[0], 6);
}

TEST_F(ClusterFaultsTest, ARequestForATensorOfAStepThatHasEndedIsRefused) {
  session = Open(0);
  const Output y = On(1, "Neg", {Constant(1.0f)});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Elements<float>(Value(y))[0], -1);
  const auto channel = LoopbackTransport::Global()->Connect(servers_[1]->target().substr(7));
  ASSERT_TRUE(channel.ok()) << channel.status();
  proto::RecvTensorRequest request;
  request.set_session(SessionsIn(1)[0]->handle());
  request.set_step(1);
  proto::NothingResponse nothing;
  ExpectError(
      RequestMessage(channel->get(), "RecvTensor", request, absl::InfiniteFuture(), &nothing),
      absl::StatusCode::kCancelled,
      {"the step 1 ", "/job:worker/replica:0/task:0 has ended", "/job:worker/replica:0/task:1"});
}

TEST_F(ClusterFaultsTest, ARunOfAClientDoesNotRunWhenItWasCancelledOrEndedBefore) {
  session = Open(0);
  const Counted counted = CountInTask1();
  const auto channel = LoopbackTransport::Global()->Connect(servers_[0]->target().substr(7));
  ASSERT_TRUE(channel.ok()) << channel.status();
  const auto ask = [&](absl::string_view method, const google::protobuf::MessageLite& request,
                       google::protobuf::MessageLite* response) {
    return RequestMessage(channel->get(), method, request, absl::InfiniteFuture(), response);
  };
  proto::CreateSessionRequest create;
  create.set_version(kMessageVersion);
  proto::CreateSessionResponse created;
  ASSERT_EQ(ask("CreateSession", create, &created), absl::OkStatus());
  proto::PrepareStepRequest prepare;
  prepare.set_session(created.session());
  GraphSender sender;
  ASSERT_EQ(sender.AddChanges(graph, prepare.mutable_chunk()), absl::OkStatus());
  EncodeSignature({{}, {}, {counted.add}}, prepare.mutable_signature());
  proto::PrepareStepResponse prepared;
  ASSERT_EQ(ask("PrepareStep", prepare, &prepared), absl::OkStatus());
  proto::CancelRunRequest cancel;
  cancel.set_session(created.session());
  cancel.set_run(1);
  proto::NothingResponse nothing;
  ASSERT_EQ(ask("CancelRun", cancel, &nothing), absl::OkStatus());
  const auto run = [&](uint64_t number) {
    proto::RunStepRequest request;
    request.set_session(created.session());
    request.set_step(prepared.step());
    request.set_run(number);
    proto::RunStepResponse response;
    return ask("RunStep", request, &response);
  };
  EXPECT_EQ(run(1).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(run(3), absl::OkStatus());
  ExpectError(run(2), absl::StatusCode::kCancelled, {"the client has ended its run 2"});
  EXPECT_EQ(Elements<float>(Value(counted.value))[0], 6);
}

TEST_F(ClusterFaultsTest, ALaterStepDoesNotEndOneThatRuns) {
  session = Open(0);
  StepSignature later;
  later.fetches = {On(1, "Neg", {Constant(1.0f)})};
  const Status status = RunDuring([&] {
    EXPECT_TRUE(Eventually([&] { return RunningIn(1) == 1; }));
    for (int i = 0; i < 2; ++i) {
      std::vector<Tensor> fetched(1);
      EXPECT_EQ(session->Run(later, {}, absl::MakeSpan(fetched), RunOptions()), absl::OkStatus());
    }
    EXPECT_EQ(session->Close(), absl::OkStatus());
  });
  ExpectError(status, absl::StatusCode::kCancelled, {"the session was closed"});
}

TEST_F(ClusterFaultsTest, AStepDoesNotWaitForATaskThatWasStartedAgain) {
  session = Open(0);
  const Status status = RunDuring([this] {
    transports_[0]->Set(Fault::kLost);
    servers_[1].reset();
    servers_[1] = Start(1);
    transports_[0]->Set(Fault::kNone);
    Beat(0, 1);
  });
  ExpectError(status, absl::StatusCode::kAborted, {"/job:worker/replica:0/task:1"});
}

TEST_F(ClusterFaultsTest, ATaskThatMayNotKnowTheGraphAbortsTheSessionsStepsThere) {
  session = Open(0);
  transports_[0]->Set(Fault::kRefused);
  ExpectError(Error(On(1, "Neg", {Constant(1.0f)})), absl::StatusCode::kUnavailable,
              {"/job:worker/replica:0/task:1"});
  transports_[0]->Set(Fault::kNone);
  const Output y = On(1, "Square", {Constant(3.0f)});
  ExpectError(Error(y), absl::StatusCode::kAborted, {"/job:worker/replica:0/task:1", "graph"});
  EXPECT_EQ(Elements<float>(Value(On(0, "Neg", {Constant(1.0f)})))[0], -1);
  session = Open(0);
  EXPECT_EQ(Elements<float>(Value(y))[0], 9);
}

TEST_F(ClusterFaultsTest, ATaskThatRefusesAPartOfTheGraphAbortsTheSessionsStepsThere) {
  session = Open(0);
  // Now its graph is another one than the master has sent.
  const Output y = On(1, "Neg", {Constant(1.0f)});
  proto::RegisterGraphRequest request;
  request.set_session(SessionsIn(1)[0]->handle());
  GraphSender sender;
  ASSERT_EQ(sender.AddChanges(graph, request.mutable_chunk()), absl::OkStatus());
  const Status taken = RegisterInTask1(request);
  EXPECT_EQ(taken.code(), absl::StatusCode::kFailedPrecondition) << taken;  // it has no devices
  EXPECT_TRUE(HasGraphTaken(taken));
  const Status refused = RegisterInTask1(request);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_FALSE(HasGraphTaken(refused));

  ExpectError(Error(y), absl::StatusCode::kInvalidArgument,
              {"a chunk of a graph begins", "/job:worker/replica:0/task:1"});
  const Output z = On(1, "Square", {Constant(3.0f)});
  ExpectError(Error(z), absl::StatusCode::kAborted, {"/job:worker/replica:0/task:1", "refused"});
  session = Open(0);
  EXPECT_EQ(Elements<float>(Value(z))[0], 9);
}

TEST_F(ClusterFaultsTest, AMasterClosesTheSessionsOfAClientThatIsGone) {
  const auto channel = LoopbackTransport::Global()->Connect(servers_[0]->target().substr(7));
  ASSERT_TRUE(channel.ok()) << channel.status();
  proto::CreateSessionRequest create;
  create.set_version(kMessageVersion);
  proto::CreateSessionResponse created;
  ASSERT_EQ(
      RequestMessage(channel->get(), "CreateSession", create, absl::InfiniteFuture(), &created),
      absl::OkStatus());
  proto::SessionRequest keep;
  keep.set_session(created.session());
  for (int i = 0; i < 2; ++i) {
    proto::NothingResponse nothing;
    EXPECT_EQ(RequestMessage(channel->get(), "KeepSession", keep, absl::InfiniteFuture(), &nothing),
              absl::OkStatus());
    Beat(0, kLease - 1);
  }
  EXPECT_THAT(SessionsIn(1), SizeIs(1));
  Beat(0, 1);
  EXPECT_TRUE(Eventually([&] { return SessionsIn(1).empty(); }));
}

TEST_F(ClusterFaultsTest, RequestsOfOtherVersionsAndPrograms) {
  const auto channel = LoopbackTransport::Global()->Connect(servers_[0]->target().substr(7));
  ASSERT_TRUE(channel.ok()) << channel.status();
  const auto ask = [&](absl::string_view method, const google::protobuf::MessageLite& request) {
    proto::NothingResponse nothing;
    return RequestMessage(channel->get(), method, request, absl::InfiniteFuture(), &nothing);
  };
  proto::CreateSessionRequest client;
  client.set_version(kMessageVersion + 1);
  ExpectError(ask("CreateSession", client), absl::StatusCode::kFailedPrecondition,
              {absl::StrCat("version ", kMessageVersion),
               absl::StrCat("version ", kMessageVersion + 1), "/job:worker/replica:0/task:0"});
  proto::CreateWorkerSessionRequest master;
  master.set_session(7);
  ExpectError(ask("CreateWorkerSession", master), absl::StatusCode::kFailedPrecondition,
              {"version 0"});
  master.set_version(kMessageVersion);
  master.set_task("/job:ps/replica:0/task:1");
  ExpectError(ask("CreateWorkerSession", master), absl::StatusCode::kUnavailable,
              {"/job:worker/replica:0/task:0", "/job:ps/replica:0/task:1"});
  ExpectError(ask("GET /", client), absl::StatusCode::kUnimplemented, {"GET /"});
  // So requests of a newer task look that another transport wraps in another way.
  ExpectError(ask("", client), absl::StatusCode::kUnimplemented,
              {"/job:worker/replica:0/task:0", absl::StrCat("version ", kMessageVersion),
               "no method \"\""});
  EXPECT_THAT(SessionsIn(0), IsEmpty());
}

}  // namespace
}  // namespace millstream
