#include "core/session/session_gate.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "core/graph/fork_guard.h"
#include "core/testing/fork.h"
#include "framework/steady_time.h"
#include "framework/testing/hang_guard.h"
#include "framework/testing/moved_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(SessionGateTest, StepsPassUntilItIsClosed) {
  int released = 0;
  SessionGate gate([&] { ++released; });
  {
    const SessionGate::Pass first(&gate);
    const SessionGate::Pass second(&gate);
    EXPECT_EQ(first.status(), absl::OkStatus());
    EXPECT_EQ(second.status(), absl::OkStatus());
  }
  EXPECT_EQ(released, 0);
  gate.Close();
  EXPECT_EQ(released, 1);
  const SessionGate::Pass late(&gate);
  EXPECT_EQ(late.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(late.status().message()), HasSubstr("the session is closed"));
  gate.Close();
  EXPECT_EQ(released, 1);
}

TEST(SessionGateTest, ClosingFromInsideAStepIsDoneByTheLastOne) {
  int released = 0;
  SessionGate gate([&] { ++released; });
  {
    std::optional<SessionGate::Pass> other;
    other.emplace(&gate);
    {
      const SessionGate::Pass pass(&gate);
      EXPECT_TRUE(gate.IsInside());
      gate.Close();
      gate.Close();
      EXPECT_EQ(released, 0);
    }
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  EXPECT_FALSE(gate.IsInside());
}

TEST(SessionGateTest, AStepOfAnotherSessionIsNotInside) {
  SessionGate outer([] {});
  SessionGate inner([] {});
  const SessionGate::Pass outer_pass(&outer);
  {
    const SessionGate::Pass inner_pass(&inner);
    EXPECT_TRUE(outer.IsInside());
    EXPECT_TRUE(inner.IsInside());
  }
  EXPECT_FALSE(inner.IsInside());
  inner.Close();
  std::thread([&] { EXPECT_FALSE(outer.IsInside()); }).join();
}

TEST(SessionGateTest, AThreadOfAPoolIsInsideWhileItWorksForAStep) {
  int released = 0;
  SessionGate gate([&] { ++released; });
  {
    const SessionGate::Pass pass(&gate);
    std::thread([&] {
      const SessionGate::Inside inside(&gate);
      gate.Close();  // would wait for the step, which waits for this thread
    }).join();
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(SessionGateTest, ShuttingWaitsForNobody) {
  int released = 0;
  SessionGate busy([&] { ++released; });
  std::thread([&] {
    const SessionGate::Pass step(&busy);
    std::thread([&] { busy.Shut(); }).join();
    EXPECT_EQ(released, 0);
  }).join();
  EXPECT_EQ(released, 1);
  SessionGate idle([&] { ++released; });
  idle.Shut();
  EXPECT_EQ(released, 2);
  EXPECT_FALSE(SessionGate::Pass(&idle).status().ok());
}

TEST(SessionGateTest, ClosingWaitsForTheStepsOfOthers) {
  std::atomic<bool> released{false};
  std::atomic<bool> left{false};
  SessionGate gate([&] {
    EXPECT_TRUE(left);
    released = true;
  });
  std::atomic<bool> entered{false};
  std::thread runner([&] {
    const SessionGate::Pass pass(&gate);
    entered = true;
    EXPECT_TRUE(Eventually([&] { return !SessionGate::Pass(&gate).status().ok(); }));
    EXPECT_FALSE(released) << "it is closed, and waits";
    left = true;
  });
  while (!entered) std::this_thread::yield();
  gate.Close();
  EXPECT_TRUE(released);
  runner.join();
}

void ExpectSaysSoOnce() {
  SessionGate gate([] {});
  std::atomic<bool> entered{false};
  std::atomic<bool> may_leave{false};
  std::thread runner([&] {
    const SessionGate::Pass pass(&gate);
    entered = true;
    while (!may_leave) std::this_thread::yield();
  });
  while (!entered) std::this_thread::yield();
  int said = 0;
  gate.Close(absl::Milliseconds(1), [&] {
    ++said;
    EXPECT_FALSE(gate.HasReleased());
    may_leave = true;
    runner.join();
  });
  EXPECT_TRUE(gate.HasReleased());
  EXPECT_EQ(said, 1);
  gate.Close(absl::ZeroDuration(), [&] { ++said; });
  EXPECT_EQ(said, 1) << "there was nobody to wait for";
}

TEST(SessionGateTest, ClosingThatTakesLongSaysSoOnceAndLetsStepsLeave) { ExpectSaysSoOnce(); }

// What waits by a clock that was set back by an hour waits an hour longer.
TEST(SessionGateTest, ClosingThatTakesLongSaysSoWhateverTheClockOfTheSystemDoes) {
  SteadyNow();  // its first time is before the jump
  const MovedClock clock(absl::Hours(1));
  ExpectSaysSoOnce();
}

// What a C caller does who frees a session on one thread as the last step ends on another: nobody
// may touch the gate after it is gone, which the sanitizers see.
TEST(SessionGateTest, MayBeFreedAtTheMomentTheLastStepLeaves) {
  for (int i = 0; i < 2000; ++i) {
    auto owned = std::make_unique<SessionGate>([] {});
    SessionGate* const gate = owned.release();
    std::atomic<bool> entered{false};
    std::thread runner([&] {
      const SessionGate::Pass pass(gate);
      entered = true;
    });
    while (!entered) std::this_thread::yield();
    gate->Free([gate] { delete gate; });
    runner.join();
  }
}

TEST(SessionGateTest, FreedFromInsideItGoesWithTheLastStep) {
  bool destroyed = false;
  auto* const gate = new SessionGate([] {});
  {
    const SessionGate::Pass pass(gate);
    gate->Free([&] {
      destroyed = true;
      delete gate;
    });
    EXPECT_FALSE(destroyed);
  }
  EXPECT_TRUE(destroyed);
}

TEST(SessionGateTest, AForkedChildGetsASentence) {
  SessionGate gate([] {});
  ForkGuard::Arm();
  EXPECT_FALSE(ForkGuard::Forked());
  std::atomic<bool> stop{false};
  std::atomic<bool> entered{false};
  std::thread runner([&] {
    const SessionGate::Pass pass(&gate);
    entered = true;
    while (!stop) std::this_thread::yield();
  });
  while (!entered) std::this_thread::yield();
  EXPECT_TRUE(InChild([&] {
    const SessionGate::Pass pass(&gate);
    return absl::IsFailedPrecondition(pass.status()) &&
           std::string(pass.status().message()).find("forked") != std::string::npos;
  }));
  // The parent's step never ends here.
  EXPECT_TRUE(InChild([&] {
    gate.Close();
    return true;
  }));
  EXPECT_TRUE(InChild([&] {
    bool destroyed = false;
    gate.Free([&] { destroyed = true; });
    return !destroyed;
  }));
  stop = true;
  runner.join();
  const SessionGate::Pass pass(&gate);
  EXPECT_EQ(pass.status(), absl::OkStatus());
}

}  // namespace
}  // namespace millstream
