#include "distributed_runtime/exchange_table.h"

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/resources/collective_meetings.h"
#include "core/resources/collectives.h"
#include "distributed_runtime/loopback_transport.h"
#include "distributed_runtime/tensor_coding.h"
#include "distributed_runtime/testing/faulty_transport.h"
#include "framework/steady_time.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMeeting = 7;
// Of the first member there.
constexpr uint64_t kTicketOfTask1 = 3;
// After so many heartbeats, who was not heard of is lost.
constexpr int kSilence = 5;

// Gives the requests to a task to its table.
class TableHandler final : public RequestHandler {
 public:
  explicit TableHandler(std::shared_ptr<ExchangeTable> table) : table_(std::move(table)) {}
  void Handle(absl::string_view method, Payload request, Respond respond) override {
    PayloadReader reader(std::move(request));
    EXPECT_TRUE(table_->Handle(method, &reader, Reply(std::move(respond)))) << method;
  }

 private:
  const std::shared_ptr<ExchangeTable> table_;
};

// Two tasks.
class ExchangeTableTest : public ::testing::Test {
 protected:
  struct Got {
    absl::Notification done;
    Status status;
    Tensor result;
  };

  ExchangeTableTest() {
    static std::atomic<int> clusters{0};
    const int cluster = ++clusters;
    for (int task = 0; task < 2; ++task) {
      transports_[task] = std::make_unique<FaultyTransport>(LoopbackTransport::Global());
      tasks_.push_back({Name(task), absl::StrCat("exchanges", cluster, ":", task + 1)});
    }
    for (int task = 0; task < 2; ++task) Start(task);
  }

  static std::string Name(int task) { return absl::StrCat("/job:worker/replica:0/task:", task); }
  static std::string Device(int task, int device) {
    return absl::StrCat(Name(task), "/device:CPU:", device);
  }
  // A task, perhaps again.
  void Start(int task) {
    servers_[task].reset();
    const auto peers = std::make_shared<Peers>(tasks_, transports_[task].get());
    tables_[task] = std::make_shared<ExchangeTable>(
        Name(task), peers,
        [this, task](uint64_t ticket) { return waiting_[task].count(ticket) > 0; });
    auto server = LoopbackTransport::Global()->Serve(tasks_[task].address,
                                                     std::make_shared<TableHandler>(tables_[task]));
    ASSERT_TRUE(server.ok()) << server.status();
    servers_[task] = *std::move(server);
  }
  static CollectiveSpec Spec(CollectiveSpec::Kind kind) {
    CollectiveSpec spec;
    spec.kind = kind;
    spec.dtype = DataType::kFloat;
    spec.group_size = 4;
    return spec;
  }
  // A member of a meeting that each task has two members of. The source of a broadcast is the first
  // one of task 0.
  std::unique_ptr<Got> Add(CollectiveSpec::Kind kind, int task, int device) {
    MeetingOutcome outcome;
    outcome.number = kMeeting;
    outcome.members = {Device(0, 0), Device(0, 1), Device(1, 0), Device(1, 1)};
    outcome.tickets = {1, 2, kTicketOfTask1, 4};
    auto got = std::make_unique<Got>();
    CollectiveMember member;
    member.ticket = got.get();
    member.device = Device(task, device);
    member.gives = kind != CollectiveSpec::Kind::kBroadcast || (task == 0 && device == 0);
    if (member.gives) member.tensor = Tensor::Vector<float>({1, 2, 3, 4});
    member.done = [to = got.get()](const Status& status, const Tensor& result) {
      to->status = status;
      to->result = result;
      to->done.Notify();
    };
    tables_[task]->Get(kMeeting)->Add(Spec(kind), outcome, std::move(member));
    return got;
  }
  std::unique_ptr<Got> AddBoth(CollectiveSpec::Kind kind, int task) {
    first_.push_back(Add(kind, task, 0));
    return Add(kind, task, 1);
  }
  void Beat(int task, int times) {
    for (int i = 0; i < times; ++i) tables_[task]->Beat();
  }
  // Whether the task takes no further exchanges.
  bool Refuses(int task) { return !tables_[task]->Get(kMeeting + 1)->Expect(); }
  // Task 0 gives a broadcast that task 1 has not asked for.
  void GiveBroadcast() {
    const auto got = AddBoth(CollectiveSpec::Kind::kBroadcast, 0);
    ASSERT_TRUE(Eventually(got->done));
    EXPECT_EQ(got->status, absl::OkStatus());
    EXPECT_EQ(tables_[0]->size(), 1);
  }

  std::vector<ClusterTask> tasks_;
  std::unique_ptr<FaultyTransport> transports_[2];
  std::vector<std::unique_ptr<Got>> first_;
  std::set<uint64_t> waiting_[2];  // tickets of members that have no answer as yet
  std::shared_ptr<ExchangeTable> tables_[2];
  std::unique_ptr<TransportServer> servers_[2];
};

TEST_F(ExchangeTableTest, NothingIsLeftWhenAllHaveTheResult) {
  const auto here = AddBoth(CollectiveSpec::Kind::kReduce, 0);
  const auto there = AddBoth(CollectiveSpec::Kind::kReduce, 1);
  for (const auto* const got : {here.get(), there.get()}) {
    ASSERT_TRUE(Eventually(got->done));
    ASSERT_EQ(got->status, absl::OkStatus());
    EXPECT_TRUE(TensorsEqual(got->result, Tensor::Vector<float>({4, 8, 12, 16})));
  }
  for (const auto& table : tables_) EXPECT_TRUE(Eventually([&] { return table->size() == 0; }));
}

TEST_F(ExchangeTableTest, OfAReduceScatterEachMemberGetsItsPartOfOneRound) {
  const auto first = Add(CollectiveSpec::Kind::kReduceScatter, 0, 0);
  const auto second = Add(CollectiveSpec::Kind::kReduceScatter, 0, 1);
  // The last one first: members stand in the order of their names.
  const auto fourth = Add(CollectiveSpec::Kind::kReduceScatter, 1, 1);
  const auto third = Add(CollectiveSpec::Kind::kReduceScatter, 1, 0);
  float expected = 4;
  for (const Got* const got : {first.get(), second.get(), third.get(), fourth.get()}) {
    ASSERT_TRUE(Eventually(got->done));
    ASSERT_EQ(got->status, absl::OkStatus());
    EXPECT_TRUE(TensorsEqual(got->result, Tensor::Vector<float>({expected})));
    expected += 4;
  }
  for (int task = 0; task < 2; ++task) {
    EXPECT_TRUE(Eventually([&] { return tables_[task]->size() == 0; }));
    EXPECT_EQ(transports_[task]->Count("CollectivePiece"), 1) << "of the result, none is asked for";
  }
}

TEST_F(ExchangeTableTest, TheResultOfAReduceScatterIsRefusedToOthers) {
  const auto got = AddBoth(CollectiveSpec::Kind::kReduceScatter, 0);
  Status refused;
  absl::Notification is_answered;
  const Reply reply([&](const Status&, Payload response) {
    PayloadReader reader(std::move(response));
    proto::StatusMessage message;
    EXPECT_TRUE(DecodeMessage(&reader, &message).ok());
    refused = DecodeStatus(message);
    is_answered.Notify();
  });
  // Not counted as a question of task 1.
  tables_[0]->Get(kMeeting)->Ask(/*of_result=*/true, /*asker=*/5, reply);
  const auto there = AddBoth(CollectiveSpec::Kind::kReduceScatter, 1);
  for (const Got* const one : {got.get(), there.get()}) {
    ASSERT_TRUE(Eventually(one->done));
    EXPECT_EQ(one->status, absl::OkStatus());
  }
  ASSERT_TRUE(Eventually(is_answered));
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
}

TEST_F(ExchangeTableTest, ATaskThatIsSilentEndsTheExchange) {
  transports_[0]->Set(Fault::kLost);
  const auto got = AddBoth(CollectiveSpec::Kind::kReduce, 0);
  ASSERT_TRUE(Eventually([this] { return transports_[0]->Count("CollectivePiece") == 2; }));
  Beat(0, kSilence - 1);
  EXPECT_FALSE(got->done.HasBeenNotified());
  EXPECT_EQ(tables_[0]->Missing(Spec(CollectiveSpec::Kind::kReduce), Device(0, 1)),
            absl::StrCat("tensors of collective group 0, instance 0 from ", Name(1)));
  EXPECT_EQ(tables_[0]->Missing(Spec(CollectiveSpec::Kind::kReduce), Device(0, 2)), "");
  Beat(0, 1);
  ASSERT_TRUE(got->done.HasBeenNotified());
  EXPECT_EQ(got->status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(got->status.message()), HasSubstr(Name(1)));
}

TEST_F(ExchangeTableTest, ATaskThatAnswersIsAwaited) {
  first_.push_back(Add(CollectiveSpec::Kind::kReduce, 1, 0));
  const auto got = AddBoth(CollectiveSpec::Kind::kReduce, 0);
  ASSERT_TRUE(Eventually([this] { return transports_[0]->Count("CollectivePiece") == 2; }));
  Beat(0, 3 * kSilence);
  EXPECT_FALSE(got->done.HasBeenNotified());
  const auto last = Add(CollectiveSpec::Kind::kReduce, 1, 1);
  ASSERT_TRUE(Eventually(got->done));
  EXPECT_EQ(got->status, absl::OkStatus());
  EXPECT_TRUE(Eventually(last->done));
}

TEST_F(ExchangeTableTest, AResultIsKeptForATaskThatHasStillToAsk) {
  first_.push_back(Add(CollectiveSpec::Kind::kBroadcast, 1, 0));
  GiveBroadcast();
  Beat(0, 3 * kSilence);
  EXPECT_EQ(tables_[0]->size(), 1);
  const auto got = Add(CollectiveSpec::Kind::kBroadcast, 1, 1);
  ASSERT_TRUE(Eventually(got->done));
  EXPECT_TRUE(TensorsEqual(got->result, Tensor::Vector<float>({1, 2, 3, 4})));
  EXPECT_TRUE(Eventually([this] { return tables_[0]->size() == 0; }));
}

TEST_F(ExchangeTableTest, AResultGoesWhenTheStepOfItsAskerEnds) {
  const auto leaver = Add(CollectiveSpec::Kind::kBroadcast, 1, 0);
  GiveBroadcast();
  tables_[1]->Cancel(leaver.get());
  EXPECT_EQ(leaver->status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(tables_[0]->size(), 0);
  Beat(1, kSilence);
  EXPECT_EQ(tables_[1]->size(), 0);
}

TEST_F(ExchangeTableTest, AResultGoesWhenItsAskerIsLost) {
  first_.push_back(Add(CollectiveSpec::Kind::kBroadcast, 1, 0));
  GiveBroadcast();
  servers_[1].reset();
  Beat(0, kSilence - 1);
  EXPECT_EQ(tables_[0]->size(), 1);
  Beat(0, 1);
  EXPECT_EQ(tables_[0]->size(), 0);
}

TEST_F(ExchangeTableTest, AResultGoesWhenItsAskerIsStartedAgain) {
  first_.push_back(Add(CollectiveSpec::Kind::kBroadcast, 1, 0));
  GiveBroadcast();
  Start(1);
  Beat(0, kSilence);
  EXPECT_EQ(tables_[0]->size(), 0);
}

TEST_F(ExchangeTableTest, AMemberWhoseAnswerIsLateIsAwaited) {
  waiting_[1] = {kTicketOfTask1};
  const auto here = AddBoth(CollectiveSpec::Kind::kReduce, 0);
  ASSERT_TRUE(Eventually([this] { return transports_[0]->Count("CollectivePiece") == 2; }));
  for (int i = 0; i < 3 * kSilence; ++i) {
    Beat(0, 1);
    Beat(1, 1);
  }
  EXPECT_FALSE(here->done.HasBeenNotified());
  waiting_[1].clear();
  const auto there = AddBoth(CollectiveSpec::Kind::kReduce, 1);
  for (const auto* const got : {here.get(), there.get()}) {
    ASSERT_TRUE(Eventually(got->done));
    EXPECT_EQ(got->status, absl::OkStatus());
  }
}

TEST_F(ExchangeTableTest, AResultIsKeptForAMemberWhoseAnswerIsLate) {
  waiting_[1] = {kTicketOfTask1};
  GiveBroadcast();
  Beat(0, 3 * kSilence);
  EXPECT_EQ(tables_[0]->size(), 1);
  waiting_[1].clear();
  const auto got = AddBoth(CollectiveSpec::Kind::kBroadcast, 1);
  ASSERT_TRUE(Eventually(got->done));
  EXPECT_TRUE(TensorsEqual(got->result, Tensor::Vector<float>({1, 2, 3, 4})));
}

TEST_F(ExchangeTableTest, AResultGoesWhenTheLateAnswerIsThatOfAnotherMember) {
  waiting_[1] = {kTicketOfTask1 + 10};
  GiveBroadcast();
  Beat(0, kSilence);
  EXPECT_EQ(tables_[0]->size(), 0);
}

TEST_F(ExchangeTableTest, WhoClosesGivesWhatOthersHaveStillToAskFor) {
  waiting_[1] = {kTicketOfTask1};
  GiveBroadcast();
  std::thread closing([this] {
    tables_[0]->Close(absl::UnavailableError("the task has stopped"), SteadyNow() + kHangGuard);
    tables_[0]->Stop(absl::UnavailableError("the task has stopped"));
  });
  // It takes no further exchanges from the beginning on.
  EXPECT_TRUE(Eventually([this] { return Refuses(0); }));
  const auto got = AddBoth(CollectiveSpec::Kind::kBroadcast, 1);
  closing.join();
  ASSERT_TRUE(Eventually(got->done));
  EXPECT_EQ(got->status, absl::OkStatus());
}

TEST_F(ExchangeTableTest, WhoClosesWaitsNoLongerThanItWasTold) {
  waiting_[1] = {kTicketOfTask1};
  GiveBroadcast();
  tables_[0]->Close(absl::UnavailableError("the task has stopped"), SteadyNow());
  EXPECT_EQ(tables_[0]->size(), 1);
}

TEST_F(ExchangeTableTest, WhoClosesDoesNotWaitForATaskThatIsLost) {
  GiveBroadcast();
  servers_[1].reset();
  absl::Notification closed;
  std::thread closing([&] {
    tables_[0]->Close(absl::UnavailableError("the task has stopped"), absl::InfiniteFuture());
    closed.Notify();
  });
  EXPECT_TRUE(Eventually([&] {
    Beat(0, 1);
    return closed.HasBeenNotified();
  }));
  closing.join();
}

TEST_F(ExchangeTableTest, WhoAwaitsAPieceSaysSo) {
  GiveBroadcast();
  transports_[1]->HoldResponses("CollectivePiece");
  const auto got = AddBoth(CollectiveSpec::Kind::kBroadcast, 1);
  ASSERT_TRUE(Eventually([this] { return transports_[1]->num_held() == 1; }));
  EXPECT_TRUE(tables_[1]->Awaits(Name(0)));
  EXPECT_FALSE(tables_[0]->Awaits(Name(1)));
  transports_[1]->ReleaseResponses();
  ASSERT_TRUE(Eventually(got->done));
  EXPECT_FALSE(tables_[1]->Awaits(Name(0)));
}

TEST_F(ExchangeTableTest, WhoAsksATaskWithoutMembersIsToldSo) {
  const auto got = AddBoth(CollectiveSpec::Kind::kGather, 0);
  ASSERT_TRUE(Eventually([this] { return tables_[1]->size() == 1; }));
  Beat(1, kSilence);
  ASSERT_TRUE(Eventually(got->done));
  EXPECT_EQ(got->status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(got->status.message()), HasSubstr(Name(1)));
  for (int task = 0; task < 2; ++task) {
    Beat(task, kSilence);
    EXPECT_EQ(tables_[task]->size(), 0) << task;
  }
}

TEST_F(ExchangeTableTest, AnErrorIsToldToWhoAsksLater) {
  const auto leaver = Add(CollectiveSpec::Kind::kReduce, 1, 0);
  tables_[1]->Cancel(leaver.get());
  const auto got = AddBoth(CollectiveSpec::Kind::kReduce, 0);
  ASSERT_TRUE(Eventually(got->done));
  EXPECT_EQ(got->status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(got->status.message()), HasSubstr(Name(1)));
}

TEST_F(ExchangeTableTest, AfterTheEndOfTheTaskAllIsRefused) {
  tables_[1]->Stop(absl::UnavailableError("the task has stopped"));
  const auto got = AddBoth(CollectiveSpec::Kind::kReduce, 0);
  ASSERT_TRUE(Eventually(got->done));
  EXPECT_EQ(got->status.code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace millstream
