// Traces of steps that run in several tasks, and the clocks that they are read by.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>
#include <set>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/step/step_trace.h"
#include "distributed_runtime/clock_offset.h"
#include "distributed_runtime/loopback_transport.h"
#include "distributed_runtime/testing/cluster_fixture.h"
#include "distributed_runtime/trace_coding.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ClusterTraceTest : public ClusterTest {
 protected:
  // The nodes of a trace that ran in a task.
  static std::set<std::string> OpsIn(int task, const StepTrace& trace) {
    std::set<std::string> ops;
    for (const TracedPart& part : trace.parts()) {
      if (part.device != absl::StrCat("/job:worker/replica:0/task:", task, "/device:CPU:0")) {
        continue;
      }
      for (const TracedNode& node : part.nodes) ops.insert(node.op);
    }
    return ops;
  }
};

TEST_F(ClusterTraceTest, AStepReportsTheNodesOfAllTasks) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output y = On(0, "Neg", {On(1, "Square", {On(0, "Exp", {x})})});
  session = Open(0);
  StepReport report;
  report.want_trace = true;
  report.want_partition_graphs = true;
  RunOptions options;
  options.report = &report;
  ASSERT_EQ(Run({y}, {{x, Values<float>({0, 0})}}, {}, options).status(), absl::OkStatus());
  EXPECT_THAT(OpsIn(0, report.trace), Contains("Exp"));
  EXPECT_THAT(OpsIn(0, report.trace), Contains("_Send"));
  EXPECT_THAT(OpsIn(0, report.trace), Contains("_Recv"));
  EXPECT_THAT(OpsIn(1, report.trace), Contains("Square"));
  EXPECT_THAT(OpsIn(1, report.trace), Contains("_Send"));
  EXPECT_THAT(OpsIn(1, report.trace), Contains("_Recv"));
  EXPECT_EQ(report.partition_graphs.size(), 2);
  // Both tasks have the same clock, so that the offset is nothing but error.
  const std::vector<TracedRange> ranges = report.trace.ranges();
  const auto clock = std::find_if(ranges.begin(), ranges.end(), [](const TracedRange& range) {
    return range.device == "/job:worker/replica:0/task:1/clock";
  });
  ASSERT_NE(clock, ranges.end());
  ASSERT_EQ(clock->args.size(), 2);
  int64_t ahead = 0;
  int64_t error = 0;
  ASSERT_TRUE(absl::SimpleAtoi(clock->args[0].second, &ahead));
  ASSERT_TRUE(absl::SimpleAtoi(clock->args[1].second, &error));
  EXPECT_LE(std::abs(ahead), error);
}

TEST_F(ClusterTraceTest, NothingIsReportedUnasked) {
  const Output y = On(1, "Neg", {Constant(1.0f)});
  session = Open(0);
  StepReport report;
  RunOptions options;
  options.report = &report;
  ASSERT_EQ(Run({y}, {}, {}, options).status(), absl::OkStatus());
  EXPECT_THAT(report.trace.parts(), IsEmpty());
  EXPECT_THAT(report.trace.ranges(), IsEmpty());
  EXPECT_THAT(report.partition_graphs, IsEmpty());
}

TEST(TraceCodingTest, TimesAreThoseOfTheReadersClock) {
  StepReport there;
  TracedPart* const part = there.trace.AddPart("/device:CPU:0");
  TracedNode& node = part->nodes.emplace_back();
  node.name = "y";
  node.op = "Neg";
  node.fused_ops = {"Neg", "Exp"};
  node.inputs = {"x"};
  node.start = 1000;
  node.end = 1500;
  node.thread = 3;
  node.scratch_bytes = 64;
  TracedOutput& output = node.outputs.emplace_back();
  output.dtype = DataType::kFloat;
  output.shape = Shape({2, 3});
  output.bytes = 24;
  output.allocated = true;
  there.trace.AddRange({"y", "", "inner", 1100, 1200, 3, {{"rows", "2"}}});
  there.partition_graphs = {"graph"};
  proto::StepReportRecord record;
  EncodeReport(there, &record);
  StepReport here;
  constexpr int64_t kAhead = 1'000'000;
  ASSERT_EQ(AddReport(record, kAhead, &here), absl::OkStatus());
  ASSERT_EQ(here.trace.parts().size(), 1);
  EXPECT_EQ(here.trace.parts()[0].device, "/device:CPU:0");
  const TracedNode& read = here.trace.parts()[0].nodes[0];
  EXPECT_EQ(here.trace.WallTime(read.start), there.trace.WallTime(node.start) - kAhead);
  EXPECT_EQ(read.end - read.start, 500);
  EXPECT_EQ(read.name, "y");
  EXPECT_EQ(read.op, "Neg");
  EXPECT_THAT(read.fused_ops, ElementsAre("Neg", "Exp"));
  EXPECT_THAT(read.inputs, ElementsAre("x"));
  EXPECT_EQ(read.thread, 3);
  EXPECT_EQ(read.scratch_bytes, 64);
  ASSERT_EQ(read.outputs.size(), 1);
  EXPECT_EQ(read.outputs[0].shape, Shape({2, 3}));
  EXPECT_EQ(read.outputs[0].bytes, 24);
  EXPECT_TRUE(read.outputs[0].allocated);
  const std::vector<TracedRange> ranges = here.trace.ranges();
  ASSERT_EQ(ranges.size(), 1);
  EXPECT_EQ(here.trace.WallTime(ranges[0].end), there.trace.WallTime(1200) - kAhead);
  EXPECT_EQ(ranges[0].args[0].second, "2");
  EXPECT_THAT(here.partition_graphs, ElementsAre("graph"));
}

TEST(TraceCodingTest, TimesThatNoClockTellsAreRefused) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const int64_t time : {kLeast, int64_t{-1}, kMost}) {
    proto::StepReportRecord record;
    record.add_parts()->add_nodes()->set_end(time);
    StepReport here;
    EXPECT_EQ(AddReport(record, 0, &here).code(), absl::StatusCode::kInvalidArgument) << time;
    record.clear_parts();
    record.add_ranges()->set_start(time);
    EXPECT_EQ(AddReport(record, 0, &here).code(), absl::StatusCode::kInvalidArgument) << time;
  }
}

TEST(ClockReadingsTest, TheErrorIsWithinTheBoundHoweverSlowTheMessagesAre) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int64_t> delay(1, 1'000'000);
  std::uniform_int_distribution<int64_t> any(-1'000'000'000, 1'000'000'000);
  for (int round = 0; round < 1000; ++round) {
    const int64_t ahead = any(random);
    ClockReadings readings;
    int64_t now = any(random);
    int64_t shortest = 2'000'000;
    for (int i = 0; i < 8; ++i) {
      const int64_t there = delay(random);
      const int64_t back = delay(random);
      readings.Add(now, now + there + ahead, now + there + back);
      now += there + back;
      shortest = std::min(shortest, there + back);
    }
    ASSERT_TRUE(readings.offset().has_value());
    EXPECT_LE(std::abs(readings.offset()->ahead - ahead), readings.offset()->error);
    EXPECT_EQ(readings.offset()->error, (shortest + 1) / 2);
  }
}

TEST(ClockReadingsTest, AClockThatWentBackwardsIsNotBelieved) {
  ClockReadings readings;
  readings.Add(100, 500, 90);
  EXPECT_FALSE(readings.offset().has_value());
  readings.Add(100, 500, 110);
  EXPECT_EQ(readings.offset()->ahead, 395);
  EXPECT_EQ(readings.offset()->error, 5);
}

}  // namespace
}  // namespace millstream
