// Who has the turn, by threads that take it without any events of gRPC.
#include "distributed_runtime/grpc/turn.h"

#include <atomic>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "framework/testing/moved_clock.h"
#include "gtest/gtest.h"

namespace millstream::network {
namespace {

using Reason = Turn::Reason;

gpr_timespec Past() { return gpr_inf_past(GPR_CLOCK_MONOTONIC); }
gpr_timespec Future() { return gpr_inf_future(GPR_CLOCK_MONOTONIC); }

// A background thread that takes the turn once.
class Background {
 public:
  explicit Background(Turn* turn)
      : thread_([this, turn] { number_ = turn->AwaitInBackground(); }) {}
  ~Background() {
    if (thread_.joinable()) thread_.join();
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Waits until it has the turn, or must end.
  Turn::Number Await() {
    thread_.join();
    return number_;
  }

 private:
  Turn::Number number_ = 0;  // the thread's until it has ended
  std::thread thread_;
};

TEST(TurnTest, OneThreadHasIt) {
  Turn turn;
  const Turn::Number first = turn.TakeToHelp(Past());
  ASSERT_NE(first, 0);
  EXPECT_EQ(turn.TakeToHelp(Future()), 0) << "another helper reads";
  turn.Give(first, Reason::kHasAnswer);
  const Turn::Number second = turn.TakeToHelp(Past());
  EXPECT_NE(second, 0) << "it rests, but not for helpers";
  EXPECT_NE(second, first);
  turn.Give(first, Reason::kHasAnswer);  // which that thread has no more
  EXPECT_EQ(turn.TakeToHelp(Past()), 0);
}

TEST(TurnTest, ABackgroundThreadTakesOverFromAHelper) {
  for (const Reason reason : {Reason::kHasAnswer, Reason::kReadsNoMore, Reason::kWorks}) {
    Turn turn;
    const Turn::Number help = turn.TakeToHelp(Past());
    Background background(&turn);
    turn.Give(help, reason);
    EXPECT_NE(background.Await(), 0);
  }
}

TEST(TurnTest, AHelperDoesNotWaitForABackgroundThreadThatReadsForTooLong) {
  Turn turn;
  const Turn::Number reading = turn.AwaitInBackground();
  ASSERT_NE(reading, 0);
  EXPECT_EQ(turn.TakeToHelp(Past()), 0);
  turn.BeginCompletion(reading);
  EXPECT_TRUE(turn.EndCompletion(reading)) << "nobody waits for it";
}

TEST(TurnTest, AHelperThatWaitsHasTheTurnAfterTheNextEvent) {
  Turn turn;
  const Turn::Number reading = turn.AwaitInBackground();
  std::atomic<bool> has_helped{false};
  std::thread helper([&] {
    const Turn::Number help = turn.TakeToHelp(Future());
    has_helped = help != 0;
    turn.Give(help, Reason::kHasAnswer);
  });
  // Until the helper waits, events do not end the turn.
  do {
    turn.BeginCompletion(reading);
  } while (turn.EndCompletion(reading));
  helper.join();
  EXPECT_TRUE(has_helped);
}

TEST(TurnTest, ALongCompletionLosesTheTurn) {
  for (const bool is_helper : {true, false}) {
    Turn turn;
    const Turn::Number first = is_helper ? turn.TakeToHelp(Past()) : turn.AwaitInBackground();
    Background background(&turn);
    turn.BeginCompletion(first);
    const Turn::Number second = background.Await();
    EXPECT_NE(second, 0);
    EXPECT_NE(second, first);
    EXPECT_FALSE(turn.EndCompletion(first));
    turn.BeginCompletion(second);
    EXPECT_TRUE(turn.EndCompletion(second));
  }
}

TEST(TurnTest, ALongCompletionLosesTheTurnWhenTheClockIsSetBack) {
  const MovedClock clock(absl::Hours(1));
  Turn turn;
  const Turn::Number first = turn.TakeToHelp(Past());
  Background background(&turn);
  turn.BeginCompletion(first);
  EXPECT_NE(background.Await(), 0);
  EXPECT_FALSE(turn.EndCompletion(first));
}

TEST(TurnTest, ACompletionThatGaveTheTurnAwayDoesNotEndThatOfAnother) {
  Turn turn;
  const Turn::Number first = turn.AwaitInBackground();
  turn.BeginCompletion(first);
  turn.Give(first, Reason::kReadsNoMore);
  const Turn::Number second = turn.AwaitInBackground();
  EXPECT_NE(second, 0);
  EXPECT_FALSE(turn.EndCompletion(first));
  turn.BeginCompletion(second);
  EXPECT_TRUE(turn.EndCompletion(second));
}

TEST(TurnTest, AThreadIsStartedWhereNoneWaits) {
  Turn turn;
  const Turn::Number first = turn.AwaitInBackground();
  EXPECT_TRUE(turn.BeginCompletion(first));
  EXPECT_TRUE(turn.EndCompletion(first));
  EXPECT_FALSE(turn.BeginCompletion(first)) << "it is being started";
  turn.HasNotStarted();
  EXPECT_TRUE(turn.BeginCompletion(first));
  turn.Give(first, Reason::kWorks);
  const Turn::Number second = turn.AwaitInBackground();  // the new thread
  EXPECT_NE(second, 0);
  EXPECT_TRUE(turn.BeginCompletion(second));
}

TEST(TurnTest, AThreadEndsWhereEnoughWait) {
  constexpr int kThreads = 10;
  constexpr int kWait = 4;
  Turn turn;
  const Turn::Number help = turn.TakeToHelp(Past());
  std::atomic<int> ended{0};
  std::atomic<int> read{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const Turn::Number number = turn.AwaitInBackground();
      ++(number == 0 ? ended : read);
      turn.Give(number, Reason::kReadsNoMore);
    });
  }
  while (ended < kThreads - kWait) std::this_thread::yield();
  EXPECT_EQ(read, 0);
  turn.Give(help, Reason::kReadsNoMore);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read, kWait);
}

}  // namespace
}  // namespace millstream::network
