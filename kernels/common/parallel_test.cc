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
  run(frame, [&](int64_t begin, int64_t end) {
    const std::lock_guard<std::mutex> lock(mutex);
    ranges.emplace_back(begin, end);
  });
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
      Collect([](ms::Frame& frame, auto fn) { ParallelElements(frame, 5000, 300, fn); });
  EXPECT_EQ(ranges, (Ranges{{0, 5000}}));
}

TEST(ParallelTest, NoWorkIsNoCall) {
  EXPECT_TRUE(
      Collect([](ms::Frame& frame, auto fn) { ParallelElements(frame, 0, 1, fn); }).empty());
  EXPECT_TRUE(Collect([](ms::Frame& frame, auto fn) { ParallelRows(frame, 0, 9, 1, fn); }).empty());
}

TEST(ParallelTest, MuchWorkIsCutAtMultiplesOfTheUnit) {
  const int64_t total = 100 * kElementsPerUnit + 17;
  const Ranges ranges =
      Collect([&](ms::Frame& frame, auto fn) { ParallelElements(frame, total, 300, fn); });
  EXPECT_GT(ranges.size(), 1u);
  ExpectCover(ranges, total);
  for (const auto& [begin, end] : ranges) EXPECT_EQ(begin % kElementsPerUnit, 0) << end;
}

TEST(ParallelTest, RowsAreCutByTheirWork) {
  const Ranges ranges =
      Collect([](ms::Frame& frame, auto fn) { ParallelRows(frame, 7, 1 << 20, 300, fn); });
  EXPECT_GT(ranges.size(), 1u);
  ExpectCover(ranges, 7);
}

}  // namespace
}  // namespace millstream::kernels
