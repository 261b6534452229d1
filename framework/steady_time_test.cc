#include "framework/steady_time.h"

#include <ctime>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "framework/testing/moved_clock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// The kernel wakes by the true clock: a wait until a time of a clock that was set back lasts longer
// by as much. The tests would take an hour.
constexpr absl::Duration kJump = absl::Hours(1);

TEST(SteadyTimeTest, GoesOnEvenlyWhenTheClockJumps) {
  const absl::Time before = SteadyNow();
  absl::Time moved;
  {
    const MovedClock clock(kJump);
    const bool has_jumped = absl::Now() > SteadyNow() + kJump / 2;
    EXPECT_TRUE(has_jumped);
    moved = SteadyNow();
  }
  EXPECT_GE(moved, before);
  EXPECT_LT(moved, before + kJump / 2);
}

TEST(SteadyTimeTest, AWaitEndsAtItsDeadlineWhenTheClockJumps) {
  SteadyNow();
  const MovedClock clock(kJump);
  absl::Mutex mutex;
  SteadyCondVar changed;
  absl::MutexLock lock(&mutex);
  const absl::Time deadline = SteadyNow() + absl::Milliseconds(20);
  EXPECT_FALSE(changed.Await(&mutex, deadline, [] { return false; }));
  EXPECT_GE(SteadyNow(), deadline);
}

TEST(SteadyTimeTest, ADeadlineInThePastDoesNotWait) {
  absl::Mutex mutex;
  SteadyCondVar changed;
  absl::MutexLock lock(&mutex);
  EXPECT_FALSE(changed.WaitUntil(&mutex, SteadyNow() - absl::Hours(1)));
  EXPECT_FALSE(changed.WaitUntil(&mutex, absl::InfinitePast()));
  EXPECT_TRUE(changed.Await(&mutex, absl::InfinitePast(), [] { return true; }));
}

TEST(SteadyTimeTest, SignalsOfManyThreadsAreNotLost) {
  constexpr int kRounds = 2000;
  absl::Mutex mutex;
  SteadyCondVar changed;
  int turn = 0;  // guarded by mutex
  const auto play = [&](int self) {
    absl::MutexLock lock(&mutex);
    for (int i = 0; i < kRounds; ++i) {
      changed.Await(&mutex, absl::InfiniteFuture(), [&] { return turn % 3 == self; });
      ++turn;
      changed.SignalAll();
    }
  };
  std::thread first(play, 0);
  std::thread second(play, 1);
  play(2);
  first.join();
  second.join();
  EXPECT_EQ(turn, 3 * kRounds);
}

TEST(SteadyTimeTest, OneSignalWakesOneWaiter) {
  absl::Mutex mutex;
  SteadyCondVar changed;
  int tokens = 0;  // guarded by mutex
  const auto take = [&] {
    absl::MutexLock lock(&mutex);
    while (tokens == 0) changed.Wait(&mutex);
    --tokens;
  };
  std::thread first(take);
  std::thread second(take);
  for (int i = 0; i < 2; ++i) {
    absl::MutexLock lock(&mutex);
    ++tokens;
    changed.Signal();
  }
  first.join();
  second.join();
  EXPECT_EQ(tokens, 0);
}

}  // namespace
}  // namespace millstream
