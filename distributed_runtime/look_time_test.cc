#include "distributed_runtime/look_time.h"

#include <sched.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int64_t kMost = 100'000;
constexpr int64_t kLeast = 5'000;

// Looks so often in vain.
void LookInVain(LookTime* time, int count) {
  for (int i = 0; i < count; ++i) {
    time->Begin();
    time->End(/*has_found=*/false);
  }
}

TEST(LookTime, TheFirstLookTakesTheWholeTime) {
  LookTime time(kMost, kLeast);
  EXPECT_EQ(time.Begin(), kMost);
}

TEST(LookTime, ALookInVainHalvesTheNextOne) {
  LookTime time(kMost, kLeast);
  LookInVain(&time, 1);
  EXPECT_EQ(time.Begin(), kMost / 2);
  time.End(/*has_found=*/false);
  EXPECT_EQ(time.Begin(), kMost / 4);
}

TEST(LookTime, AfterSomeInVainThereAreNone) {
  LookTime time(kMost, kLeast);
  LookInVain(&time, 10);
  EXPECT_EQ(time.Begin(), 0);
}

TEST(LookTime, OneThatFindsSomethingBringsTheWholeTimeBack) {
  LookTime time(kMost, kLeast);
  LookInVain(&time, 3);
  time.Begin();
  time.End(/*has_found=*/true);
  EXPECT_EQ(time.Begin(), kMost);
}

TEST(LookTime, OneOfManyTakesTheWholeTimeWhateverHasBeenFound) {
  LookTime time(kMost, kLeast);
  LookInVain(&time, LookTime::kWholeEvery);
  EXPECT_EQ(time.Begin(), kMost);
}

// As many busy threads as the test says.
class BusyThreads {
 public:
  explicit BusyThreads(int count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { Work(); });
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return busy_ == count; });
  }
  ~BusyThreads() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      has_ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;

 private:
  void Work() {
    const BusyThread once;
    const BusyThread again;  // which counts no more
    std::unique_lock<std::mutex> lock(mutex_);
    ++busy_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return has_ended_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int busy_ = 0;
  bool has_ended_ = false;
  std::vector<std::thread> threads_;
};

TEST(BusyThread, ThreadsLookWhileFewerThanTheCoresAreBusy) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  const int cores = CPU_COUNT(&set);
  EXPECT_TRUE(BusyThread::MayLook());
  {
    const BusyThreads threads(cores - 1);
    EXPECT_TRUE(BusyThread::MayLook());
  }
  const BusyThreads threads(cores);
  EXPECT_FALSE(BusyThread::MayLook());
}

TEST(AwaitedAnswer, ThreadsLookWhileNoMoreThanTheCoresAreAwaited) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  std::vector<std::unique_ptr<AwaitedAnswer>> awaited;
  for (int i = 0; i < CPU_COUNT(&set); ++i) awaited.push_back(std::make_unique<AwaitedAnswer>());
  EXPECT_TRUE(BusyThread::MayLook());
  awaited.push_back(std::make_unique<AwaitedAnswer>());
  EXPECT_FALSE(BusyThread::MayLook());
  awaited.pop_back();
  EXPECT_TRUE(BusyThread::MayLook());
}

}  // namespace
}  // namespace millstream
