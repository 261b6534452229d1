#include "core/step_scheduler.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "core/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

struct Part final : public StepPart {
  explicit Part(std::function<bool()> body) : advance(std::move(body)) {}
  Status Begin(StepContext*, absl::Span<const Tensor>) override { return absl::OkStatus(); }
  Status Fetch(absl::Span<Tensor>) override { return absl::OkStatus(); }
  bool Advance() override { return advance(); }
  std::string WaitsFor() const override { return "the moon"; }
  std::function<bool()> advance;
};

class StepSchedulerTest : public ::testing::Test {
 protected:
  RunOptions options;
};

TEST_F(StepSchedulerTest, PartsThatWakeEachOtherFinish) {
  StepContext step(options);
  StepScheduler scheduler(&step, 1);
  int turns = 0;
  Part* other = nullptr;
  Part first([&] {
    ++turns;
    scheduler.Wake(other);
    return turns >= 10;
  });
  Part second([&] {
    ++turns;
    scheduler.Wake(&first);
    return turns >= 10;
  });
  other = &second;
  EXPECT_TRUE(scheduler.Drive({&first, &second}).ok());
  EXPECT_GE(turns, 10);
}

TEST_F(StepSchedulerTest, OnePartIsNeverAdvancedByTwoThreads) {
  StepContext step(options);
  StepScheduler scheduler(&step, 4);
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  int left = 200;
  Part* self = nullptr;
  Part part([&] {
    if (inside.fetch_add(1) != 0) overlapped = true;
    for (int i = 0; i < 3; ++i) scheduler.Wake(self);
    const bool finished = --left == 0;
    inside.fetch_sub(1);
    return finished;
  });
  self = &part;
  EXPECT_TRUE(scheduler.Drive({&part}).ok());
  EXPECT_FALSE(overlapped);
}

TEST_F(StepSchedulerTest, SeveralThreadsAdvanceSeveralParts) {
  StepContext step(options);
  StepScheduler scheduler(&step, 2);
  std::atomic<int> here{0};
  const auto meet = [&] {
    ++here;
    while (here < 2) std::this_thread::yield();
    return true;
  };
  Part first(meet);
  Part second(meet);
  EXPECT_TRUE(scheduler.Drive({&first, &second}).ok());
}

TEST_F(StepSchedulerTest, AStepInWhichEverybodyWaitsFailsWithWhatTheyWaitFor) {
  StepContext step(options);
  StepScheduler scheduler(&step, 1);
  Part part([&] { return step.IsStopping(); });
  const Status status = scheduler.Drive({&part});
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the moon"));
}

TEST_F(StepSchedulerTest, WorkOutsideKeepsAStepAlive) {
  StepContext step(options);
  StepScheduler scheduler(&step, 1);
  std::atomic<bool> arrived{false};
  Part part([&] { return arrived.load(); });
  scheduler.StartOutside();
  std::thread outside([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    arrived = true;
    scheduler.FinishOutside(&part);
  });
  EXPECT_TRUE(scheduler.Drive({&part}).ok());
  outside.join();
}

TEST_F(StepSchedulerTest, TheFirstErrorEndsAllParts) {
  StepContext step(options);
  StepScheduler scheduler(&step, 1);
  Part fails([&] {
    step.Fail(errors::InvalidArgument("first"));
    step.Fail(errors::Internal("second"));
    return true;
  });
  Part waits([&] { return step.IsStopping(); });
  const Status status = scheduler.Drive({&waits, &fails});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "first");
}

TEST_F(StepSchedulerTest, CancellationReachesPartsThatWait) {
  Cancellation cancellation;
  options.cancellation = &cancellation;
  StepContext step(options);
  StepScheduler scheduler(&step, 1);
  Part part([&] {
    const Status interrupted = step.CheckInterruption();
    if (!interrupted.ok()) step.Fail(interrupted);
    return !interrupted.ok();
  });
  // Work that would never end by itself; a step waits for what runs outside.
  scheduler.StartOutside();
  std::thread outside([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancellation.Cancel();
    while (!step.IsStopping()) std::this_thread::yield();
    scheduler.FinishOutside(&part);
  });
  EXPECT_EQ(scheduler.Drive({&part}).code(), absl::StatusCode::kCancelled);
  outside.join();
}

TEST(WorkerPoolTest, RunsMoreThanThereAreThreads) {
  std::atomic<int> done{0};
  const auto work = +[](void* argument) { ++*static_cast<std::atomic<int>*>(argument); };
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(WorkerPool::Global()->Run(work, &done, 2));
  while (done < 100) std::this_thread::yield();
}

}  // namespace
}  // namespace millstream
