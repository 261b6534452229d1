// What kernels launch, without a host.
#include "device_plugins/sim/launch.h"

#include <memory>
#include <stdexcept>
#include <vector>

#include "device_plugins/sim/copies.h"
#include "gtest/gtest.h"

namespace millstream::sim {
namespace {

class LaunchTest : public ::testing::Test {
 protected:
  LaunchTest() { Restart({}); }
  ~LaunchTest() override {
    if (stream_ != nullptr) device_->DestroyStream(stream_);
  }
  void Restart(const Switches& switches) {
    if (stream_ != nullptr) device_->DestroyStream(stream_);
    EXPECT_TRUE(Device::Create(0, switches, &device_).ok());
    EXPECT_TRUE(device_->CreateStream(MS_STREAM_COMPUTE, &stream_).ok());
    frame_ = MS_Frame{};
    frame_.device_state = device_.get();
    frame_.stream = reinterpret_cast<MS_Stream*>(stream_);
  }
  MS_MemRef Allocate(uint64_t bytes, uint32_t space = MS_SPACE_DEVICE) {
    MS_MemRef ref{};
    EXPECT_TRUE(device_->Allocate(space, bytes, 0, &ref).ok());
    return ref;
  }

  std::unique_ptr<Device> device_;
  Stream* stream_ = nullptr;
  MS_Frame frame_;
};

TEST_F(LaunchTest, WorkReachesTheDevicesMemory) {
  const ms::Frame frame(&frame_);
  const MS_MemRef input = Allocate(4 * sizeof(float));
  const MS_MemRef output = Allocate(4 * sizeof(float));
  const float values[] = {1, 2, 3, 4};
  const MS_MemRef host{const_cast<float*>(values), 0, sizeof(values), MS_SPACE_HOST, 0};
  ASSERT_TRUE(CopyAsync(stream_, input, host, sizeof(values)).ok());
  const int64_t dims[] = {3};
  MS_TensorView view{};
  view.mem = input;
  view.mem.offset = sizeof(float);  // the last three
  view.dims = dims;
  view.rank = 1;
  const float* const from = Local<float>(frame, ms::View(view));
  float* const to = Local(frame, static_cast<float*>(output.base));
  ASSERT_TRUE(Launch(frame, [from, to] {
                for (int i = 0; i < 3; ++i) to[i] = 2 * from[i];
              }).ok());
  float result[3] = {};
  const MS_MemRef back{result, 0, sizeof(result), MS_SPACE_HOST, 0};
  ASSERT_TRUE(CopyAsync(stream_, back, output, sizeof(result)).ok());
  ASSERT_TRUE(stream_->Sync().ok());
  EXPECT_EQ(std::vector<float>(result, result + 3), std::vector<float>({4, 6, 8}));
}

TEST_F(LaunchTest, HostMemoryIsWhereItIs) {
  const ms::Frame frame(&frame_);
  int local = 0;
  EXPECT_EQ(Local(frame, &local), &local);
  const MS_MemRef pinned = Allocate(8, MS_SPACE_HOST_PINNED);
  EXPECT_EQ(Local(frame, pinned.base), pinned.base);
  const MS_MemRef block = Allocate(8);
  EXPECT_NE(Local(frame, block.base), block.base);
  EXPECT_EQ(Local(frame, static_cast<char*>(nullptr)), nullptr);
}

TEST_F(LaunchTest, WhatWorkHoldsGoesWithIt) {
  const ms::Frame frame(&frame_);
  auto held = std::make_shared<int>(1);
  ASSERT_TRUE(Launch(frame, [held] {}).ok());
  ASSERT_TRUE(stream_->Sync().ok());
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(LaunchTest, WorkThatThrowsLosesTheDevice) {
  const ms::Frame frame(&frame_);
  bool is_done = false;
  ASSERT_TRUE(Launch(frame, [] { throw std::runtime_error("no such row"); }).ok());
  // Refused, if the device is lost already.
  EXPECT_NE(Launch(frame, [&is_done] { is_done = true; }).code(), MS_INTERNAL);
  const ms::Status status = stream_->Sync();
  EXPECT_EQ(status.code(), MS_UNAVAILABLE);
  EXPECT_EQ(status.message(), "SIM:0 is lost: work threw: no such row");
  EXPECT_FALSE(is_done);
}

TEST_F(LaunchTest, WhatFailedFirstIsSaidOnce) {
  const ms::Frame frame(&frame_);
  for (const char* const what : {"first", "second"}) {
    ASSERT_TRUE(Launch(frame, [this, what] { stream_->KeepFailure(ms::OutOfRange(what)); }).ok());
  }
  int done = 0;
  ASSERT_TRUE(Launch(frame, [&done] { ++done; }).ok()) << "the stream goes on";
  const ms::Status status = stream_->Sync();
  EXPECT_EQ(status.code(), MS_OUT_OF_RANGE);
  EXPECT_EQ(status.message(), "first");
  EXPECT_EQ(done, 1);
  EXPECT_TRUE(stream_->Sync().ok());
  bool idle = false;
  EXPECT_TRUE(stream_->Query(&idle).ok());
  stream_->KeepFailure(ms::OutOfRange("third"));
  EXPECT_EQ(stream_->Query(&idle).message(), "third");
  EXPECT_TRUE(stream_->Query(&idle).ok());
  EXPECT_TRUE(device_->Error().ok());
}

TEST_F(LaunchTest, FailWorkRefusesALaunch) {
  Switches switches;
  switches.fail_work = 2;
  Restart(switches);
  const ms::Frame frame(&frame_);
  EXPECT_TRUE(Launch(frame, [] {}).ok());
  EXPECT_EQ(Launch(frame, [] {}).message(), "SIM:0: work 2 fails: switch fail_work");
  EXPECT_TRUE(Launch(frame, [] {}).ok());
}

TEST(ModelledTimeTest, SpeedAndLatencyAndBandwidthAddUp) {
  using std::chrono::microseconds;
  Switches switches;
  Item work{Item::Kind::kWork};
  Item copy{Item::Kind::kCopy};
  copy.bytes = 1000000;
  EXPECT_EQ(Device::ModelledTime(switches, work, microseconds(7)), microseconds(7));
  EXPECT_EQ(Device::ModelledTime(switches, copy, microseconds(7)), microseconds(0));
  switches.latency_us = 10;
  switches.speed_percent = 25;
  switches.copy_mb_per_s = 1000;
  EXPECT_EQ(Device::ModelledTime(switches, work, microseconds(7)), microseconds(10 + 4 * 7));
  EXPECT_EQ(Device::ModelledTime(switches, copy, microseconds(7)), microseconds(10 + 1000));
}

}  // namespace
}  // namespace millstream::sim
