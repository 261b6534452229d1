#include "core/host/spin_patience.h"

#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int64_t kSoon = SpinPatience::kLong / 2;
constexpr int64_t kLate = 100 * SpinPatience::kLong;

TEST(SpinPatienceTest, LooksForWorkThatComesSoon) {
  SpinPatience patience;
  for (int wait = 0; wait < 100; ++wait) {
    EXPECT_EQ(patience.limit(), SpinPatience::kLong);
    patience.Ended(kSoon);
  }
}

TEST(SpinPatienceTest, StopsLookingForWorkThatComesLate) {
  SpinPatience patience;
  for (int wait = 0; wait < SpinPatience::kMostInVain; ++wait) {
    EXPECT_EQ(patience.limit(), SpinPatience::kLong);
    patience.Ended(kLate);
  }
  EXPECT_EQ(patience.limit(), SpinPatience::kShort);
}

TEST(SpinPatienceTest, OneLateWaitAmongOthersChangesNothing) {
  SpinPatience patience;
  for (int wait = 0; wait < 100; ++wait) {
    EXPECT_EQ(patience.limit(), SpinPatience::kLong);
    patience.Ended(wait % 2 == 0 ? kLate : kSoon);
  }
}

TEST(SpinPatienceTest, LooksAgainWhenWorkComesSoonAgain) {
  SpinPatience patience;
  for (int wait = 0; wait < 10; ++wait) patience.Ended(kLate);
  ASSERT_EQ(patience.limit(), SpinPatience::kShort);
  patience.Ended(kSoon);
  EXPECT_EQ(patience.limit(), SpinPatience::kLong);
}

TEST(SpinPatienceTest, LeavesTheProcessorToOthersForAWhile) {
  SpinPatience patience;
  patience.Interrupted();
  for (int wait = 0; wait < SpinPatience::kWaitsAfterInterruption; ++wait) {
    EXPECT_EQ(patience.limit(), SpinPatience::kShort);
    patience.Ended(kSoon);
  }
  EXPECT_EQ(patience.limit(), SpinPatience::kLong);
}

}  // namespace
}  // namespace millstream
