// What a trace says of a device's streams.
#include <string>
#include <vector>

#include "core/on_device/device_session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

class TraceTest : public DeviceSessionTest {
 protected:
  // Every copy and every kernel takes some milliseconds.
  TraceTest() : DeviceSessionTest({{"latency_us", 5000}}, AsWritten()) {}
  static SessionOptions AsWritten() {
    SessionOptions options;
    options.optimize = false;
    return options;
  }

  void Trace(const std::vector<Output>& fetches, const std::vector<Feed>& feeds) {
    RunOptions options;
    report_.want_trace = true;
    options.report = &report_;
    EXPECT_EQ(Run(fetches, feeds, {}, options).status(), absl::OkStatus());
  }
  const TracedNode& Traced(const std::string& name) const {
    for (const TracedPart& part : report_.trace.parts()) {
      for (const TracedNode& node : part.nodes) {
        if (node.name == name) return node;
      }
    }
    ADD_FAILURE() << name << " was not traced";
    static const TracedNode none;
    return none;
  }
  bool Overlap(const std::string& a, const std::string& b) const {
    return Traced(a).start < Traced(b).end && Traced(b).start < Traced(a).end;
  }

  StepReport report_;
};

TEST_F(TraceTest, WorkStandsInTheLaneOfItsStream) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output y = NodeOn("SIM:0", "y", "Neg", {x});
  Trace({y}, {{x, Values<float>({1, 2})}});
  EXPECT_EQ(Traced("x/_to_device").lane, "to device");
  EXPECT_EQ(Traced("y").lane, "compute");
  EXPECT_EQ(Traced("y/_to_host").lane, "to host");
  EXPECT_THAT(Traced("y").inputs, ElementsAre("x/_to_device"));
  EXPECT_THAT(Traced("y/_to_host").inputs, ElementsAre("y"));
  EXPECT_GE(Traced("y").start, Traced("x/_to_device").end);
  EXPECT_GE(Traced("y/_to_host").start, Traced("y").end);
  EXPECT_GE(Traced("y").end - Traced("y").start, 5000000) << "as long as the device took";
}

TEST_F(TraceTest, CopiesOverlapTheWorkThatDoesNotNeedThem) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output late = Placeholder("late", DataType::kFloat, PartialShape::Vector(2));
  const Output a = NodeOn("SIM:0", "a", "Neg", {x});
  const Output b = NodeOn("SIM:0", "b", "Square", {a});
  const Output c = NodeOn("SIM:0", "c", "Add", {b, late});
  Trace({a, c}, {{x, Values<float>({1, 2})}, {late, Values<float>({1, 2})}});
  EXPECT_TRUE(Overlap("a/_to_host", "b")) << "a result leaves while the next is computed";
  EXPECT_TRUE(Overlap("late/_to_device", "a")) << "an input comes while others are computed with";
}

TEST_F(TraceTest, ATensorFromAnotherDeviceIsLinkedToItsSender) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output a = NodeOn("SIM:0", "a", "Neg", {x});
  const Output b = NodeOn("SIM:1", "b", "Neg", {a});
  Trace({b}, {{x, Values<float>({1, 2})}});
  EXPECT_EQ(Traced("a/_Recv_0").lane, "from peer");
  EXPECT_THAT(Traced("a/_Recv_0").inputs, ElementsAre("a/_Send_0"));
  EXPECT_THAT(Traced("b").inputs, Contains("a/_Recv_0"));
}

// The value of the argument; empty if the range has none of the name.
std::string Argument(const TracedRange& range, const std::string& name) {
  for (const auto& [key, value] : range.args) {
    if (key == name) return value;
  }
  return "";
}

TEST_F(TraceTest, TheDevicesOwnTimesStandBesideTheHosts) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output a = NodeOn("SIM:1", "a", "Neg", {x});
  const Output b = NodeOn("SIM:1", "b", "Square", {a});
  Trace({b}, {{x, Values<float>({1, 2})}});
  std::vector<std::string> kernels;
  int copies = 0;
  for (const TracedRange& range : report_.trace.ranges()) {
    if (range.device != "/plugin:millstream_sim/device:1") continue;
    if (Argument(range, "kind") == "copy") {
      ++copies;
      EXPECT_EQ(Argument(range, "bytes"), "8");
      continue;
    }
    kernels.push_back(Argument(range, "node"));
    EXPECT_NE(Argument(range, "correlation"), "");
    const TracedNode& node = Traced(kernels.back());
    // The device's clock is set as the step starts, a moment after the host read its own.
    constexpr int64_t kClockError = 1000000;
    EXPECT_GE(range.start, node.start - kClockError);
    EXPECT_LE(range.end, node.end + kClockError);
    EXPECT_GE(range.end - range.start, 5000000) << "as long as the device took";
  }
  EXPECT_THAT(kernels, ElementsAre("a", "b"));
  EXPECT_EQ(copies, 2) << "x to the device, b to the host";
}

TEST_F(TraceTest, ACopyTakesTheTimeOfItsBandwidth) {
  Set(0, "copy_mb_per_s", 1);
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(10000));
  const Output y = NodeOn("SIM:0", "y", "Neg", {x});
  Trace({y}, {{x, Values<float>(std::vector<float>(10000))}});
  int copies = 0;
  for (const TracedRange& range : report_.trace.ranges()) {
    if (Argument(range, "kind") != "copy") continue;
    ++copies;
    EXPECT_GE(range.end - range.start, 40000000) << "40 KB at 1 MB/s";
  }
  EXPECT_EQ(copies, 2);
  Set(0, "copy_mb_per_s", 0);
}

TEST_F(TraceTest, LoopsSayWhichExecutionsTheDevicesWorkBelongsTo) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output way = Placeholder("way", DataType::kBool, PartialShape::Scalar());
  const Output taken{build.NodeOf("Switch", {x, way}), 1};
  const Output a = NodeOn("SIM:0", "a", "Neg", {taken});
  Trace({a}, {{x, Values<float>({1, 2})}, {way, Tensor::Scalar<bool>(true)}});
  std::vector<std::string> kernels;
  for (const TracedRange& range : report_.trace.ranges()) {
    if (Argument(range, "kind") == "kernel") kernels.push_back(Argument(range, "node"));
  }
  EXPECT_THAT(kernels, Contains("a"));
}

}  // namespace
}  // namespace millstream
