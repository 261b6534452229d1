#include "distributed_runtime/task_watch.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

const Status& Refused() {
  static const auto* const status = new Status(absl::UnavailableError("nobody is there"));
  return *status;
}
const Status& NoAnswer() {
  static const auto* const status = new Status(absl::DeadlineExceededError("no answer"));
  return *status;
}

class TaskWatchTest : public ::testing::Test {
 protected:
  static absl::Time At(double seconds) { return absl::UnixEpoch() + absl::Seconds(seconds); }
  bool Ask(double from, const Status& status, double to) {
    watch_.Ask(0, At(from));
    return watch_.TakeResult(0, status, At(to));
  }

  TaskWatch watch_{2, absl::Seconds(5)};
};

TEST_F(TaskWatchTest, ATaskThatHasNeverAnsweredIsWaitedFor) {
  EXPECT_EQ(watch_.Ask(0, At(0)), absl::InfiniteFuture());
  EXPECT_FALSE(watch_.TakeResult(0, Refused(), At(0)));
  EXPECT_FALSE(Ask(1, Refused(), 3600));
  EXPECT_FALSE(Ask(3600, NoAnswer(), 7200));
}

TEST_F(TaskWatchTest, ATaskThatWasThereIsGoneAfterAWhile) {
  for (const Status& status : {Refused(), NoAnswer()}) {
    EXPECT_FALSE(Ask(0, absl::OkStatus(), 0));
    EXPECT_EQ(watch_.Ask(0, At(100)), At(105));
    EXPECT_FALSE(watch_.TakeResult(0, status, At(102)));
    EXPECT_EQ(watch_.Ask(0, At(102.5)), At(105));
    EXPECT_FALSE(watch_.TakeResult(0, status, At(104.9)));
    EXPECT_TRUE(Ask(104.9, status, 105));
    EXPECT_FALSE(watch_.TakeResult(1, status, At(200)));
  }
}

TEST_F(TaskWatchTest, TheNextSessionWaitsAsLongAgain) {
  EXPECT_FALSE(Ask(0, absl::OkStatus(), 0));
  EXPECT_FALSE(Ask(100, Refused(), 100));
  EXPECT_TRUE(Ask(105, Refused(), 105));
  EXPECT_FALSE(Ask(106, Refused(), 106));
  EXPECT_FALSE(Ask(110, Refused(), 110));
  EXPECT_TRUE(Ask(111, Refused(), 111));
}

TEST_F(TaskWatchTest, ASessionThatGaveUpCostsTheNextOneNothing) {
  EXPECT_FALSE(Ask(0, absl::OkStatus(), 0));
  EXPECT_FALSE(Ask(100, Refused(), 102));
  EXPECT_EQ(watch_.Ask(0, At(3600)), At(3605));
  EXPECT_FALSE(watch_.TakeResult(0, Refused(), At(3602)));
  EXPECT_TRUE(Ask(3605, Refused(), 3605));
}

TEST_F(TaskWatchTest, AnAnswerBeginsAnew) {
  EXPECT_FALSE(Ask(0, absl::OkStatus(), 0));
  EXPECT_FALSE(Ask(100, Refused(), 100));
  EXPECT_FALSE(Ask(104, absl::InternalError("an error of the task"), 104));
  EXPECT_FALSE(Ask(106, Refused(), 106));
  EXPECT_TRUE(Ask(111, Refused(), 111));
}

}  // namespace
}  // namespace millstream
