#include "framework/plugin/check/silence.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream::plugin_check {
namespace {

using ::testing::IsEmpty;

constexpr absl::Duration kPatience = absl::Seconds(10);
constexpr absl::Duration kStart = absl::Seconds(100);

Activity Idle(int64_t processor_ticks = 0) { return {false, processor_ticks}; }
Activity Runnable(int64_t processor_ticks = 0) { return {true, processor_ticks}; }

TEST(SilenceTest, IdleForThePatienceIsAHang) {
  Silence silence(kPatience, kStart);
  for (int second = 1; second < 10; ++second) {
    EXPECT_THAT(silence.HangAt(kStart + absl::Seconds(second), Idle()), IsEmpty()) << second;
  }
  EXPECT_EQ(silence.HangAt(kStart + absl::Seconds(10), Idle()), "hung: nothing happened for 10s");
}

TEST(SilenceTest, WhatWaitsForAProcessorDoesNotHang) {
  Silence silence(kPatience, kStart);
  for (int second = 1; second < 100; ++second) {
    EXPECT_THAT(silence.HangAt(kStart + absl::Seconds(second), Runnable()), IsEmpty()) << second;
  }
  EXPECT_EQ(silence.HangAt(kStart + absl::Seconds(100), Runnable()),
            "hung: it said nothing for 1m40s");
}

TEST(SilenceTest, WhatHasUsedTimeBetweenLooksDoesNotHang) {
  Silence silence(kPatience, kStart);
  for (int second = 1; second < 100; ++second) {
    EXPECT_THAT(silence.HangAt(kStart + absl::Seconds(second), Idle(second)), IsEmpty()) << second;
  }
}

TEST(SilenceTest, IdleTimeBeginsAgainAfterWork) {
  Silence silence(kPatience, kStart);
  for (int second = 1; second < 10; ++second) {
    silence.HangAt(kStart + absl::Seconds(second), Idle());
  }
  EXPECT_THAT(silence.HangAt(kStart + absl::Seconds(10), Idle(1)), IsEmpty());
  for (int second = 11; second < 20; ++second) {
    EXPECT_THAT(silence.HangAt(kStart + absl::Seconds(second), Idle(1)), IsEmpty()) << second;
  }
  EXPECT_NE(silence.HangAt(kStart + absl::Seconds(20), Idle(1)), "");
}

TEST(SilenceTest, AWordBreaksIt) {
  Silence silence(kPatience, kStart);
  for (int second = 1; second < 10; ++second) {
    silence.HangAt(kStart + absl::Seconds(second), Idle());
  }
  silence.Break(kStart + absl::Seconds(10));
  EXPECT_THAT(silence.HangAt(kStart + absl::Seconds(11), Idle()), IsEmpty());
}

// The process that looks may be kept from a processor as well.
TEST(SilenceTest, OneLateLookDoesNotCountForMany) {
  Silence silence(kPatience, kStart);
  EXPECT_THAT(silence.HangAt(kStart + absl::Seconds(50), Idle()), IsEmpty());
}

TEST(SilenceTest, WithoutProcAProcessCountsAsIdle) {
  Silence silence(kPatience, kStart);
  std::string hang;
  for (int second = 1; second <= 10; ++second) {
    hang = silence.HangAt(kStart + absl::Seconds(second), std::nullopt);
  }
  EXPECT_EQ(hang, "hung: nothing happened for 10s");
}

// A process that runs `work` until it is killed.
class Child {
 public:
  explicit Child(void (*work)()) : process_(fork()) {
    if (process_ != 0) return;
    work();
    _exit(0);
  }
  ~Child() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Activity activity() const { return ActivityOf(process_).value_or(Activity()); }

 private:
  const pid_t process_;
};

TEST(ActivityTest, AProcessThatWaitsIsNotRunnable) {
  const Child child([] {
    while (true) pause();
  });
  // It is until it waits.
  while (child.activity().is_runnable) {
  }
  EXPECT_FALSE(child.activity().is_runnable);
}

TEST(ActivityTest, AProcessThatComputesIsRunnableAndUsesTime) {
  const Child child([] {
    for (volatile int turns = 0;; turns = turns + 1) {
    }
  });
  while (child.activity().processor_ticks == 0) {
  }
  EXPECT_TRUE(child.activity().is_runnable);
}

TEST(ActivityTest, NothingIsKnownOfAProcessThatIsGone) {
  const pid_t process = fork();
  if (process == 0) _exit(0);
  waitpid(process, nullptr, 0);
  EXPECT_FALSE(ActivityOf(process).has_value());
}

}  // namespace
}  // namespace millstream::plugin_check
