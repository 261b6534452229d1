// Collective operations over the tasks of a cluster.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed_runtime/tensor_coding.h"
#include "distributed_runtime/testing/collectives_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

// Elements that come with their member, and that tasks exchange in pieces of several sizes.
constexpr int64_t kSizes[] = {0, 1, 5, 8193, 40000};

TEST_F(ClusterCollectivesTest, MembersOfOneStepGetTheSum) {
  session = Open(0, TwoDevices());
  for (const int64_t size : kSizes) {
    // Of task 0 one device, of task 1 two.
    const std::vector<Output> sums = {Reduce(0, 0, Numbers(0, 0, size, 1), 3),
                                      Reduce(1, 0, Numbers(1, 0, size, 2), 3),
                                      Reduce(1, 1, Numbers(1, 1, size, 3), 3)};
    std::vector<float> expected = Values(size, 2);
    for (float& value : expected) value *= 3;
    for (int step = 0; step < 3; ++step) {
      const auto got = Run(sums);
      ASSERT_TRUE(got.ok()) << got.status();
      for (const Tensor& sum : *got) EXPECT_EQ(Elements<float>(sum), expected) << size;
    }
  }
}

TEST_F(ClusterCollectivesTest, AMeanHasTheSameBitsInEachMemberAndStep) {
  session = Open(1);
  for (const int64_t size : {3, 20001}) {
    const std::vector<Output> means = {Reduce(0, 0, Numbers(0, 0, size, 0.1f), 2, "Div"),
                                       Reduce(1, 0, Numbers(1, 0, size, 0.7f), 2, "Div")};
    std::vector<float> expected = Values(size, 0.1f);
    const std::vector<float> other = Values(size, 0.7f);
    for (int64_t i = 0; i < size; ++i) expected[i] = (expected[i] + other[i]) / 2;
    for (int step = 0; step < 10; ++step) {
      const auto got = Run(means);
      ASSERT_TRUE(got.ok()) << got.status();
      for (const Tensor& mean : *got) EXPECT_EQ(Elements<float>(mean), expected);
    }
  }
}

TEST_F(ClusterCollectivesTest, GathersAndBroadcasts) {
  session = Open(0, TwoDevices());
  for (const int64_t size : {2, 20001}) {
    std::vector<Output> fetches;
    const GraphBuilder::Attrs gather = {{"group_size", int64_t{3}},
                                        {"group_key", int64_t{1}},
                                        {"instance_key", int64_t{1}},
                                        {"shape", PartialShape()}};
    const GraphBuilder::Attrs broadcast = {{"T", DataType::kFloat},
                                           {"group_size", int64_t{3}},
                                           {"group_key", int64_t{1}},
                                           {"instance_key", int64_t{2}},
                                           {"shape", PartialShape({size})}};
    const std::vector<std::pair<int, int>> devices = {{0, 0}, {1, 0}, {1, 1}};
    for (const auto& [task, device] : devices) {
      const auto first = static_cast<float>(task * 2 + device);
      fetches.push_back(Collective("CollectiveGather", task, device,
                                   {Numbers(task, device, size, first)}, gather));
    }
    fetches.push_back(Collective("CollectiveBcastSend", 1, 0, {Numbers(1, 0, size, 7)}, broadcast));
    fetches.push_back(Collective("CollectiveBcastRecv", 0, 0, {}, broadcast));
    fetches.push_back(Collective("CollectiveBcastRecv", 1, 1, {}, broadcast));
    std::vector<float> rows;
    for (const float first : {0.0f, 2.0f, 3.0f}) {
      const std::vector<float> values = Values(size, first);
      rows.insert(rows.end(), values.begin(), values.end());
    }
    const auto got = Run(fetches);
    ASSERT_TRUE(got.ok()) << got.status();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Elements<float>((*got)[i]), rows);
    for (int i = 3; i < 6; ++i) EXPECT_EQ(Elements<float>((*got)[i]), Values(size, 7));
  }
}

TEST_F(ClusterCollectivesTest, APartOfAReduceScatterHasTheBitsOfTheSum) {
  session = Open(0, TwoDevices());
  // Beside 10^8, floats are 8 apart: the sum depends on the order of additions.
  const std::vector<std::pair<int, int>> devices = {{0, 0}, {1, 0}, {1, 1}};
  const std::vector<float> firsts = {1e8f, 3, 3.3f};
  for (const int64_t size : {0, 3, 8193, 40002}) {
    std::vector<Output> fetches;
    for (size_t i = 0; i < devices.size(); ++i) {
      const auto& [task, device] = devices[i];
      const Output numbers = Numbers(task, device, size, firsts[i]);
      fetches.push_back(ReduceScatter(task, device, numbers, 3));
      fetches.push_back(Reduce(task, device, numbers, 3));
    }
    for (int step = 0; step < 3; ++step) {
      const auto got = Run(fetches);
      ASSERT_TRUE(got.ok()) << got.status();
      std::vector<float> joined;
      for (const size_t i : {0, 2, 4}) {
        const std::vector<float> part = Elements<float>((*got)[i]);
        EXPECT_EQ(part.size(), size / 3);
        joined.insert(joined.end(), part.begin(), part.end());
      }
      EXPECT_EQ(joined, Elements<float>((*got)[1])) << size;
    }
  }
}

// A task sends another one that one's part alone, and no part of the result.
TEST_F(ClusterCollectivesTest, AReduceScatterSendsAPartOfTheTensor) {
  session = Open(0);
  const int64_t size = 40000;
  const std::vector<Output> parts = {ReduceScatter(0, 0, Numbers(0, 0, size, 1), 2),
                                     ReduceScatter(1, 0, Numbers(1, 0, size, 2), 2)};
  const std::vector<const Node*> targets = {parts[0].node, parts[1].node};
  ASSERT_TRUE(Run({}, {}, targets).ok());  // also sends the graph
  const int64_t before = SentBytes(0);
  ASSERT_TRUE(Run({}, {}, targets).ok());
  const int64_t bytes = size / 2 * static_cast<int64_t>(sizeof(float));
  EXPECT_TRUE(Eventually([&] { return SentBytes(0) - before >= bytes; }));
  EXPECT_LT(SentBytes(0) - before, bytes * 3 / 2);
}

TEST_F(ClusterCollectivesTest, ShapesThatDoNotAgreeAreNamed) {
  session = Open(0);
  for (const int64_t size : {4, 20001}) {
    const std::vector<Output> parts = {ReduceScatter(0, 0, Numbers(0, 0, 2 * size, 1), 2),
                                       ReduceScatter(1, 0, Numbers(1, 0, 4 * size, 2), 2)};
    ExpectError(Run(parts).status(), absl::StatusCode::kInvalidArgument,
                {"the members of collective group 1, instance 3 do not agree",
                 absl::StrCat("shape [", 2 * size, "]"), absl::StrCat("shape [", 4 * size, "]")});
  }
}

TEST_F(ClusterCollectivesTest, AMemberOfAReduceScatterHasATimeLimitOfItsOwn) {
  for (const int task : {0, 1}) {
    const Output there = ReduceScatter(task, 0, Numbers(task, 0, 20002, 1), 2, 0.05f);
    const Status status = RunOn(task, there).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("'timeout_seconds' is 0.05"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("collective group 1, instance 3"));
  }
}

// The first task leads the steps, and gives the other one what that asks for.
TEST_F(ClusterCollectivesTest, BytesThatATaskGivesAreCounted) {
  session = Open(0);
  for (const int64_t size : {4000, 40000}) {
    const std::vector<Output> sums = {Reduce(0, 0, Numbers(0, 0, size, 1), 2),
                                      Reduce(1, 0, Numbers(1, 0, size, 2), 2)};
    ASSERT_TRUE(Run(sums).ok());  // also sends the graph
    const int64_t before = SentBytes(0);
    ASSERT_TRUE(Run(sums).ok());
    const int64_t bytes = size * static_cast<int64_t>(sizeof(float));
    EXPECT_TRUE(Eventually([&] { return SentBytes(0) - before >= bytes; })) << size;
    EXPECT_LT(SentBytes(0) - before, bytes * 3 / 2) << size;
  }
}

TEST_F(ClusterCollectivesTest, MembersOfSeveralSessionsMeet) {
  for (const int64_t size : {4, 20001}) {
    const std::vector<Output> sums = {Reduce(0, 0, Numbers(0, 0, size, 1), 2),
                                      Reduce(1, 0, Numbers(1, 0, size, 2), 2)};
    std::vector<float> expected = Values(size, 1);
    const std::vector<float> other = Values(size, 2);
    for (int64_t i = 0; i < size; ++i) expected[i] += other[i];
    std::vector<std::thread> threads;
    for (int task = 0; task < kTasks; ++task) {
      threads.emplace_back([&, task] {
        const auto got = RunOn(task, sums[task]);
        ASSERT_TRUE(got.ok()) << got.status();
        EXPECT_EQ(Elements<float>((*got)[0]), expected);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_F(ClusterCollectivesTest, IsolatedSessionsDoNotMeet) {
  const Output there = Reduce(0, 0, Numbers(0, 0, 1, 1), 2);
  const Output missing = Reduce(1, 0, Numbers(1, 0, 1, 1), 2);
  proto::ConfigProto config;
  config.set_isolate_session_state(true);
  session = Open(0, config);
  std::thread other([&] {
    EXPECT_EQ(RunOn(1, missing, 50).status().code(), absl::StatusCode::kDeadlineExceeded);
  });
  RunOptions options;
  options.timeout_ms = 50;
  EXPECT_EQ(Run({there}, {}, {}, options).status().code(), absl::StatusCode::kDeadlineExceeded);
  other.join();
  EXPECT_TRUE(Run({there, missing}).ok());
}

TEST_F(ClusterCollectivesTest, TheLeaderNamesWhoIsMissing) {
  const Output there = Reduce(0, 0, Numbers(0, 0, 1, 1), 2);
  const Output missing = Reduce(1, 0, Numbers(1, 0, 1, 1), 2);
  session = Open(0);
  ASSERT_TRUE(Run({there, missing}).ok());
  RunOptions options;
  options.timeout_ms = 50;
  ExpectError(Run({there}, {}, {}, options).status(), absl::StatusCode::kDeadlineExceeded,
              {"waits for 1 of 2 members of collective group 1, instance 0: "
               "/job:worker/replica:0/task:1/device:CPU:0"});
}

TEST_F(ClusterCollectivesTest, AnotherTaskNamesWhoIsMissingAfterAHeartbeat) {
  const Output there = Reduce(1, 0, Numbers(1, 0, 1, 1), 2);
  const Output missing = Reduce(0, 0, Numbers(0, 0, 1, 1), 2);
  session = Open(1);
  ASSERT_TRUE(Run({there, missing}).ok());
  const ResourceRef<ClusterCollectives>& own = servers_[1]->worker()->collectives();
  std::thread waiting([&] {
    RunOptions options;
    options.timeout_ms = kHangGuardMillis;
    EXPECT_TRUE(Run({there}, {}, {}, options).ok());
  });
  EXPECT_TRUE(Eventually([&] {
    servers_[1]->worker()->Beat();
    return own->Missing(Spec(2), Device(1)) ==
           "1 of 2 members of collective group 1, instance 0: "
           "/job:worker/replica:0/task:0/device:CPU:0";
  }));
  EXPECT_TRUE(RunOn(0, missing).ok());
  waiting.join();
}

TEST_F(ClusterCollectivesTest, AStepThatEndsIsNamedToThoseWhoWaitForIt) {
  for (const int leaver : {0, 1}) {
    // The other has a member that has to wait for one more.
    const Output there = Reduce(1 - leaver, 0, Numbers(1 - leaver, 0, 1, 1), 3);
    const Output leaves = Reduce(leaver, 0, Numbers(leaver, 0, 1, 1), 3);
    std::thread other([&] {
      const auto& leader = servers_[0]->worker()->collectives();
      EXPECT_TRUE(Eventually([&] { return HasArrived(leader, 3, 1 - leaver); }));
      EXPECT_EQ(RunOn(leaver, leaves, 50).status().code(), absl::StatusCode::kDeadlineExceeded);
    });
    const Status status = RunOn(1 - leaver, there).status();
    other.join();
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
    EXPECT_THAT(
        std::string(status.message()),
        HasSubstr(absl::StrCat(Device(leaver), " has left collective group 1, instance 0")));
  }
}

TEST_F(ClusterCollectivesTest, ALostTaskIsNamedToThoseWhoWaitForIt) {
  const Output there = Reduce(0, 0, Numbers(0, 0, 1, 1), 2);
  const Output lost = Reduce(1, 0, Numbers(1, 0, 1, 1), 2);
  session = Open(0);
  ASSERT_TRUE(Run({there, lost}).ok());
  session.reset();
  const std::unique_ptr<Session> own = Open(0);
  const Node* const pause = build.NodeOf("TestPause", {});
  PausePoint::Close();
  std::thread killer([&] {
    PausePoint::AwaitStep();
    PausePoint::Open();
    servers_[1].reset();
  });
  StepSignature signature;
  signature.fetches = {there};
  signature.targets = {pause};
  std::vector<Tensor> fetched(1);
  RunOptions options;
  options.timeout_ms = kHangGuardMillis;
  const Status status = own->Run(signature, {}, absl::MakeSpan(fetched), options);
  killer.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("/job:worker/replica:0/task:1"));
}

// As SIGSTOP: a task does not answer, and nobody is told.
TEST_F(ClusterCollectivesTest, ATaskThatDoesNotAnswerIsLost) {
  for (const int silent : {1, 0}) {
    const int waiting = 1 - silent;
    const Output there = Reduce(waiting, 0, Numbers(waiting, 0, 1, 1), 2);
    const Output missing = Reduce(silent, 0, Numbers(silent, 0, 1, 1), 2);
    session = Open(waiting);
    ASSERT_TRUE(Run({there, missing}).ok());
    session.reset();
    const auto& leader = servers_[0]->worker()->collectives();
    std::thread other([&] {
      EXPECT_TRUE(Eventually([&] { return HasArrived(leader, 2, waiting); }));
      transports_[waiting]->Set(Fault::kLost);
      for (int i = 0; i < 5; ++i) servers_[waiting]->worker()->Beat();
    });
    const Status status = RunOn(waiting, there).status();
    other.join();
    transports_[waiting]->Set(Fault::kNone);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("/job:worker/replica:0/task:", silent)));
  }
}

// The task has come, and then it does not answer.
TEST_F(ClusterCollectivesTest, ATaskThatStopsInTheMidstOfAnExchangeIsLost) {
  for (const int silent : {1, 0}) {
    const int waiting = 1 - silent;
    const Output there = Reduce(waiting, 0, Numbers(waiting, 0, 20001, 1), 2);
    const Output stops = Reduce(silent, 0, Numbers(silent, 0, 20001, 1), 2);
    transports_[waiting]->ForgetCounts();
    transports_[waiting]->LoseFrom("CollectivePiece");
    std::thread member([&] { RunOn(silent, stops).IgnoreError(); });
    std::thread heart([&] {
      EXPECT_TRUE(Eventually([&] { return transports_[waiting]->Count("CollectivePiece") > 0; }));
      for (int i = 0; i < 5; ++i) servers_[waiting]->worker()->Beat();
    });
    const Status status = RunOn(waiting, there).status();
    member.join();
    heart.join();
    transports_[waiting]->Set(Fault::kNone);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("/job:worker/replica:0/task:", silent)));
    for (const auto& server : servers_) {
      EXPECT_TRUE(Eventually([&] {
        server->worker()->Beat();
        return server->worker()->collectives()->num_exchanges() == 0;
      }));
    }
  }
}

TEST_F(ClusterCollectivesTest, AMemberWhoseAnswerIsLateIsAwaited) {
  const std::vector<Output> sums = {Reduce(0, 0, Numbers(0, 0, 20001, 1), 2),
                                    Reduce(1, 0, Numbers(1, 0, 20001, 2), 2)};
  transports_[1]->HoldResponses("JoinCollective");
  std::vector<std::thread> threads;
  for (int task = 0; task < kTasks; ++task) {
    threads.emplace_back([&, task] {
      const Status status = RunOn(task, sums[task]).status();
      EXPECT_TRUE(status.ok()) << status;
    });
  }
  // Task 0 asks task 1, which knows nothing of the meeting.
  EXPECT_TRUE(Eventually([&] {
    return transports_[0]->Count("CollectivePiece") == 2 && transports_[1]->num_held() == 1;
  }));
  for (int i = 0; i < 15; ++i) {
    for (const auto& server : servers_) server->worker()->Beat();
  }
  transports_[1]->ReleaseResponses();
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ClusterCollectivesTest, ALargeOperationEndsWithItsStep) {
  // The third member never comes, so the two of task 1 wait.
  session = Open(0, TwoDevices());
  const std::vector<Output> sums = {Reduce(1, 0, Numbers(1, 0, 20001, 1), 3),
                                    Reduce(1, 1, Numbers(1, 1, 20001, 1), 3)};
  RunOptions options;
  options.timeout_ms = 50;
  EXPECT_EQ(Run(sums, {}, {}, options).status().code(), absl::StatusCode::kDeadlineExceeded);
  const std::vector<Output> all = {Reduce(0, 0, Numbers(0, 0, 20001, 1), 3), sums[0], sums[1]};
  EXPECT_TRUE(Run(all).ok());
}

TEST_F(ClusterCollectivesTest, RequestsThatMakeNoSenseAreRefused) {
  const ResourceRef<ClusterCollectives>& collectives = servers_[0]->worker()->collectives();
  for (const char* method : {"JoinCollective", "LeaveCollective", "CollectivePiece",
                             "LeaveExchange", "PingExchanges", "MissingMembers", "Farewell"}) {
    Payload garbage;
    garbage.Append(std::string("\xff\xff\x00\x00 none", 9));
    PayloadReader reader(std::move(garbage));
    int answers = 0;
    const Reply reply([&](const Status&, Payload response) {
      ++answers;
      EXPECT_GT(response.size(), 0);
    });
    EXPECT_TRUE(collectives->Handle(method, &reader, reply)) << method;
    EXPECT_EQ(answers, 1) << method;
  }
  PayloadReader nothing((Payload()));
  EXPECT_FALSE(collectives->Handle("Sing", &nothing, Reply([](const Status&, Payload) {})));
}

TEST_F(ClusterCollectivesTest, MembersThatComeWithoutTheirTensorAreRefused) {
  for (const auto kind : {CollectiveSpec::Kind::kReduce, CollectiveSpec::Kind::kGather,
                          CollectiveSpec::Kind::kReduceScatter}) {
    CollectiveSpec spec = Spec(2);
    spec.kind = kind;
    ExpectError(JoinWithoutTensor(spec), absl::StatusCode::kInvalidArgument, {});
  }
}

}  // namespace
}  // namespace millstream
