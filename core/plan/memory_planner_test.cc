#include "core/plan/memory_planner.h"

#include <algorithm>
#include <random>

#include "framework/allocator.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using Requests = std::vector<MemoryRequest>;

bool LiveTogether(const MemoryRequest& a, const MemoryRequest& b) {
  return a.first <= b.last && b.first <= a.last;
}

bool Overlap(const MemoryRequest& a, const MemoryRequest& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

// The most bytes that live at one instruction: no slab can be smaller.
int64_t LargestLiveBytes(const Requests& requests) {
  int64_t largest = 0;
  for (const MemoryRequest& at : requests) {
    int64_t live = 0;
    for (const MemoryRequest& other : requests) {
      if (other.first <= at.first && at.first <= other.last) live += other.bytes;
    }
    largest = std::max(largest, live);
  }
  return largest;
}

void ExpectValid(const Requests& requests, int64_t slab) {
  EXPECT_GE(slab, LargestLiveBytes(requests));
  for (size_t i = 0; i < requests.size(); ++i) {
    const MemoryRequest& request = requests[i];
    EXPECT_EQ(request.offset % static_cast<int64_t>(kTensorAlignment), 0);
    EXPECT_GE(request.offset, 0);
    EXPECT_LE(request.offset + request.bytes, slab);
    for (size_t k = 0; k < i; ++k) {
      if (!LiveTogether(request, requests[k])) continue;
      EXPECT_FALSE(Overlap(request, requests[k])) << "requests " << k << " and " << i;
    }
  }
}

TEST(MemoryPlannerTest, NothingNeedsNothing) {
  Requests requests;
  EXPECT_EQ(PlanMemory(&requests), 0);
}

TEST(MemoryPlannerTest, ReusesMemoryOfWhatIsDead) {
  Requests requests = {{640, 0, 1}, {640, 2, 3}, {640, 4, 5}};
  EXPECT_EQ(PlanMemory(&requests), 640);
}

TEST(MemoryPlannerTest, ReadingAndWritingInOneInstructionKeepsThemApart) {
  Requests requests = {{640, 0, 1}, {640, 1, 2}};
  EXPECT_EQ(PlanMemory(&requests), 1280);
  EXPECT_NE(requests[0].offset, requests[1].offset);
}

TEST(MemoryPlannerTest, TakesTheTightestGap) {
  // What ends at instruction 1 leaves gaps of 512 and of 256 bytes; the last request fits both.
  Requests requests = {{1024, 0, 9}, {512, 0, 1}, {448, 0, 9},
                       {256, 0, 1},  {192, 0, 9}, {128, 2, 3}};
  const int64_t slab = PlanMemory(&requests);
  ExpectValid(requests, slab);
  EXPECT_EQ(requests[5].offset, requests[3].offset);
}

TEST(MemoryPlannerTest, EmptyTensorsHaveAPlaceInTheSlab) {
  Requests requests = {{0, 0, 1}, {64, 0, 1}, {0, 0, 1}};
  const int64_t slab = PlanMemory(&requests);
  ExpectValid(requests, slab);
  EXPECT_GT(slab, 0);
}

TEST(MemoryPlannerTest, RefusesMoreThanThereCanBe) {
  Requests one = {{(int64_t{1} << 62) + 1, 0, 1}};
  EXPECT_EQ(PlanMemory(&one), -1);
  Requests several = {{int64_t{1} << 61, 0, 1}, {int64_t{1} << 61, 0, 1}, {int64_t{1} << 61, 0, 1}};
  EXPECT_EQ(PlanMemory(&several), -1);
}

TEST(MemoryPlannerTest, RandomRequestsNeverOverlapWhileBothLive) {
  std::mt19937 random(7);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  for (int round = 0; round < 200; ++round) {
    Requests requests;
    const int count = 1 + below(60);
    for (int i = 0; i < count; ++i) {
      const int first = below(40);
      requests.push_back({below(5000), first, first + below(10)});
    }
    const int64_t slab = PlanMemory(&requests);
    ExpectValid(requests, slab);
    ASSERT_FALSE(HasFailure()) << "in round " << round;
  }
}

TEST(MemoryPlannerTest, AChainNeedsNoMoreThanItsLargestPair) {
  Requests requests;
  for (int i = 0; i < 50; ++i) requests.push_back({64 * (1 + i % 7), i, i + 1});
  EXPECT_LE(PlanMemory(&requests), 64 * 14);
}

// What PlanMemory is to do, by looking at every pair.
int64_t PlanSlowly(Requests* requests) {
  const auto rounded = [](int64_t bytes) {
    const int64_t alignment = static_cast<int64_t>(kTensorAlignment);
    return (bytes + alignment - 1) / alignment * alignment;
  };
  std::vector<MemoryRequest*> order;
  for (MemoryRequest& request : *requests) order.push_back(&request);
  std::stable_sort(order.begin(), order.end(),
                   [](auto* a, auto* b) { return a->bytes > b->bytes; });
  int64_t slab = 0;
  std::vector<MemoryRequest*> placed;
  for (MemoryRequest* request : order) {
    const int64_t bytes = std::max<int64_t>(rounded(request->bytes), kTensorAlignment);
    int64_t end = 0;
    int64_t best = -1;
    int64_t best_size = int64_t{1} << 62;
    for (MemoryRequest* other : placed) {
      if (!LiveTogether(*request, *other)) continue;
      const int64_t gap = other->offset - end;
      if (gap >= bytes && gap < best_size) {
        best = end;
        best_size = gap;
      }
      end = std::max(end, other->offset + rounded(other->bytes));
    }
    request->offset = best >= 0 ? best : end;
    slab = std::max(slab, request->offset + bytes);
    placed.push_back(request);
    std::stable_sort(placed.begin(), placed.end(),
                     [](auto* a, auto* b) { return a->offset < b->offset; });
  }
  return slab;
}

TEST(MemoryPlannerTest, PacksAsIfEveryPairWereLookedAt) {
  std::mt19937 random(11);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  for (const int longest : {2, 20, 400}) {
    Requests requests;
    for (int i = 0; i < 1000; ++i) {
      const int first = below(400);
      requests.push_back({below(5000), first, first + below(longest)});
    }
    Requests expected = requests;
    EXPECT_EQ(PlanMemory(&requests), PlanSlowly(&expected));
    for (size_t i = 0; i < requests.size(); ++i) {
      ASSERT_EQ(requests[i].offset, expected[i].offset) << "request " << i << " of " << longest;
    }
  }
}

TEST(MemoryPlannerTest, ManyThatLiveTogetherAreNotAllLookedAt) {
  constexpr int64_t kCount = 16000;
  Requests requests;
  for (int i = 0; i < kCount; ++i) requests.push_back({64, i, kCount});
  int64_t looks = 0;
  EXPECT_EQ(PlanMemory(&requests, &looks), 64 * kCount);
  const int64_t pairs = kCount * (kCount - 1) / 2;
  EXPECT_LT(looks, pairs / 20);
}

}  // namespace
}  // namespace millstream
