// Devices that fail: the step fails with an error that names plugin, stage, device and node, and
// everything else goes on.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/on_device/device_session_fixture.h"
#include "framework/plugin/loader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

constexpr absl::StatusCode kInternal = absl::StatusCode::kInternal;
constexpr absl::StatusCode kUnavailable = absl::StatusCode::kUnavailable;
constexpr absl::StatusCode kTooLate = absl::StatusCode::kDeadlineExceeded;

class FaultsTest : public DeviceSessionTest {
 protected:
  FaultsTest() : DeviceSessionTest({}, AsWritten()) {
    x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
    y = NodeOn("SIM:0", "y", "Neg", {x});
    z = NodeOn("SIM:0", "z", "Square", {y});
    elsewhere = OpOn("SIM:1", "Neg", {x});
    feeds = {{x, Values<float>({1, 2})}};
  }

  // Each node is one piece of work.
  static SessionOptions AsWritten() {
    SessionOptions options;
    options.optimize = false;
    return options;
  }
  void ExpectOthersGoOn() {
    EXPECT_THAT(Elements<float>(Value(elsewhere, feeds)), ElementsAre(-1, -2));
    InAnotherSession([this] { ExpectWorks(); });
  }
  template <typename Body>
  void InAnotherSession(Body body) {
    std::unique_ptr<Session> first = std::move(session);
    StartSession(AsWritten());
    body();
    session = std::move(first);
  }
  static int OpenDevices() {
    int count = 0;
    for (const LoadedPlugin* plugin : PluginLoader::Global()->Plugins()) {
      count += plugin->open_devices.load();
    }
    return count;
  }
  void ExpectWorks() { EXPECT_THAT(Elements<float>(Value(z, feeds)), ElementsAre(1, 4)); }
  Status ErrorWithin(int64_t milliseconds) {
    RunOptions options;
    options.timeout_ms = milliseconds;
    return Run({z}, feeds, {}, options).status();
  }
  // Of a step whose time is over when its work hangs.
  Status ErrorWhenItHangs() {
    return RunUntilItHangs(0, [this] { return ErrorWithin(50); });
  }

  Output x;
  Output y;
  Output z;
  Output elsewhere;
  std::vector<Feed> feeds;
};

TEST_F(FaultsTest, WorkThatIsRefusedFailsTheStepAndNoOther) {
  ExpectWorks();
  Set(0, "fail_work", 2);
  ExpectError(Error(z, feeds), kInternal,
              {"fail_work", "node 'z' (op Square)", "device:SIM:0", "plugin: millstream_sim"});
  ExpectWorks();
  ExpectOthersGoOn();
}

TEST_F(FaultsTest, ACopyThatIsRefusedFailsTheStepAndNoOther) {
  ExpectWorks();
  Set(0, "fail_copy", 1);
  ExpectError(
      Error(z, feeds), kInternal,
      {"fail_copy", "plugin millstream_sim", "copy to the device", "device:SIM:0", "node 'x'"});
  ExpectWorks();
  Set(0, "fail_copy", 2);
  ExpectError(
      Error(z, feeds), kInternal,
      {"fail_copy", "plugin millstream_sim", "copy to the host", "device:SIM:0", "node 'z'"});
  ExpectWorks();
  ExpectOthersGoOn();
}

TEST_F(FaultsTest, WorkThatHangsIsNamedWhenTheStepTimesOut) {
  ExpectWorks();
  Set(0, "hang_work", 2);
  ExpectError(ErrorWhenItHangs(), kTooLate, {"50 ms", "node 'z' (op Square)", "device:SIM:0"});
  ExpectOthersGoOn();
  ExpectError(ErrorWithin(50), kTooLate, {"earlier step", "device:SIM:0"});
  Set(0, "hang_work", 0);
  ExpectWorks();
}

TEST_F(FaultsTest, ACopyThatHangsIsNamedWhenTheStepTimesOut) {
  ExpectWorks();
  Set(0, "hang_copy", 2);  // to the host
  ExpectError(ErrorWhenItHangs(), kTooLate, {"50 ms", "device:SIM:0", "copies"});
  ExpectOthersGoOn();
}

TEST_F(FaultsTest, ASessionWhoseDeviceHangsCanBeClosed) {
  Set(0, "hang_work", 1);
  ExpectError(ErrorWhenItHangs(), kTooLate, {"node 'y' (op Neg)"});
  EXPECT_EQ(session->Close(), absl::OkStatus());
}

TEST_F(FaultsTest, ALostDeviceFailsTheStepAndAllLaterOnesAtOnce) {
  ExpectWorks();
  Set(0, "lose_work", 2);
  ExpectError(Error(z, feeds), kUnavailable, {"SIM:0", "lost", "plugin", "millstream_sim", "'z'"});
  ExpectError(Error(z, feeds), kUnavailable, {"SIM:0", "lost"});
  ExpectOthersGoOn();
}

TEST_F(FaultsTest, ADeviceThatIsLostInACopyFailsTheStep) {
  Set(0, "lose_copy", 1);
  ExpectError(Error(z, feeds), kUnavailable, {"SIM:0", "lost", "plugin", "millstream_sim"});
  ExpectOthersGoOn();
}

TEST_F(FaultsTest, ALostDeviceFailsWhoWaitsForItsTensors) {
  const Output on_host = OpOn("CPU:0", "Neg", {z});
  const Output on_peer = OpOn("SIM:1", "Neg", {z});
  EXPECT_THAT(Elements<float>(Value(on_peer, feeds)), ElementsAre(-1, -4));
  Set(0, "lose_work", 2);
  ExpectError(Error(on_host, feeds), kUnavailable, {"SIM:0", "lost"});
  ExpectError(Error(on_peer, feeds), kUnavailable, {"SIM:0", "lost"});
  ExpectOthersGoOn();
}

TEST_F(FaultsTest, AnErrorOfAKernelComesBackOnceAndNamesTheNode) {
  const Output indices = Placeholder("indices", DataType::kInt32, PartialShape::Vector(1));
  const Output axis = Constant(Tensor::Scalar<int32_t>(0));
  const Output rows = NodeOn("SIM:0", "rows", "GatherV2", {x, indices, axis});
  const std::vector<Feed> wrong = {feeds[0], {indices, Values<int32_t>({7})}};
  const std::vector<Feed> right = {feeds[0], {indices, Values<int32_t>({1})}};
  ExpectError(Error(rows, wrong), absl::StatusCode::kInvalidArgument,
              {"7", "rows", "SIM:0", "sim"});
  EXPECT_THAT(Elements<float>(Value(rows, right)), ElementsAre(2));
}

TEST_F(FaultsTest, ADeviceWithoutMemoryFailsTheStepAndNoOther) {
  ExpectWorks();
  const Output big = Placeholder("big", DataType::kFloat, PartialShape::Vector(-1));
  const Output twice = NodeOn("SIM:0", "twice", "Add", {big, big});
  const Tensor value = Tensor::Create(DataType::kFloat, Shape({10 << 20})).value();  // 40 of 64 MiB
  ExpectError(Error(twice, {{big, value}}), absl::StatusCode::kResourceExhausted,
              {"node 'big' (op Placeholder)", "41943040 bytes", "device:SIM:0", "1 live tensor:\n",
               "41943040 bytes, float32[10485760], twice:0: node 'twice' (op Add)"});
  ExpectWorks();
}

// What is kept for later is given up, and the device asked again.
TEST_F(FaultsTest, AnAllocationThatFailsOnceIsTriedAgain) {
  Set(0, "fail_alloc", 1);
  ExpectWorks();
}

// 20 plans for tensors of 12 MB each would keep four times the device's memory.
TEST_F(FaultsTest, MemoryThatPlansKeepForLaterIsGivenUpWhenItIsWanted) {
  const Output big = Placeholder("big", DataType::kFloat, PartialShape::Vector(-1));
  const Output sum = OpOn(
      "SIM:0", "Sum",
      {OpOn("SIM:0", "Neg", {OpOn("SIM:0", "Neg", {big})}), Constant(Tensor::Scalar<int32_t>(0))});
  for (int64_t i = 0; i < 20; ++i) {
    const Tensor value = Tensor::Create(DataType::kFloat, Shape({(3 << 20) + i})).value();
    std::fill_n(value.data<float>(), value.num_elements(), 0.0f);
    EXPECT_THAT(Elements<float>(Value(sum, {{big, value}})), ElementsAre(0)) << i;
  }
}

TEST_F(FaultsTest, SessionsThatFailedLeaveNoDeviceBehind) {
  const int before = OpenDevices();
  InAnotherSession([this] {
    Set(0, "lose_work", 1);
    ExpectError(Error(z, feeds), kUnavailable, {"lost"});
  });
  EXPECT_EQ(OpenDevices(), before);
}

}  // namespace
}  // namespace millstream
