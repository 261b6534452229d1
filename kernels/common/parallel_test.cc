#include "kernels/common/parallel.h"

#include <gtest/gtest.h>

#include <mutex>
#include <utility>
#include <vector>

#include "kernels/testing/fake_host.h"

namespace millstream::kernels {
namespace {

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

// Collects the ranges that `run` (given a frame of three threads and a callback) makes, sorted.
template <typename Run>
Ranges Collect(Run run) {
  testing::BindFakeHost();
  MS_Ctx ctx;
  ctx.threads = 3;
  MS_Frame abi{};
  abi.ctx = &ctx;
  ms::Frame frame(&abi);
  std::mutex mutex;
  Ranges ranges;
  const ms::Status status = run(frame, [&](int64_t begin, int64_t end) {
    const std::lock_guard<std::mutex> lock(mutex);
    ranges.emplace_back(begin, end);
  });
  EXPECT_TRUE(status.ok());
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

void ExpectCover(const Ranges& ranges, int64_t total) {
  int64_t next = 0;
  for (const auto& [begin, end] : ranges) {
    EXPECT_EQ(begin, next);
    EXPECT_LT(begin, end);
    next = end;
  }
  EXPECT_EQ(next, total);
}

TEST(ParallelTest, LittleWorkStaysInOnePiece) {
  const Ranges ranges =
      Collect([](ms::Frame& frame, auto fn) { return ParallelElements(frame, 5000, 300, fn); });
  EXPECT_EQ(ranges, (Ranges{{0, 5000}}));
}

TEST(ParallelTest, NoWorkIsNoCall) {
  EXPECT_TRUE(
      Collect([](ms::Frame& frame, auto fn) { return ParallelElements(frame, 0, 1, fn); }).empty());
  EXPECT_TRUE(
      Collect([](ms::Frame& frame, auto fn) { return ParallelRows(frame, 0, 9, 1, fn); }).empty());
}

TEST(ParallelTest, MuchWorkIsCutAtMultiplesOfTheUnit) {
  const int64_t total = 100 * kElementsPerUnit + 17;
  const Ranges ranges =
      Collect([&](ms::Frame& frame, auto fn) { return ParallelElements(frame, total, 300, fn); });
  EXPECT_GT(ranges.size(), 1u);
  ExpectCover(ranges, total);
  for (const auto& [begin, end] : ranges) EXPECT_EQ(begin % kElementsPerUnit, 0) << end;
}

TEST(ParallelTest, RowsAreCutByTheirWork) {
  const Ranges ranges =
      Collect([](ms::Frame& frame, auto fn) { return ParallelRows(frame, 7, 1 << 20, 300, fn); });
  EXPECT_GT(ranges.size(), 1u);
  ExpectCover(ranges, 7);
}

// A thousand units of a tenth of a second.
TEST(StoppableForTest, CoversALoopThatTakesLong) {
  const Ranges ranges = Collect([](ms::Frame& frame, auto fn) {
    return StoppableFor(frame, 1000, 100000000, [&](uint64_t begin, uint64_t end) {
      fn(static_cast<int64_t>(begin), static_cast<int64_t>(end));
    });
  });
  ExpectCover(ranges, 1000);
}

TEST(StoppableForTest, EndsBetweenTwoStretchesWhenTheStepIsCancelled) {
  testing::BindFakeHost();
  MS_Ctx ctx;
  ctx.checks_before_cancel = 4;
  MS_Frame abi{};
  abi.ctx = &ctx;
  ms::Frame frame(&abi);
  uint64_t done = 0;
  const ms::Status status = StoppableFor(
      frame, 1000, 100000000, [&](uint64_t begin, uint64_t end) { done += end - begin; });
  EXPECT_EQ(status.code(), MS_CANCELLED);
  EXPECT_EQ(done, 5u) << "one unit before each question";
}

TEST(StoppableForTest, AShortLoopAsksNobody) {
  testing::BindFakeHost();
  MS_Ctx ctx;
  ctx.checks_before_cancel = 0;
  MS_Frame abi{};
  abi.ctx = &ctx;
  ms::Frame frame(&abi);
  EXPECT_TRUE(StoppableFor(frame, 1000, 1000, [](uint64_t, uint64_t) {}).ok());
}

}  // namespace
}  // namespace millstream::kernels
