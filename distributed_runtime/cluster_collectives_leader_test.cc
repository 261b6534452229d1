// Members of collective operations that come before the task does where they meet.
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "distributed_runtime/testing/collectives_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// The first task leads, and the member is of the second.
class ClusterCollectivesLeaderTest : public ClusterCollectivesTest {
 protected:
  void Beat(int count) {
    for (int i = 0; i < count; ++i) servers_[1]->worker()->Beat();
  }
  // The member tries it again with each heartbeat.
  bool HasTried(int times) { return transports_[1]->Count("JoinCollective") >= times; }
  void ExpectSum(const StatusOr<std::vector<Tensor>>& got, const std::vector<float>& expected) {
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(Elements<float>((*got)[0]), expected);
  }
};

TEST_F(ClusterCollectivesLeaderTest, AMemberWaitsForALeaderThatHasNotComeUp) {
  for (const int64_t size : {3, 20001}) {
    const std::vector<Output> sums = {Reduce(0, 0, Numbers(0, 0, size, 1), 2),
                                      Reduce(1, 0, Numbers(1, 0, size, 2), 2)};
    std::vector<float> expected = Values(size, 1);
    const std::vector<float> other = Values(size, 2);
    for (int64_t i = 0; i < size; ++i) expected[i] += other[i];
    servers_[0].reset();
    servers_[1].reset();
    servers_[1] = Start(1);  // which has not heard of the leader
    absl::Notification done;
    std::thread member([&] {
      ExpectSum(RunOn(1, sums[1]), expected);
      done.Notify();
    });
    EXPECT_TRUE(Eventually([&] { return HasTried(1); }));
    EXPECT_TRUE(Eventually([&] {
      Beat(1);
      return HasTried(10);  // longer than a task that was there is waited for
    }));
    EXPECT_FALSE(done.HasBeenNotified());
    servers_[0] = Start(0);
    std::thread heart([&] {
      EXPECT_TRUE(Eventually([&] {
        Beat(1);
        return done.HasBeenNotified();
      }));
    });
    ExpectSum(RunOn(0, sums[0]), expected);
    member.join();
    heart.join();
  }
}

TEST_F(ClusterCollectivesLeaderTest, TheTimeLimitEndsTheWaitAndTheErrorNamesTheLeader) {
  const Output sum = Reduce(1, 0, Numbers(1, 0, 1, 1), 2);
  servers_[0].reset();
  ExpectError(RunOn(1, sum, 50).status(), absl::StatusCode::kDeadlineExceeded,
              {"/job:worker/replica:0/task:0, where members of collective group 1, instance 0 meet",
               "has not come up as yet"});
  transports_[1]->ForgetCounts();
  Beat(2);
  EXPECT_FALSE(HasTried(1));
}

TEST_F(ClusterCollectivesLeaderTest, ATaskThatStopsEndsTheWait) {
  const Output sum = Reduce(1, 0, Numbers(1, 0, 1, 1), 2);
  servers_[0].reset();
  std::thread member([&] { EXPECT_FALSE(RunOn(1, sum).ok()); });
  EXPECT_TRUE(Eventually([&] { return HasTried(1); }));
  servers_[1]->Stop();
  member.join();
}

TEST_F(ClusterCollectivesLeaderTest, ALeaderThatHasAnsweredAndIsGoneIsNotAwaited) {
  const std::vector<Output> sums = {Reduce(0, 0, Numbers(0, 0, 1, 1), 2),
                                    Reduce(1, 0, Numbers(1, 0, 1, 1), 2)};
  std::thread member([&] { EXPECT_TRUE(RunOn(1, sums[1]).ok()); });
  EXPECT_TRUE(RunOn(0, sums[0]).ok());
  member.join();
  servers_[0].reset();
  ExpectError(RunOn(1, sums[1]).status(), absl::StatusCode::kUnavailable,
              {"/job:worker/replica:0/task:0"});
}

// It has not answered the member, but has been asked whether it is there.
TEST_F(ClusterCollectivesLeaderTest, ALeaderThatIsLostBeforeTheFirstMeetingIsNotAwaited) {
  const Output sum = Reduce(1, 0, Numbers(1, 0, 1, 1), 2);
  std::thread member([&] {
    ExpectError(RunOn(1, sum).status(), absl::StatusCode::kUnavailable,
                {"/job:worker/replica:0/task:0"});
  });
  {
    const ResourceRef<ClusterCollectives> leader = servers_[0]->worker()->collectives();
    EXPECT_TRUE(Eventually([&] { return HasArrived(leader, 2, 1); }));
  }
  servers_[0].reset();
  member.join();
}

// A process that has never answered, and is stopped: nobody is told.
TEST_F(ClusterCollectivesLeaderTest, ALeaderThatTakesRequestsAndNeverAnswersIsLost) {
  const Output sum = Reduce(1, 0, Numbers(1, 0, 1, 1), 2);
  transports_[1]->Set(Fault::kLost);
  for (int i = 0; i < 2; ++i) {
    transports_[1]->ForgetCounts();
    std::thread heart([&] {
      EXPECT_TRUE(Eventually([&] { return HasTried(1); }));
      Beat(5);
    });
    ExpectError(RunOn(1, sum).status(), absl::StatusCode::kUnavailable,
                {"/job:worker/replica:0/task:0", "does not answer"});
    heart.join();
  }
}

// Whose connection says so, after some heartbeats of its own.
TEST_F(ClusterCollectivesLeaderTest, ALeaderWhoseConnectionBreaksHasComeUp) {
  const Output sum = Reduce(1, 0, Numbers(1, 0, 1, 1), 2);
  for (const Fault fault : {Fault::kBroken, Fault::kRefused}) {
    transports_[1]->Set(fault);
    ExpectError(RunOn(1, sum).status(), absl::StatusCode::kUnavailable,
                {"/job:worker/replica:0/task:0"});
  }
}

// Silence is counted anew when somebody says that nobody is there.
TEST_F(ClusterCollectivesLeaderTest, SilenceBeforeALeaderIsRefusedDoesNotCount) {
  const Output sum = Reduce(1, 0, Numbers(1, 0, 1, 1), 2);
  transports_[1]->Set(Fault::kLost);
  std::thread heart([&] {
    EXPECT_TRUE(Eventually([&] { return HasTried(1); }));
    Beat(3);
    transports_[1]->Set(Fault::kRefused);
    Beat(1);  // asks for whom the member waits
    transports_[1]->Set(Fault::kLost);
    Beat(4);
    EXPECT_EQ(transports_[1]->Count("LeaveCollective"), 0) << "the member was told an error";
    Beat(1);
  });
  ExpectError(RunOn(1, sum).status(), absl::StatusCode::kUnavailable,
              {"/job:worker/replica:0/task:0", "does not answer"});
  heart.join();
}

}  // namespace
}  // namespace millstream
