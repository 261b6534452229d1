#include "core/session/step_cache.h"

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr size_t kMost = 3;

class StepCacheTest : public ::testing::Test {
 protected:
  // Signatures that differ in a number.
  static StepSignature Number(int number) {
    StepSignature signature;
    signature.fetches.push_back({nullptr, number});
    return signature;
  }
  std::shared_ptr<int> Add(int number) {
    return cache_.Add(Number(number), std::make_shared<int>(number), &dropped_);
  }
  // Calls during() while it builds.
  StatusOr<std::shared_ptr<int>> FindOrBuild(
      int number, const std::function<void()>& during = [] {}) {
    return cache_.FindOrBuild(
        Number(number),
        [&]() -> StatusOr<std::shared_ptr<int>> {
          during();
          ++builds_;
          return std::make_shared<int>(number);
        },
        [this](StepCache<int>::Steps steps) {
          dropped_.insert(dropped_.end(), steps.begin(), steps.end());
        });
  }
  std::vector<int> Dropped() const {
    std::vector<int> numbers;
    for (const std::shared_ptr<int>& step : dropped_) numbers.push_back(*step);
    return numbers;
  }

  StepCache<int> cache_{kMost};
  StepCache<int>::Steps dropped_;
  std::atomic<int> builds_{0};
};

TEST_F(StepCacheTest, FindsWhatWasAdded) {
  EXPECT_EQ(cache_.Find(Number(1)), nullptr);
  const std::shared_ptr<int> added = Add(1);
  EXPECT_EQ(cache_.Find(Number(1)), added);
  EXPECT_EQ(cache_.Find(Number(2)), nullptr);
}

TEST_F(StepCacheTest, TheFirstOfASignatureStays) {
  const std::shared_ptr<int> first = Add(1);
  EXPECT_EQ(Add(1), first);
  EXPECT_EQ(cache_.size(), 1u);
}

TEST_F(StepCacheTest, TheLeastRecentlyFoundGoesFirst) {
  for (int number = 1; number <= 3; ++number) Add(number);
  EXPECT_NE(cache_.Find(Number(1)), nullptr);
  Add(4);
  Add(5);
  EXPECT_EQ(Dropped(), std::vector<int>({2, 3}));
  EXPECT_NE(cache_.Find(Number(1)), nullptr);
  EXPECT_EQ(cache_.Find(Number(2)), nullptr);
}

TEST_F(StepCacheTest, WhatIsHeldStaysBeyondTheBound) {
  std::vector<std::shared_ptr<int>> held;
  for (int number = 0; number < 10; ++number) held.push_back(Add(number));
  EXPECT_EQ(cache_.size(), 10u);
  EXPECT_TRUE(dropped_.empty());
  held.clear();
  Add(10);
  EXPECT_EQ(cache_.size(), kMost);
  EXPECT_EQ(dropped_.size(), 8u);
  EXPECT_NE(cache_.Find(Number(10)), nullptr) << "the one that is added is held by who adds it";
}

// Each addition under the lock that every step wants looks at few of those that stay.
TEST_F(StepCacheTest, BehindManyThatAreHeldStepsGoSomeAdditionsLater) {
  constexpr int kHeld = 100;
  std::vector<std::shared_ptr<int>> held;
  for (int number = 0; number < kHeld; ++number) held.push_back(Add(number));
  const int first = kHeld;
  Add(first);
  Add(first + 1);
  EXPECT_TRUE(dropped_.empty()) << "all that are held were looked at";
  for (int number = first + 2; number < first + 5 * kHeld; ++number) {
    Add(number);
    EXPECT_LE(cache_.size(), size_t{kHeld + kHeld / 4});
  }
  EXPECT_EQ(cache_.Find(Number(first)), nullptr);
  for (int number = 0; number < kHeld; ++number) {
    EXPECT_EQ(cache_.Find(Number(number)), held[number]);
  }
}

TEST_F(StepCacheTest, UnheldStepsAreTakenOut) {
  const std::shared_ptr<int> held = Add(1);
  Add(2);
  EXPECT_EQ(cache_.TakeUnheld().size(), 1u);
  EXPECT_EQ(cache_.Find(Number(1)), held);
  EXPECT_EQ(cache_.Find(Number(2)), nullptr);
}

TEST_F(StepCacheTest, AllAreTakenOut) {
  const std::shared_ptr<int> held = Add(1);
  Add(2);
  EXPECT_EQ(cache_.TakeAll().size(), 2u);
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(cache_.Find(Number(1)), nullptr);
}

TEST_F(StepCacheTest, WhatIsMissingIsBuiltOnce) {
  EXPECT_EQ(*FindOrBuild(1).value(), 1);
  const std::shared_ptr<int> again = FindOrBuild(1).value();
  EXPECT_EQ(again, cache_.Find(Number(1)));
  EXPECT_EQ(builds_, 1);
}

TEST_F(StepCacheTest, AfterAnErrorTheNextBuildsAgain) {
  const StatusOr<std::shared_ptr<int>> failed = cache_.FindOrBuild(
      Number(1), []() -> StatusOr<std::shared_ptr<int>> { return absl::AbortedError("no"); },
      [](StepCache<int>::Steps) {});
  EXPECT_EQ(failed.status(), absl::AbortedError("no"));
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_TRUE(FindOrBuild(1).ok());
}

TEST_F(StepCacheTest, StepsThatGoForANewOneAreHandedOver) {
  for (int number = 1; number <= 5; ++number) EXPECT_TRUE(FindOrBuild(number).ok());
  EXPECT_EQ(Dropped(), std::vector<int>({1, 2}));
}

// The first thread holds the step until all want it.
TEST_F(StepCacheTest, ThreadsThatWantAStepBuildItOnce) {
  constexpr int kThreads = 4;
  std::atomic<int> wanting{0};
  std::vector<std::shared_ptr<int>> steps(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ++wanting;
      steps[t] = FindOrBuild(1, [&] {
                   EXPECT_TRUE(Eventually([&] { return wanting == kThreads; }));
                 }).value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(builds_, 1);
  for (const std::shared_ptr<int>& step : steps) EXPECT_EQ(step, cache_.Find(Number(1)));
}

TEST_F(StepCacheTest, OtherStepsDoNotWaitForABuild) {
  const auto build_another = [this] {
    std::thread other([this] { EXPECT_TRUE(FindOrBuild(2).ok()); });
    other.join();
  };
  EXPECT_TRUE(FindOrBuild(1, build_another).ok());
  EXPECT_EQ(builds_, 2);
}

TEST_F(StepCacheTest, ThreadsFindWhatTheyAskFor) {
  const auto use = [this] {
    for (int i = 0; i < 5000; ++i) {
      const int number = i % 7;
      std::shared_ptr<int> step = cache_.Find(Number(number));
      StepCache<int>::Steps dropped;
      if (step == nullptr)
        step = cache_.Add(Number(number), std::make_shared<int>(number), &dropped);
      EXPECT_EQ(*step, number);
      if (i % 100 == 0) cache_.TakeUnheld();
    }
  };
  std::thread other(use);
  use();
  other.join();
  EXPECT_LE(cache_.size(), kMost + 1);
}

}  // namespace
}  // namespace millstream
