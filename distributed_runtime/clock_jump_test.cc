// Clusters on a machine whose clock is set back by an hour: what waits by that clock waits an hour
// longer.
#include <memory>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "distributed_runtime/loopback_transport.h"
#include "distributed_runtime/pulse.h"
#include "distributed_runtime/testing/cluster_fixture.h"
#include "framework/steady_time.h"
#include "framework/testing/moved_clock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr absl::Duration kJump = absl::Hours(1);

class ClockJumpTest : public ClusterTest {
 protected:
  ClockJumpTest() { SteadyNow(); }

  void ExpectTimeLimit(const Output& waiting, std::unique_ptr<Session> opened) {
    session = std::move(opened);
    RunOptions options;
    options.timeout_ms = 50;
    const MovedClock clock(kJump);
    const Status status = Run({waiting}, {}, {}, options).status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  }
};

TEST_F(ClockJumpTest, HeartsGoOnBeating) {
  const MovedClock clock(kJump);
  absl::Notification beaten;
  const Pulse pulse(absl::Milliseconds(10), [&] {
    if (!beaten.HasBeenNotified()) beaten.Notify();
  });
  beaten.WaitForNotification();
}

// Programs join in turns, between which they see signals.
TEST_F(ClockJumpTest, AJoinEndsWithItsPatience) {
  const MovedClock clock(kJump);
  EXPECT_FALSE(servers_[0]->Join(absl::Milliseconds(20)));
}

TEST_F(ClockJumpTest, ARequestThatIsLostEndsAtItsDeadline) {
  auto channel = transports_[0]->Connect(servers_[1]->target().substr(7));
  ASSERT_EQ(channel.status(), absl::OkStatus());
  transports_[0]->Set(Fault::kLost);
  const MovedClock clock(kJump);
  const absl::Time deadline = SteadyNow() + absl::Milliseconds(20);
  const Status status = CallAndWait(channel->get(), "ReadClock", Payload(), deadline).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_GE(SteadyNow(), deadline);
}

TEST_F(ClockJumpTest, AStepOfSeveralTasksEndsAtItsTimeLimit) {
  ExpectTimeLimit(On(0, "Neg", {FromEmptyQueue(1)}), Open(0));
}

TEST_F(ClockJumpTest, AStepOfOneTaskEndsAtItsTimeLimit) {
  ExpectTimeLimit(FromEmptyQueue(0), Open(0));
}

TEST_F(ClockJumpTest, AStepWithoutAClusterEndsAtItsTimeLimit) {
  const GraphBuilder::Attrs attrs = {{"component_types", DataTypeList{DataType::kFloat}}};
  const Output element = Op("QueueDequeueV2", {Op("FIFOQueueV2", {}, attrs)}, attrs);
  StartSession();
  ExpectTimeLimit(element, std::move(session));
}

}  // namespace
}  // namespace millstream
