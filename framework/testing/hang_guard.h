// Waits of tests for events. A test never asserts how long something took: on a busy machine
// everything takes longer. It waits for the event, and a guard ends a wait that would last for
// ever.
#ifndef MILLSTREAM_FRAMEWORK_TESTING_HANG_GUARD_H_
#define MILLSTREAM_FRAMEWORK_TESTING_HANG_GUARD_H_

#include <cstdint>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace millstream {

// No wait in a test takes a tenth of it, even where other programs take all processors. Less than
// the time limits of whole tests (.bazelrc).
inline constexpr int64_t kHangGuardMillis = 120'000;
inline constexpr absl::Duration kHangGuard = absl::Milliseconds(kHangGuardMillis);

// What the failure of a wait says.
inline ::testing::AssertionResult HangGuardFailure() {
  return ::testing::AssertionFailure()
         << "a guard against hanging: not so within " << absl::FormatDuration(kHangGuard);
}

// Returns once condition() is true; false, with a message, when the guard ends the wait.
// Example: EXPECT_TRUE(Eventually([&] { return began.load(); }));
template <typename Condition>
::testing::AssertionResult Eventually(const Condition& condition) {
  const absl::Time end = absl::Now() + kHangGuard;
  while (!condition()) {
    if (absl::Now() > end) return HangGuardFailure();
    absl::SleepFor(absl::Microseconds(100));
  }
  return ::testing::AssertionSuccess();
}

// The same for a notification.
inline ::testing::AssertionResult Eventually(const absl::Notification& event) {
  if (event.WaitForNotificationWithTimeout(kHangGuard)) return ::testing::AssertionSuccess();
  return HangGuardFailure();
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_TESTING_HANG_GUARD_H_
