#include "core/step/step_scheduler.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/step/wait_judge.h"
#include "core/step/worker_pool.h"
#include "core/testing/stderr_text.h"
#include "framework/testing/hang_guard.h"
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
  std::vector<std::string> WaitsFor() const override {
    asked = true;
    return std::vector<std::string>(lines, "the moon");
  }
  std::string RunsNow() const override { return "node 'b'"; }
  std::function<bool()> advance;
  size_t lines = 1;
  mutable std::atomic<bool> asked{false};
};

class StepSchedulerTest : public ::testing::Test {
 protected:
  RunOptions options;
  const SessionSettings settings{};
};

TEST_F(StepSchedulerTest, PartsThatWakeEachOtherFinish) {
  StepContext step(options, settings);
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
  StepContext step(options, settings);
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
  StepContext step(options, settings);
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
  StepContext step(options, settings);
  StepScheduler scheduler(&step, 1);
  Part part([&] { return step.IsStopping(); });
  const Status status = scheduler.Drive({&part});
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(),
            "the step cannot continue: no node runs, and the remaining nodes wait for missing "
            "inputs:\n"
            "  the moon");
}

TEST_F(StepSchedulerTest, WhatManyWaitForTakesADozenLines) {
  StepContext step(options, settings);
  StepScheduler scheduler(&step, 1);
  Part few([&] { return step.IsStopping(); });
  Part many([&] { return step.IsStopping(); });
  many.lines = 500;
  const std::string message(scheduler.Drive({&few, &many}).message());
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 11);
  EXPECT_THAT(message, HasSubstr("and 491 more"));
}

TEST_F(StepSchedulerTest, WorkOutsideKeepsAStepAlive) {
  StepContext step(options, settings);
  StepScheduler scheduler(&step, 1);
  std::atomic<bool> arrived{false};
  std::atomic<bool> looked{false};
  Part part([&] {
    looked = true;
    return arrived.load();
  });
  scheduler.StartOutside();
  std::thread outside([&] {
    EXPECT_TRUE(Eventually([&] { return looked.load(); }));
    arrived = true;
    scheduler.FinishOutside(&part);
  });
  EXPECT_TRUE(scheduler.Drive({&part}).ok());
  outside.join();
}

// A step whose part waits for an element of a queue, and a judge of it.
class WaitJudgeTest : public StepSchedulerTest {
 protected:
  WaitJudgeTest() {
    options.should_stop = [](void*) { return false; };
    answer = WaitVerdict::kInVain;
    asked.clear();
    SetWaitJudge([](const std::string& waits) {
      asked = waits;
      return answer.load();
    });
  }
  ~WaitJudgeTest() override { SetWaitJudge(nullptr); }
  // Runs the step. Its wait ends when the step stops, or by itself after it `can_see`.
  Status Drive(const std::string& waits_for, const std::function<bool()>& can_see) {
    StepContext step(options, settings);
    StepScheduler scheduler(&step, 1);
    std::atomic<bool> is_over{false};
    Part part([&] { return is_over.load(); });
    OutsideWork work;
    work.node = reinterpret_cast<const Node*>(&part);  // only its address counts
    work.part = &part;
    work.waits_for = waits_for;
    scheduler.StartOutside(work);
    std::thread outside([&] {
      EXPECT_TRUE(Eventually([&] { return step.IsStopping() || can_see(); }));
      is_over = true;
      scheduler.FinishOutside(&part, work.node);
    });
    const Status status = scheduler.Drive({&part});
    outside.join();
    return status;
  }

  static inline std::atomic<WaitVerdict> answer;
  static inline std::string asked;
};

TEST_F(WaitJudgeTest, AStepThatWaitsInVainFails) {
  const Status status = Drive("an element of queue 'q'", [] { return false; });
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "the step waits for what nobody can give: no running step, no queue runner and no "
            "other thread of the program can end these waits:\n"
            "  the moon");
  EXPECT_EQ(asked, "an element of queue 'q'\n");
}

TEST_F(WaitJudgeTest, AStepWaitsWhileThereIsHope) {
  answer = WaitVerdict::kMayEnd;
  std::atomic<int> looks{0};
  EXPECT_EQ(Drive("an element of queue 'q'", [&] { return ++looks > 100; }), absl::OkStatus());
}

TEST_F(WaitJudgeTest, TheJudgeMayStopTheStep) {
  answer = WaitVerdict::kStop;
  const Status status = Drive("an element of queue 'q'", [] { return false; });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the step was interrupted"));
}

TEST_F(WaitJudgeTest, NobodyIsAskedAboutWorkThatMayEndByItself) {
  const absl::Time start = absl::Now();
  EXPECT_EQ(Drive("", [&] { return absl::Now() - start > absl::Milliseconds(100); }),
            absl::OkStatus());
  EXPECT_EQ(asked, "");
}

TEST_F(WaitJudgeTest, ATimeLimitIsWaitedFor) {
  options.timeout_ms = 60;
  EXPECT_EQ(Drive("an element of queue 'q'", [] { return false; }).code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(asked, "");
}

TEST_F(StepSchedulerTest, TheFirstErrorEndsAllParts) {
  StepContext step(options, settings);
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
  StepContext step(options, settings);
  StepScheduler scheduler(&step, 1);
  std::atomic<bool> looked{false};
  Part part([&] {
    looked = true;
    const Status interrupted = step.CheckInterruption();
    if (!interrupted.ok()) step.Fail(interrupted);
    return !interrupted.ok();
  });
  // Work that would never end by itself; a step waits for what runs outside.
  scheduler.StartOutside();
  std::thread outside([&] {
    EXPECT_TRUE(Eventually([&] { return looked.load(); }));
    cancellation.Cancel();
    while (!step.IsStopping()) std::this_thread::yield();
    scheduler.FinishOutside(&part);
  });
  EXPECT_EQ(scheduler.Drive({&part}).code(), absl::StatusCode::kCancelled);
  outside.join();
}

// Whichever of the two is on the driver's thread ends the step; the other does not heed that.
TEST_F(StepSchedulerTest, ALateKernelOnAnotherThreadIsNamed) {
  StepContext step(options, settings);
  StepScheduler scheduler(&step, 2, absl::ZeroDuration());
  const std::thread::id driver = std::this_thread::get_id();
  std::atomic<bool> began{false};
  absl::Notification may_end;
  const auto body = [&] {
    if (std::this_thread::get_id() == driver) {
      while (!began) std::this_thread::yield();
      step.Fail(errors::Internal("first"));
    } else {
      began = true;
      may_end.WaitForNotification();
    }
    return true;
  };
  Part first(body);
  Part second(body);
  StderrText log;
  std::thread reader([&] {
    EXPECT_TRUE(
        log.Await("a step that is to end (first) still waits for kernels:\n"
                  "  node 'b', is running\n"));
    may_end.Notify();
  });
  EXPECT_EQ(scheduler.Drive({&first, &second}).message(), "first");
  reader.join();
  EXPECT_EQ(scheduler.TakeWarning(), "") << "it was said before";
}

TEST_F(StepSchedulerTest, AWarningThatNobodyReadsStopsNoKernelFromEnding) {
  StepContext step(options, settings);
  StepScheduler scheduler(&step, 1, absl::ZeroDuration());
  std::atomic<bool> arrived{false};
  Part part([&] { return arrived.load(); });
  scheduler.StartOutside();
  step.Fail(errors::Internal("first"));
  StderrText log;
  log.Fill();
  std::thread driver([&] { EXPECT_FALSE(scheduler.Drive({&part}).ok()); });
  while (!part.asked) std::this_thread::yield();
  absl::Notification ended;
  std::thread outside([&] {
    arrived = true;
    scheduler.FinishOutside(&part);
    ended.Notify();
  });
  EXPECT_TRUE(Eventually(ended));
  EXPECT_TRUE(log.Await("still waits for kernels:\n  the moon\n"));
  driver.join();
  outside.join();
}

TEST_F(StepSchedulerTest, TheLongestTimeLimitIsNotOverAtOnce) {
  options.timeout_ms = std::numeric_limits<int64_t>::max();
  StepContext step(options, settings);
  EXPECT_TRUE(step.CheckInterruption().ok());
}

// Holds the whole pool, as steps of another session may, until it is destroyed.
class BusyPool {
 public:
  explicit BusyPool(int threads) : threads_(threads) {
    for (int i = 0; i < threads; ++i) {
      EXPECT_TRUE(WorkerPool::Global()->Run(&BusyPool::Hold, this, threads));
    }
    while (holding_ < threads) std::this_thread::yield();
  }
  ~BusyPool() {
    open_ = true;
    while (left_ < threads_) std::this_thread::yield();
  }

 private:
  static void Hold(void* argument) {
    auto* const self = static_cast<BusyPool*>(argument);
    ++self->holding_;
    while (!self->open_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++self->left_;
  }
  const int threads_;
  std::atomic<int> holding_{0};
  std::atomic<int> left_{0};
  std::atomic<bool> open_{false};
};

// More than any other test here starts.
constexpr int kPoolThreads = 6;

TEST_F(StepSchedulerTest, AStepDoesNotWaitForHelpersThatAreBusyElsewhere) {
  const BusyPool busy(kPoolThreads);
  StepContext step(options, settings);
  StepScheduler scheduler(&step, 2);
  Part first([] { return true; });
  Part second([] { return true; });
  EXPECT_TRUE(scheduler.Drive({&first, &second}).ok());
}

TEST_F(StepSchedulerTest, TheDriverDoesWhatNoHelperTook) {
  const BusyPool busy(kPoolThreads);
  StepContext step(options, settings);
  StepScheduler scheduler(&step, 2);
  struct HandedOff {
    StepScheduler* scheduler;
    StepPart* part;
    std::thread::id thread;
  } handed_off{&scheduler, nullptr, {}};
  bool began = false;
  Part part([&] {
    if (began) return true;
    began = true;
    scheduler.StartOutside();
    const auto work = +[](void* argument) {
      auto* const self = static_cast<HandedOff*>(argument);
      self->thread = std::this_thread::get_id();
      self->scheduler->FinishOutside(self->part);
    };
    EXPECT_TRUE(scheduler.RunElsewhere(work, &handed_off));
    return false;
  });
  handed_off.part = &part;
  EXPECT_TRUE(scheduler.Drive({&part}).ok());
  EXPECT_EQ(handed_off.thread, std::this_thread::get_id());
}

TEST_F(StepSchedulerTest, HelpersTakeWhatIsHandedOff) {
  StepContext step(options, settings);
  StepScheduler scheduler(&step, 2);
  std::atomic<bool> done{false};
  Part part([&] {
    EXPECT_TRUE(scheduler.RunElsewhere(
        +[](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &done));
    // The driver is here meanwhile.
    while (!done) std::this_thread::yield();
    return true;
  });
  EXPECT_TRUE(scheduler.Drive({&part}).ok());
}

TEST(WorkerPoolTest, WhatMayBlockHasAThreadAtOnce) {
  const BusyPool busy(kPoolThreads);
  constexpr int kBlocked = 4;
  // Each of them goes on when all are there.
  std::atomic<int> here{0};
  const auto work = +[](void* argument) {
    auto* const count = static_cast<std::atomic<int>*>(argument);
    ++*count;
    while (*count < kBlocked) std::this_thread::yield();
    *count += kBlocked;
  };
  for (int i = 0; i < kBlocked; ++i) ASSERT_TRUE(WorkerPool::Global()->RunBlocking(work, &here));
  while (here < kBlocked + kBlocked * kBlocked) std::this_thread::yield();
}

TEST(WorkerPoolTest, RunsMoreThanThereAreThreads) {
  std::atomic<int> done{0};
  const auto work = +[](void* argument) { ++*static_cast<std::atomic<int>*>(argument); };
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(WorkerPool::Global()->Run(work, &done, 2));
  while (done < 100) std::this_thread::yield();
}

}  // namespace
}  // namespace millstream
