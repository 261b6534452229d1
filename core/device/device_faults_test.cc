// What DeviceMemory does when a device ends, fails, hangs or is lost, and with one that has only
// what every device must have.
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "core/device/device_memory.h"
#include "core/device/sim_memory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kMegabyteOfWords = (1 << 20) / sizeof(uint32_t);
const std::map<std::string, uint64_t> kDelays = {{"delay_us", 200}};

TEST(DeviceFaultsTest, ClosingWaitsForAllThatWasEnqueued) {
  SimMemory memory(kDelays);
  std::atomic<int> told{0};
  for (uint32_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(memory->CopyToHost(memory.Filled(100, i), [&](const Tensor&) { ++told; }).ok());
  }
  memory->Close();
  EXPECT_EQ(told, 20);
  memory->Close();
}

void ExpectLost(const Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("plugin millstream_sim, device /device:SIM:0"), HasSubstr("SIM:0 is lost")));
}

TEST(DeviceFaultsTest, ALostDeviceFailsAllAndCanBeClosed) {
  SimMemory memory;
  const Tensor tensor = memory.Filled(10, 1);
  absl::Notification told;
  memory.Set("hang_copy", 1);
  const StatusOr<Tensor> host = memory->CopyToHost(tensor, [&](const Tensor&) { told.Notify(); });
  ASSERT_TRUE(host.ok()) << host.status();
  memory.Set("lost", 1);
  told.WaitForNotification();  // without a value
  ExpectLost(memory->LostError());
  ExpectLost(memory->ErrorSince(memory->num_errors()));
  ExpectLost(memory->CopyToDevice(HostWords(10, 1)).status());
  ExpectLost(memory->CopyToHost(tensor, nullptr).status());
  ExpectLost(memory->ReadOnHost(tensor, [] { return absl::OkStatus(); }).status());
  ExpectLost(memory->Duplicate(tensor).status());
  ExpectLost(memory->MarkCompute().status());
  ExpectLost(memory->AwaitCompute());
  ExpectLost(memory->CallWhenDone([] { ADD_FAILURE() << "called"; }));
  ExpectLost(memory->CallAfterCopies([] { ADD_FAILURE() << "called"; }));
  ExpectLost(memory->Allocate(DataType::kUInt32, Shape({100 * kMegabyteOfWords})).status());
  memory->Close();
}

TEST(DeviceFaultsTest, AFailedCopyFailsAloneAndNamesPluginAndDevice) {
  SimMemory memory;
  const Tensor tensor = memory.Filled(10, 4);
  memory.Set("fail_copy", 1);
  const Status status = memory->CopyToHost(tensor, nullptr).status();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("plugin millstream_sim, device /device:SIM:0, copy to the host"),
                    HasSubstr("fail_copy")));
  EXPECT_THAT(memory.Read(tensor), Words(10, 4));
}

TEST(DeviceFaultsTest, AnAllocationThatFailsOnceIsTriedAgainWithWhatIsNeeded) {
  SimMemory memory;
  memory.Set("fail_alloc", 1);
  EXPECT_THAT(memory.Read(memory.Filled(10, 4)), Words(10, 4));
}

TEST(DeviceFaultsTest, ErrorsOfTheDeviceThatAreNotOfMemoryKeepTheirCode) {
  SimMemory memory({}, 0, [](MS_DeviceApi* functions) {
    functions->mem_alloc = [](MS_Device*, uint32_t, uint64_t bytes, uint64_t, MS_MemRef* out) {
      *out = MS_MemRef{reinterpret_cast<void*>(uintptr_t{0x1001}), 0, bytes, 0, 0};
      return static_cast<MS_Status*>(nullptr);
    };
    functions->mem_free = [](MS_Device*, const MS_MemRef*) {};
  });
  const Status status = memory->Allocate(DataType::kUInt32, Shape({10})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("ms.device/1.mem_alloc"), HasSubstr("1001"),
                    HasSubstr("plugin millstream_sim"), HasSubstr("/device:SIM:0")));
}

// What an allocator gives that knows one place.
char one_place[size_t{8} << 20];
size_t next_distance = 0;  // from one block to the next
size_t next_block = 0;

void GiveFromOnePlace(MS_DeviceApi* functions) {
  functions->mem_alloc = [](MS_Device*, uint32_t, uint64_t bytes, uint64_t alignment,
                            MS_MemRef* out) {
    auto start = reinterpret_cast<uintptr_t>(one_place);
    start = (start + alignment - 1) / alignment * alignment;
    *out = MS_MemRef{reinterpret_cast<void*>(start), next_block, bytes, 0, 0};
    next_block += next_distance;
    return static_cast<MS_Status*>(nullptr);
  };
  functions->mem_free = [](MS_Device*, const MS_MemRef*) {};
}

TEST(DeviceFaultsTest, BlocksThatOverlapAreFoundAndNamePluginAndDevice) {
  constexpr size_t kRegion = size_t{1} << 20;
  // The same place again; the second half of the block before; a block that ends in the one after.
  for (const size_t distance : {size_t{0}, kRegion / 2, ~(kRegion / 2) + 1}) {
    next_distance = distance;
    next_block = 2 * kRegion;
    SimMemory memory({}, 0, &GiveFromOnePlace);
    const StatusOr<Tensor> first = memory->Allocate(DataType::kUInt32, Shape({kMegabyteOfWords}));
    ASSERT_TRUE(first.ok()) << first.status();
    const Status second = memory->Allocate(DataType::kUInt32, Shape({kMegabyteOfWords})).status();
    EXPECT_EQ(second.code(), absl::StatusCode::kInternal) << distance;
    EXPECT_THAT(std::string(second.message()),
                AllOf(HasSubstr("plugin millstream_sim, device /device:SIM:0"),
                      HasSubstr("ms.device/1.mem_alloc gave 1048576 bytes at 0x"),
                      HasSubstr("which overlap the 1048576 bytes at 0x")));
  }
}

TEST(DeviceFaultsTest, BlocksThatTouchAreTwo) {
  next_distance = size_t{1} << 20;
  next_block = 0;
  SimMemory memory({}, 0, &GiveFromOnePlace);
  std::vector<Tensor> tensors;
  for (int i = 0; i < 2; ++i) {
    const StatusOr<Tensor> tensor = memory->Allocate(DataType::kUInt32, Shape({kMegabyteOfWords}));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    tensors.push_back(*tensor);
  }
  EXPECT_NE(tensors[0].raw(), tensors[1].raw());
}

std::atomic<int> host_functions_left{0};
decltype(MS_DeviceApi::stream_host_fn) real_host_fn = nullptr;

MS_Status* HostFunctionThatMayFail(MS_Stream* stream, void (*call)(void*), void* user) {
  if (host_functions_left-- > 0) return real_host_fn(stream, call, user);
  return ToAbiStatus(errors::Internal("no host functions are left"));
}

// Nobody will tell when such a copy is over: its memory is nobody else's until the device ends.
TEST(DeviceFaultsTest, ACopyThatCannotBeFollowedKeepsItsMemory) {
  SimMemory memory({}, 0, [](MS_DeviceApi* functions) {
    real_host_fn = functions->stream_host_fn;
    functions->stream_host_fn = &HostFunctionThatMayFail;
  });
  host_functions_left = 0;
  memory.Set("hang_copy", 1);
  const Status up = memory->CopyToDevice(HostWords(1000, 1)).status();
  EXPECT_EQ(up.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(up.message()),
              AllOf(HasSubstr("no host functions"), HasSubstr("device /device:SIM:0")));
  const size_t kept = memory->stats().in_use;
  EXPECT_GE(kept, 4000);
  EXPECT_FALSE(memory->CopyToHost(memory.Filled(1000, 1), nullptr).ok());
  EXPECT_EQ(memory->stats().in_use, 2 * kept);
  memory.Set("hang_copy", 0);
  memory->Close();
  EXPECT_EQ(memory->stats().in_use, 0);
}

// Work that fails on the device, as a kernel's does, of which the plugin tells once.
std::atomic<int> failures_left{0};
decltype(MS_DeviceApi::stream_query) real_query = nullptr;

TEST(DeviceFaultsTest, AnErrorIsToldToAllWhoWereAtWork) {
  SimMemory memory({}, 0, [](MS_DeviceApi* functions) {
    real_query = functions->stream_query;
    functions->stream_query = [](MS_Stream* stream, uint8_t* idle) {
      if (failures_left-- > 0) return ToAbiStatus(errors::OutOfRange("an index"));
      return real_query(stream, idle);
    };
  });
  failures_left = 0;
  const int64_t before = memory->num_errors();
  EXPECT_EQ(memory->ErrorSince(before), absl::OkStatus());
  failures_left = 1;
  const Status first = memory->ErrorSince(before);
  EXPECT_EQ(first.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(first.message()),
              AllOf(HasSubstr("an index"), HasSubstr("device /device:SIM:0")));
  EXPECT_EQ(memory->ErrorSince(before), first);
  EXPECT_EQ(memory->ErrorSince(memory->num_errors()), absl::OkStatus());
}

class HangTest : public ::testing::TestWithParam<const char*> {};

TEST_P(HangTest, ADeviceThatHangsIsClosedWhenItsWorkWasAbandoned) {
  SimMemory memory;
  memory.Set(GetParam(), 1);
  const Tensor copy = memory.CopyToDevice(HostWords(10, 2));
  ASSERT_TRUE(memory.Fill(copy, 3).ok());
  auto called = std::make_shared<std::atomic<bool>>(false);
  ASSERT_TRUE(memory->CallWhenDone([called] { called->store(true); }).ok());
  EXPECT_TRUE(memory->ForgetAbandoned());
  memory->NoteAbandoned();
  EXPECT_FALSE(memory->ForgetAbandoned());
  memory->Close();
  EXPECT_TRUE(*called);
}

TEST_P(HangTest, AbandonedWorkIsForgottenOnceItHasEnded) {
  SimMemory memory;
  memory.Set(GetParam(), 1);
  const Tensor copy = memory.CopyToDevice(HostWords(10, 2));
  ASSERT_TRUE(memory.Fill(copy, 3).ok());
  memory->NoteAbandoned();
  EXPECT_FALSE(memory->ForgetAbandoned());
  memory.Set(GetParam(), 0);
  while (!memory->ForgetAbandoned()) {
  }
  EXPECT_THAT(memory.Read(copy), Words(10, 3));
  memory->Close();
}

TEST_P(HangTest, WhatWasAbandonedBeforeIsForgottenAlone) {
  SimMemory memory;
  const Tensor copy = memory.CopyToDevice(HostWords(10, 2));
  memory->NoteAbandoned();
  memory->NoteAbandoned();
  EXPECT_TRUE(memory->HasAbandoned());
  while (!memory->ForgetAbandoned()) {
  }
  EXPECT_FALSE(memory->HasAbandoned());
  memory.Set(GetParam(), 1);
  ASSERT_TRUE(memory.Fill(copy, 3).ok());
  const Tensor another = memory.CopyToDevice(HostWords(10, 2));
  memory->NoteAbandoned();
  EXPECT_FALSE(memory->ForgetAbandoned());
  EXPECT_TRUE(memory->HasAbandoned());
  memory->Close();
}

INSTANTIATE_TEST_SUITE_P(Switches, HangTest, ::testing::Values("hang_copy", "hang_work"));

// ---- Devices that have only what every device must have ----------------------------------------

class PlainDeviceTest : public ::testing::Test {
 protected:
  PlainDeviceTest() : memory_(kDelays, 0, &RemoveOptionalFunctions) {}
  SimMemory memory_;
};

TEST_F(PlainDeviceTest, BytesComeThroughBothWays) {
  for (uint32_t i = 0; i < 50; ++i) {
    const Tensor copy = memory_.CopyToDevice(HostWords(1000, i));
    const StatusOr<Tensor> twin = memory_->Duplicate(copy);
    ASSERT_TRUE(twin.ok()) << twin.status();
    EXPECT_THAT(memory_.Read(*twin), Words(1000, i));
  }
}

TEST_F(PlainDeviceTest, ThereAreNoPeers) {
  SimMemory whole({}, 1);
  EXPECT_FALSE(memory_->CanCopyFrom(*whole.get()));
}

TEST_F(PlainDeviceTest, ClosingCallsWhatIsLeftAndFreesWhatItHolds) {
  std::atomic<int> told{0};
  for (uint32_t i = 0; i < 50; ++i) {
    const Tensor copy = memory_.CopyToDevice(HostWords(1000, i));
    ASSERT_TRUE(memory_->CopyToHost(copy, [&](const Tensor&) { ++told; }).ok());
  }
  memory_->Close();
  EXPECT_EQ(told, 50);
  EXPECT_EQ(memory_->stats().in_use, 0);
}

TEST_F(PlainDeviceTest, ALostDeviceEndsWhatWaitsForIt) {
  memory_.Set("hang_copy", 1);
  absl::Notification told;
  const Tensor tensor = memory_.Allocate(10);
  ASSERT_TRUE(memory_->CopyToHost(tensor, [&](const Tensor&) { told.Notify(); }).ok());
  memory_.Set("lost", 1);
  told.WaitForNotification();
  ExpectLost(memory_->LostError());
}

TEST_F(PlainDeviceTest, ADeviceThatHangsIsClosedWhenItsWorkWasAbandoned) {
  memory_.Set("hang_copy", 1);
  absl::Notification told;
  const Tensor tensor = memory_.Allocate(10);
  ASSERT_TRUE(memory_->CopyToHost(tensor, [&](const Tensor&) { told.Notify(); }).ok());
  memory_->NoteAbandoned();
  memory_->Close();
  EXPECT_TRUE(told.HasBeenNotified());
}

}  // namespace
}  // namespace millstream
