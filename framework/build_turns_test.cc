#include "framework/build_turns.h"

#include <atomic>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using Turns = BuildTurns<int>;

constexpr int kThreads = 4;

// Takes a turn for the key on a thread of its own, and says so.
class OtherBuilder {
 public:
  OtherBuilder(Turns* turns, int key)
      : thread_([this, turns, key] {
          const Turns::Turn turn(turns, key);
          has_turn_.Notify();
        }) {}
  ~OtherBuilder() { thread_.join(); }
  bool HasTurn() const { return has_turn_.HasBeenNotified(); }
  ::testing::AssertionResult GetsTurn() const { return Eventually(has_turn_); }

 private:
  absl::Notification has_turn_;
  std::thread thread_;
};

// A thread that is asked several times whether it goes on gets the turn after `turn`, and not
// before.
void ExpectTheNextWaitsForTheEnd(Turns* turns, int key, Turns::Turn* turn) {
  std::atomic<int> calls{0};
  absl::Notification has_turn;
  std::thread other([&] {
    const Turns::Turn later(turns, key, [&calls] {
      ++calls;
      return absl::OkStatus();
    });
    EXPECT_EQ(later.status(), absl::OkStatus());
    has_turn.Notify();
  });
  EXPECT_TRUE(Eventually([&calls] { return calls > 2; }));
  EXPECT_FALSE(has_turn.HasBeenNotified());
  turn->End();
  EXPECT_TRUE(Eventually(has_turn));
  other.join();
}

TEST(BuildTurnsTest, AKeyIsBuiltByOneThreadAtATime) {
  Turns turns;
  std::atomic<int> builders{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const int key = 7;
        const Turns::Turn turn(&turns, key);
        const int now = ++builders;
        if (now > most) most = now;
        --builders;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST(BuildTurnsTest, DifferentKeysDoNotWait) {
  Turns turns;
  const int key = 1;
  const Turns::Turn turn(&turns, key);
  const OtherBuilder other(&turns, 2);
  EXPECT_TRUE(other.GetsTurn());
}

TEST(BuildTurnsTest, TheNextThreadGetsTheTurnWhenItEnds) {
  Turns turns;
  const int key = 1;
  Turns::Turn turn(&turns, key);
  const OtherBuilder other(&turns, key);
  EXPECT_FALSE(other.HasTurn());
  turn.End();
  EXPECT_TRUE(other.GetsTurn());
  turn.End();  // a second time
}

TEST(BuildTurnsTest, AThreadMayStopWaiting) {
  Turns turns;
  const int key = 1;
  Turns::Turn turn(&turns, key);
  int calls = 0;
  Status stopped;
  std::thread other([&] {
    const Turns::Turn never(&turns, key, [&calls] {
      return ++calls < 3 ? absl::OkStatus() : absl::CancelledError("enough");
    });
    stopped = never.status();
  });
  other.join();
  EXPECT_EQ(stopped, absl::CancelledError("enough"));
  EXPECT_EQ(calls, 3);
  const OtherBuilder next(&turns, key);
  EXPECT_FALSE(next.HasTurn()) << "the first turn has not ended";
  turn.End();
  EXPECT_TRUE(next.GetsTurn());
}

TEST(BuildTurnsTest, AThreadThatIsAskedWhetherToGoOnGetsTheTurnWhenItEnds) {
  Turns turns;
  const int key = 1;
  Turns::Turn turn(&turns, key);
  ExpectTheNextWaitsForTheEnd(&turns, key, &turn);
}

TEST(BuildTurnsTest, AThreadMayTakeAnotherTurnAfterTheEndOfIts) {
  Turns turns;
  const int key = 1;
  Turns::Turn turn(&turns, key);
  turn.End();
  {
    const Turns::Turn inner(&turns, key);
    turn.End();  // does not end the inner one
    const OtherBuilder other(&turns, 2);
    EXPECT_TRUE(other.GetsTurn());
  }
  const OtherBuilder other(&turns, key);
  EXPECT_TRUE(other.GetsTurn());
}

// What a builder does while it calls code that may want the same value.
TEST(BuildTurnsTest, AThreadMayTakeATurnThatItLends) {
  Turns turns;
  const int key = 1;
  Turns::Turn turn(&turns, key);
  const int result = turn.Lend([&] {
    const Turns::Turn inner(&turns, key);
    return 7;
  });
  EXPECT_EQ(result, 7);
}

TEST(BuildTurnsTest, AThreadThatWaitsTakesATurnThatStaysLent) {
  Turns turns;
  const int key = 1;
  Turns::Turn turn(&turns, key);
  const OtherBuilder before(&turns, key);
  turn.Lend([&] {
    const OtherBuilder meanwhile(&turns, key);
    EXPECT_TRUE(before.GetsTurn());
    EXPECT_TRUE(meanwhile.GetsTurn());
  });
}

TEST(BuildTurnsTest, ATurnThatWasLentIsItsThreadsAgain) {
  Turns turns;
  const int key = 1;
  Turns::Turn turn(&turns, key);
  turn.Lend([&] { const Turns::Turn inner(&turns, key); });
  ExpectTheNextWaitsForTheEnd(&turns, key, &turn);
}

TEST(BuildTurnsTest, ATurnThatHasEndedLendsNothing) {
  Turns turns;
  const int key = 1;
  Turns::Turn turn(&turns, key);
  turn.End();
  turn.Lend([&] {
    const OtherBuilder other(&turns, key);
    EXPECT_TRUE(other.GetsTurn());
  });
}

}  // namespace
}  // namespace millstream
