// Alarms ring in the order of their times, and not after they were forgotten.
#include "core/resources/alarms.h"

#include <atomic>
#include <vector>

#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

TEST(AlarmsTest, RingInTheOrderOfTheirTimes) {
  absl::Mutex mutex;
  std::vector<int> rung;
  std::atomic<int> count{0};
  const auto ring = [&](int number) {
    return [&, number] {
      absl::MutexLock lock(&mutex);
      rung.push_back(number);
      ++count;
    };
  };
  Alarms::Global()->Set(absl::Milliseconds(30), ring(2));
  Alarms::Global()->Set(absl::Milliseconds(60), ring(3));
  Alarms::Global()->Set(absl::ZeroDuration(), ring(1));
  EXPECT_TRUE(Eventually([&] { return count.load() == 3; }));
  absl::MutexLock lock(&mutex);
  EXPECT_THAT(rung, ElementsAre(1, 2, 3));
}

TEST(AlarmsTest, ForgottenOnesDoNotRing) {
  std::atomic<int> rung{0};
  std::atomic<bool> was_last{false};
  const uint64_t forgotten = Alarms::Global()->Set(absl::Milliseconds(40), [&] { ++rung; });
  Alarms::Global()->Forget(forgotten);
  Alarms::Global()->Set(absl::Milliseconds(50), [&] { was_last = true; });
  EXPECT_TRUE(Eventually([&] { return was_last.load(); }));
  EXPECT_EQ(rung.load(), 0);
  Alarms::Global()->Forget(forgotten);
  Alarms::Global()->Forget(Alarms::kNone);
}

TEST(AlarmsTest, AnEndlessLimitIsNone) {
  EXPECT_EQ(Alarms::Global()->Set(absl::InfiniteDuration(), [] {}), Alarms::kNone);
}

}  // namespace
}  // namespace millstream
