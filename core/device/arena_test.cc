#include "core/device/arena.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kUnit = ArenaRules::kLeastAlignment;
constexpr size_t kFirstRegion = 16 * kUnit;

ArenaRules SmallRules(size_t first_region = kFirstRegion) {
  ArenaRules rules;
  rules.first_region = first_region;
  return rules;
}

// Host memory, so that a test may write where blocks are; counts what it gave away.
class FakeSource final : public ArenaSource {
 public:
  explicit FakeSource(size_t capacity) : capacity_(capacity) {}
  ~FakeSource() override { EXPECT_EQ(given_, 0u); }

  StatusOr<char*> AllocateRegion(size_t bytes) override {
    if (on_allocate) on_allocate();
    absl::MutexLock lock(&mutex_);
    if (given_ + bytes > capacity_) return errors::ResourceExhausted("the device is full");
    given_ += bytes;
    return static_cast<char*>(std::aligned_alloc(kUnit, bytes));
  }
  void FreeRegion(char* region, size_t bytes) override {
    absl::MutexLock lock(&mutex_);
    given_ -= bytes;
    std::free(region);
  }
  void UpdateProgress() override {
    if (on_update) on_update();
  }
  bool AwaitIdle() override { return on_await != nullptr && on_await(); }

  std::function<void()> on_allocate;
  std::function<void()> on_update;
  std::function<bool()> on_await;
  size_t given() const {
    absl::MutexLock lock(&mutex_);
    return given_;
  }

 private:
  const size_t capacity_;
  mutable absl::Mutex mutex_;
  size_t given_ ABSL_GUARDED_BY(mutex_) = 0;
};

class ArenaTest : public ::testing::Test {
 protected:
  Arena::Allocation Take(size_t bytes, uint32_t stream = 1) {
    StatusOr<Arena::Allocation> taken = arena_.Allocate(bytes, stream);
    EXPECT_TRUE(taken.ok()) << taken.status();
    return taken.ok() ? *taken : Arena::Allocation();
  }

  FakeSource source_{1 << 20};
  StreamProgress progress_;
  Arena arena_{&source_, &progress_, 64 * kUnit, SmallRules()};
};

TEST_F(ArenaTest, BlocksAreAlignedAndApart) {
  const Arena::Allocation a = Take(1);
  const Arena::Allocation b = Take(kUnit + 1);
  const Arena::Allocation c = Take(3);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.address) % kUnit, 0u);
  EXPECT_EQ(b.address, a.address + kUnit);
  EXPECT_EQ(c.address, b.address + 2 * kUnit);
  EXPECT_THAT(c.waits, IsEmpty());
  for (char* address : {a.address, b.address, c.address}) arena_.Release(address, {});
}

// A block of such memory is one region, which serves as a whole for what is not much smaller.
TEST_F(ArenaTest, MemoryThatCannotBeCutHasARegionForEachBlock) {
  ArenaRules rules = SmallRules();
  rules.cuts_regions = false;
  Arena arena(&source_, &progress_, 64 * kUnit, rules);
  const auto take = [&](size_t bytes) { return arena.Allocate(bytes, 1).value().address; };
  char* const small = take(kUnit);
  char* const large = take(8 * kUnit);
  EXPECT_EQ(source_.given(), 9 * kUnit);
  EXPECT_EQ(arena.stats().in_use, 9 * kUnit);
  arena.Release(large, {{1, 1}});
  char* const other = take(kUnit);
  EXPECT_NE(other, large) << "most of it would be wasted";
  char* const similar = take(5 * kUnit);
  EXPECT_EQ(similar, large);
  EXPECT_EQ(source_.given(), 10 * kUnit);
  EXPECT_EQ(arena.stats().in_use, 10 * kUnit);
  for (char* block : {small, other, similar}) arena.Release(block, {});
  EXPECT_EQ(arena.stats().in_use, 0u);
  EXPECT_EQ(arena.Trim(), 10 * kUnit);
}

TEST_F(ArenaTest, NothingHasANullAddress) {
  const Arena::Allocation nothing = Take(0);
  EXPECT_EQ(nothing.address, nullptr);
  arena_.Release(nothing.address, {{1, 7}});
  EXPECT_EQ(arena_.stats().allocations, 0);
}

TEST_F(ArenaTest, TheSameStreamHasABlockAgainAtOnce) {
  const Arena::Allocation a = Take(10 * kUnit);
  arena_.Release(a.address, {{1, 5}});
  const Arena::Allocation again = Take(10 * kUnit, 1);
  EXPECT_EQ(again.address, a.address);
  EXPECT_THAT(again.waits, IsEmpty());
  arena_.Release(again.address, {});
}

TEST_F(ArenaTest, AnotherStreamTakesNewMemoryRatherThanWait) {
  const Arena::Allocation a = Take(10 * kUnit);
  arena_.Release(a.address, {{1, 5}});
  const Arena::Allocation other = Take(10 * kUnit, 2);
  EXPECT_NE(other.address, a.address);
  EXPECT_THAT(other.waits, IsEmpty());
  arena_.Release(other.address, {});
}

// Two pieces that are too small, one of which becomes large enough once it may be given back.
TEST_F(ArenaTest, WhatOnlyTheDeviceKeepsItWaitsForOnTheHost) {
  const Arena::Allocation a = Take(30 * kUnit);
  const Arena::Allocation b = Take(20 * kUnit);
  arena_.Release(a.address, {{1, 5}});
  arena_.Release(b.address, {{1, 6}});
  source_.on_await = [this] {
    progress_.Pass({1, 6});
    return true;
  };
  const Arena::Allocation large = Take(60 * kUnit);
  EXPECT_NE(large.address, nullptr);
  arena_.Release(large.address, {});
}

TEST_F(ArenaTest, ADeviceThatDoesNotBecomeIdleLeavesNoRoom) {
  const Arena::Allocation a = Take(50 * kUnit);
  arena_.Release(a.address, {{1, 5}});
  source_.on_await = [] { return false; };
  EXPECT_EQ(arena_.Allocate(60 * kUnit, 1).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(ArenaTest, WithoutNewMemoryItWaitsOnTheDevice) {
  const Arena::Allocation a = Take(60 * kUnit);
  arena_.Release(a.address, {{1, 5}, {3, 2}});
  const Arena::Allocation other = Take(60 * kUnit, 2);
  EXPECT_EQ(other.address, a.address);
  EXPECT_THAT(other.waits, ElementsAre(StreamPoint{1, 5}, StreamPoint{3, 2}));
  arena_.Release(other.address, {{2, 1}});
  const Arena::Allocation third = Take(60 * kUnit, 3);
  EXPECT_THAT(third.waits, ElementsAre(StreamPoint{2, 1})) << "stream 2 waited for the others";
  arena_.Release(third.address, {});
}

TEST_F(ArenaTest, APointThatHasPassedHoldsNobodyUp) {
  const Arena::Allocation a = Take(60 * kUnit);
  arena_.Release(a.address, {{1, 5}});
  source_.on_update = [&] { progress_.Pass({1, 5}); };
  const Arena::Allocation other = Take(60 * kUnit, 2);
  EXPECT_EQ(other.address, a.address);
  EXPECT_THAT(other.waits, IsEmpty());
  arena_.Release(other.address, {});
}

TEST_F(ArenaTest, WorkOutsideOfStreamsHoldsEverybodyUpUntilTheDeviceWasIdle) {
  const Arena::Allocation a = Take(60 * kUnit, kNoStream);
  arena_.Release(a.address, {progress_.OutsideWork()});
  const Arena::Allocation other = Take(60 * kUnit, kNoStream);
  EXPECT_THAT(other.waits, ElementsAre(StreamPoint{kNoStream, 1})) << "not even its own kind";
  const StreamPoint second = progress_.OutsideWork();
  arena_.Release(other.address, {second});
  progress_.Pass({kNoStream, 1});
  const Arena::Allocation third = Take(60 * kUnit, 1);
  EXPECT_THAT(third.waits, ElementsAre(second));
  arena_.Release(third.address, {});
  progress_.Pass(progress_.LatestOutsideWork());
  EXPECT_TRUE(progress_.HasPassed(second));
}

TEST_F(ArenaTest, TheSmallestBlockThatFitsIsTaken) {
  const Arena::Allocation large = Take(6 * kUnit);
  const Arena::Allocation apart = Take(kUnit);
  const Arena::Allocation small = Take(3 * kUnit);
  const Arena::Allocation end = Take(6 * kUnit);
  arena_.Release(large.address, {});
  arena_.Release(small.address, {});
  EXPECT_EQ(Take(2 * kUnit).address, small.address);
  EXPECT_EQ(Take(kUnit).address, small.address + 2 * kUnit);
  EXPECT_EQ(Take(2 * kUnit).address, large.address);
  for (char* address :
       {apart.address, end.address, small.address, small.address + 2 * kUnit, large.address}) {
    arena_.Release(address, {});
  }
}

TEST_F(ArenaTest, NeighboursBecomeOneAgain) {
  std::vector<Arena::Allocation> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(Take(kUnit));
  EXPECT_EQ(arena_.stats().largest_free, 0u);
  for (int i : {1, 3, 5, 4, 2}) arena_.Release(blocks[i].address, {});
  EXPECT_EQ(arena_.stats().largest_free, 5 * kUnit);
  EXPECT_EQ(Take(5 * kUnit).address, blocks[1].address);
  arena_.Release(blocks[1].address, {});
  for (int i : {0, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}) arena_.Release(blocks[i].address, {});
  EXPECT_EQ(arena_.stats().largest_free, kFirstRegion);
  EXPECT_EQ(arena_.stats().fragmentation(), 0);
}

// Otherwise what is free now would have to wait for its neighbour.
TEST_F(ArenaTest, WhatWaitsIsJoinedToWhatDoesNotOnceItHasPassed) {
  const Arena::Allocation a = Take(8 * kUnit);
  const Arena::Allocation b = Take(8 * kUnit);
  arena_.Release(a.address, {});
  arena_.Release(b.address, {{1, 3}});
  EXPECT_EQ(arena_.stats().largest_free, 8 * kUnit);
  EXPECT_EQ(arena_.stats().fragmentation(), 0.5);
  progress_.Pass({1, 3});
  const Arena::Allocation both = Take(16 * kUnit, 2);
  EXPECT_EQ(both.address, a.address);
  arena_.Release(both.address, {});
}

TEST_F(ArenaTest, GrowsOnDemandUpToItsLimit) {
  const Arena::Allocation first = Take(16 * kUnit);
  EXPECT_EQ(arena_.stats().reserved, 16 * kUnit);
  const Arena::Allocation second = Take(kUnit);
  EXPECT_EQ(arena_.stats().reserved, 32 * kUnit);
  const Arena::Allocation third = Take(30 * kUnit);
  EXPECT_EQ(arena_.stats().reserved, 64 * kUnit);
  const StatusOr<Arena::Allocation> none = arena_.Allocate(16 * kUnit, 1);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("no 4096 bytes (the limit is reached): of 16384 bytes, 12032 are in use, "
                        "4352 are reserved and free, the largest piece of which is 3840"));
  EXPECT_THAT(std::string(arena_.Allocate(65 * kUnit, 1).status().message()),
              HasSubstr("over the limit"));
  for (char* address : {first.address, second.address, third.address}) arena_.Release(address, {});
  EXPECT_EQ(arena_.stats().in_use, 0u);
  EXPECT_EQ(arena_.stats().peak_in_use, 47 * kUnit);
  EXPECT_EQ(arena_.stats().allocations, 3);
}

TEST(ArenaSourceTest, ADeviceWithLessThanTheLimitGivesWhatABlockNeeds) {
  FakeSource source(20 * kUnit);
  StreamProgress progress;
  Arena arena(&source, &progress, 1000 * kUnit, SmallRules());
  const StatusOr<Arena::Allocation> first = arena.Allocate(16 * kUnit, 1);
  ASSERT_TRUE(first.ok());
  const StatusOr<Arena::Allocation> second = arena.Allocate(3 * kUnit, 1);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(arena.stats().reserved, 19 * kUnit);
  const StatusOr<Arena::Allocation> third = arena.Allocate(3 * kUnit, 1);
  EXPECT_THAT(std::string(third.status().message()), HasSubstr("the device is full"));
  arena.Release(first->address, {});
  arena.Release(second->address, {});
}

// Two regions of 16 units are free, and the block needs 40 of 64.
TEST_F(ArenaTest, EmptyRegionsMakeRoomForALargerOne) {
  const Arena::Allocation first = Take(16 * kUnit);
  const Arena::Allocation second = Take(16 * kUnit);
  arena_.Release(first.address, {});
  arena_.Release(second.address, {});
  const Arena::Allocation large = Take(40 * kUnit);
  EXPECT_NE(large.address, nullptr);
  EXPECT_EQ(arena_.stats().reserved, source_.given());
  arena_.Release(large.address, {});
}

TEST_F(ArenaTest, TrimGivesBackWhatNobodyUses) {
  const Arena::Allocation first = Take(16 * kUnit);
  const Arena::Allocation second = Take(16 * kUnit);
  arena_.Release(first.address, {{1, 1}});
  EXPECT_EQ(arena_.Trim(), 0u) << "a stream may still use it";
  progress_.Pass({1, 1});
  EXPECT_EQ(arena_.Trim(), 16 * kUnit);
  EXPECT_EQ(source_.given(), 16 * kUnit);
  arena_.Release(second.address, {});
  EXPECT_EQ(arena_.Trim(), 16 * kUnit);
  EXPECT_EQ(arena_.stats().reserved, 0u);
  EXPECT_EQ(arena_.stats().peak_reserved, 32 * kUnit);
}

// ---- Random programs ----

// Streams that run behind the host. Every byte remembers which use of it is the last, and at which
// point of which stream it ends; a block that is handed out must come after it.
class RandomUse {
 public:
  explicit RandomUse(uint32_t seed)
      : random_(seed),
        source_(200 * kUnit),
        arena_(&source_, &progress_, 200 * kUnit, SmallRules(kUnit)) {
    source_.on_update = [this] { LetPass(); };
  }
  ~RandomUse() {
    while (!blocks_.empty()) Release(0);
  }

  void Step() {
    if (!blocks_.empty() && Below(2) == 0) {
      Release(Below(blocks_.size()));
    } else {
      Allocate();
    }
    if (Below(4) == 0) LetPass();
    if (Below(64) == 0) arena_.Trim();
  }

 private:
  struct Use {
    char* address;
    size_t bytes;
    uint32_t stream;
  };

  size_t Below(size_t limit) { return random_() % limit; }

  void LetPass() {
    const uint32_t stream = static_cast<uint32_t>(1 + Below(3));
    passed_[stream] += (enqueued_[stream] - passed_[stream] + 1) / 2;
    progress_.Pass({stream, passed_[stream]});
  }

  void Allocate() {
    const size_t bytes = (1 + Below(24)) * kUnit;
    const uint32_t stream = static_cast<uint32_t>(1 + Below(3));
    const StatusOr<Arena::Allocation> taken = arena_.Allocate(bytes, stream);
    if (!taken.ok()) return;
    for (const Use& other : blocks_) {
      EXPECT_TRUE(taken->address + bytes <= other.address ||
                  other.address + other.bytes <= taken->address);
    }
    for (size_t at = 0; at < bytes; at += kUnit) {
      const auto last = last_use_.find(taken->address + at);
      if (last == last_use_.end()) continue;
      const StreamPoint& point = last->second;
      const bool comes_after =
          point.stream == stream || point.sequence <= passed_[point.stream] ||
          std::any_of(taken->waits.begin(), taken->waits.end(), [&](const StreamPoint& wait) {
            return wait.stream == point.stream && wait.sequence >= point.sequence;
          });
      EXPECT_TRUE(comes_after);
    }
    blocks_.push_back({taken->address, bytes, stream});
  }

  void Release(size_t index) {
    const Use use = blocks_[index];
    blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(index));
    const StreamPoint point{use.stream, ++enqueued_[use.stream]};
    for (size_t at = 0; at < use.bytes; at += kUnit) last_use_[use.address + at] = point;
    arena_.Release(use.address, {point});
  }

  std::mt19937 random_;
  FakeSource source_;
  StreamProgress progress_;
  Arena arena_;
  std::vector<Use> blocks_;
  std::map<char*, StreamPoint> last_use_;
  uint64_t enqueued_[4] = {};
  uint64_t passed_[4] = {};
};

TEST(ArenaPropertyTest, NoBlockIsHandedOutBeforeItsLastUseEnds) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    RandomUse use(seed);
    for (int i = 0; i < 2000; ++i) use.Step();
  }
}

TEST_F(ArenaTest, ThreadsMayShareIt) {
  std::vector<std::thread> threads;
  for (uint32_t t = 1; t <= 4; ++t) {
    threads.emplace_back([this, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 2000; ++i) {
        const size_t bytes = (1 + random() % 12) * kUnit;
        const StatusOr<Arena::Allocation> taken = arena_.Allocate(bytes, t);
        if (!taken.ok()) continue;
        for (size_t at = 0; at < bytes; at += kUnit) taken->address[at] = static_cast<char>(t);
        for (size_t at = 0; at < bytes; at += kUnit) EXPECT_EQ(taken->address[at], t);
        arena_.Release(taken->address, {});
        if (i % 100 == 0) arena_.Trim();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(arena_.stats().in_use, 0u);
  arena_.Trim();
  EXPECT_EQ(arena_.stats().reserved, 0u);
}

// Of regions that are on their way there may be enough for all.
TEST_F(ArenaTest, ThreadsThatWantTheFirstBlocksTogetherAllGetOne) {
  constexpr int kThreads = 8;
  std::atomic<int> begun{0};
  source_.on_allocate = [&] { EXPECT_TRUE(Eventually([&] { return begun == kThreads; })); };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      ++begun;
      arena_.Release(Take(kUnit).address, {});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(arena_.stats().reserved, kFirstRegion) << "of which all have taken theirs";
}

TEST(ArenaRulesTest, BlocksAreAlignedAndRegionsBoundedAsTheDeviceAsks) {
  FakeSource source(1 << 20);
  StreamProgress progress;
  ArenaRules rules = SmallRules();
  rules.alignment = 2 * kUnit;
  rules.granularity = 16 * kUnit;
  rules.largest_region = 64 * kUnit;
  Arena arena(&source, &progress, 1000 * kUnit, rules);
  std::vector<char*> blocks;
  for (int i = 0; i < 40; ++i) {
    const size_t given = source.given();
    const StatusOr<Arena::Allocation> block = arena.Allocate(1 + i, 0);
    ASSERT_TRUE(block.ok()) << block.status();
    blocks.push_back(block->address);
    EXPECT_LE(source.given() - given, 64 * kUnit);
    EXPECT_EQ(source.given() % (16 * kUnit), 0u);
  }
  EXPECT_EQ(arena.stats().in_use, 40 * 2 * kUnit);
  const Status large = arena.Allocate(65 * kUnit, 0).status();
  EXPECT_EQ(large.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(large.message()),
              HasSubstr(absl::StrCat("at most ", 64 * kUnit, " bytes at once")));
  for (char* block : blocks) arena.Release(block, {});
}

}  // namespace
}  // namespace millstream
