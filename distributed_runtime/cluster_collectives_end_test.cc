// Tasks whose programs end when they have the result of a collective operation.
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "distributed_runtime/testing/collectives_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class ClusterCollectivesEndTest : public ClusterCollectivesTest {
 protected:
  // Runs on a thread of its own, and expects no error.
  std::thread Start(int task, const Output& fetch) {
    return std::thread([this, task, fetch] {
      const Status status = RunOn(task, fetch).status();
      EXPECT_TRUE(status.ok()) << status;
    });
  }
};

TEST_F(ClusterCollectivesEndTest, AServerThatStopsGivesWhatOthersHaveStillToAskFor) {
  const Output sent = Broadcast(1, 20001, true);
  const Output received = Broadcast(0, 20001, false);
  transports_[0]->HoldRequests("CollectivePiece");
  std::thread receiver([&] {
    const auto got = RunOn(0, received);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(Elements<float>((*got)[0]), Values(20001, 7));
  });
  EXPECT_TRUE(RunOn(1, sent).ok());
  std::thread stopping([&] { servers_[1]->Stop(); });
  // It waits with the tensor, which would be gone otherwise before the other one asks.
  EXPECT_TRUE(Eventually([&] { return servers_[1]->worker()->collectives()->num_owing() == 1; }));
  EXPECT_TRUE(servers_[1]->Join(kHangGuard));
  transports_[0]->ReleaseRequests();
  receiver.join();
  stopping.join();
}

TEST_F(ClusterCollectivesEndTest, AServerThatStopsWaitsUntilItsPiecesHaveArrived) {
  const Output sent = Broadcast(1, 20001, true);
  const Output received = Broadcast(0, 20001, false);
  transports_[0]->HoldResponses("CollectivePiece");
  std::thread receiver = Start(0, received);
  EXPECT_TRUE(RunOn(1, sent).ok());
  std::thread stopping([&] { servers_[1]->Stop(); });
  // It asks until they have.
  EXPECT_TRUE(Eventually([&] { return transports_[1]->Count("Farewell") > 2; }));
  transports_[0]->ReleaseResponses();
  receiver.join();
  stopping.join();
}

TEST_F(ClusterCollectivesEndTest, ALeaderThatStopsWaitsUntilItsAnswersHaveArrived) {
  const std::vector<Output> sums = {Reduce(0, 0, Numbers(0, 0, 3, 1), 2),
                                    Reduce(1, 0, Numbers(1, 0, 3, 2), 2)};
  transports_[1]->HoldResponses("JoinCollective");
  std::thread member = Start(1, sums[1]);
  EXPECT_TRUE(RunOn(0, sums[0]).ok());
  std::thread stopping([&] { servers_[0]->Stop(); });
  EXPECT_TRUE(Eventually([&] { return transports_[0]->Count("Farewell") > 2; }));
  transports_[1]->ReleaseResponses();
  member.join();
  stopping.join();
}

TEST_F(ClusterCollectivesEndTest, AServerThatStopsDoesNotWaitForATaskThatIsGone) {
  const Output sent = Broadcast(0, 20001, true);
  const Output received = Broadcast(1, 20001, false);
  transports_[1]->HoldResponses("JoinCollective");
  std::thread receiver([&] { EXPECT_FALSE(RunOn(1, received).ok()); });
  EXPECT_TRUE(RunOn(0, sent).ok());
  servers_[1]->Stop();
  receiver.join();
  absl::Notification stopped;
  std::thread stopping([&] {
    servers_[0]->Stop();
    stopped.Notify();
  });
  EXPECT_TRUE(Eventually([&] {
    servers_[0]->worker()->Beat();
    return stopped.HasBeenNotified();
  }));
  stopping.join();
  transports_[1]->ReleaseResponses();
}

TEST_F(ClusterCollectivesEndTest, ATaskThatIsSilentHoldsUpNoEndForLong) {
  const Output sent = Broadcast(1, 20001, true);
  const Output received = Broadcast(0, 20001, false);
  transports_[0]->HoldResponses("CollectivePiece");
  std::thread receiver = Start(0, received);
  EXPECT_TRUE(RunOn(1, sent).ok());
  EXPECT_TRUE(Eventually([&] { return transports_[0]->num_held() == 1; }));
  transports_[1]->Set(Fault::kLost);
  servers_[1]->worker()->collectives()->Close(absl::Milliseconds(20));
  EXPECT_GE(transports_[1]->Count("Farewell"), 1);
  transports_[1]->Set(Fault::kNone);
  transports_[0]->ReleaseResponses();
  receiver.join();
}

TEST_F(ClusterCollectivesEndTest, ATaskThatStopsRefusesMembersAndOtherRequests) {
  servers_[0]->worker()->Stop();
  const Output sum = Reduce(1, 0, Numbers(1, 0, 1, 1), 2);
  ExpectError(RunOn(1, sum).status(), absl::StatusCode::kUnavailable,
              {"/job:worker/replica:0/task:0 has stopped"});
  ExpectError(TryOpen(1).status(), absl::StatusCode::kUnavailable,
              {"/job:worker/replica:0/task:0 has stopped"});
}

}  // namespace
}  // namespace millstream
