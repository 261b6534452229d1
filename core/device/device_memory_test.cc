#include "core/device/device_memory.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "core/device/sim_memory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kMegabyteOfWords = (1 << 20) / sizeof(uint32_t);
const std::map<std::string, uint64_t> kDelays = {{"delay_us", 200}};

// ---- Creation -----------------------------------------------------------------------------------

TEST(DeviceMemoryTest, ADeviceOfTheHostsMemoryHasNone) {
  const SimDevice device;
  MS_DeviceDesc description = SimDevice::Description();
  description.flags |= MS_DEVICE_HOST_IS_DEVICE;
  const auto memory = DeviceMemory::Create(device.open(), "SIM:0", description);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(*memory, nullptr);
}

// The simulated device finds no block for a handle to which anything was added.
TEST(DeviceMemoryTest, OpaqueMemoryIsKnownByHandlesAndOffsets) {
  SimMemory memory({{"opaque", 1}});
  const Tensor a = memory.Filled(1000, 1);
  const Tensor b = memory.Filled(1000, 2);
  EXPECT_TRUE(a.buffer()->is_opaque());
  EXPECT_NE(a.buffer()->data(), b.buffer()->data());
  EXPECT_TRUE(memory->is_opaque());
  const auto words = [](const Tensor& tensor, size_t first, int64_t count) {
    return Tensor(DataType::kUInt32, Shape({count}), tensor.buffer(), first * sizeof(uint32_t));
  };
  ASSERT_TRUE(memory->Copy(words(b, 0, 10), words(a, 500, 10)).ok());
  const std::vector<uint32_t> got = memory.Read(a);
  ASSERT_EQ(got.size(), 1000u);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], i >= 500 && i < 510 ? 2u : 1u) << i;
  EXPECT_THAT(memory.Read(memory.CopyToDevice(HostWords(77, 5))), Words(77, 5));
}

TEST(DeviceMemoryTest, OpaqueMemoryIsUsedAgainAsAWhole) {
  SimMemory memory({{"opaque", 1}});
  for (uint32_t i = 0; i < 50; ++i) {
    EXPECT_THAT(memory.Read(memory.Filled(1000, i)), Words(1000, i));
  }
  // A copy may still hold the block of the round before.
  EXPECT_LE(memory.device().Stats().num_allocs, 5);
  memory.AwaitAll();
  EXPECT_GT(memory->Trim(), 0);
  EXPECT_EQ(memory.device().Stats().in_use, 0);
}

// What has no pinned memory of its own takes the host's, which is registered for copies.
TEST(DeviceMemoryTest, HostMemoryIsRegisteredWhereThereIsNoPinnedMemory) {
  SimMemory memory({{"pinned", 0}});
  EXPECT_TRUE(memory->has_pinned());
  for (uint32_t i = 0; i < 50; ++i) {
    EXPECT_THAT(memory.Read(memory.CopyToDevice(HostWords(1000, i))), Words(1000, i));
  }
  {
    const StatusOr<Tensor> pinned = memory->AllocatePinned(DataType::kUInt32, Shape({10}));
    ASSERT_TRUE(pinned.ok()) << pinned.status();
    EXPECT_EQ(pinned->space(), MemorySpace::kPinned);
  }
  EXPECT_EQ(memory.device().Uses().registered, 1u) << "one region for all copies";
  memory.AwaitAll();
  EXPECT_GT(memory->Trim(), 0);
  EXPECT_EQ(memory.device().Uses().registered, 0u);
}

TEST(DeviceMemoryTest, WhatCannotBeRegisteredIsCopiedFromPlainMemory) {
  SimMemory memory({{"pinned", 0}}, 0, &RemoveOptionalFunctions);
  EXPECT_FALSE(memory->has_pinned());
  EXPECT_THAT(memory.Read(memory.CopyToDevice(HostWords(1000, 3))), Words(1000, 3));
  EXPECT_EQ(memory.device().Uses().registered, 0u);
}

TEST(DeviceMemoryTest, SizesThatAreNonsenseAreRefused) {
  SimMemory memory({{"garbage_sizes", 1}});
  EXPECT_EQ(memory.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(memory.status().message()),
              AllOf(HasSubstr("plugin millstream_sim"), HasSubstr("/device:SIM:0"),
                    HasSubstr("ms.device/1.mem_info")));
}

TEST(DeviceMemoryTest, ADeviceThatIsLostHasNoMemory) {
  SimMemory memory({{"lost", 1}});
  EXPECT_EQ(memory.status().code(), absl::StatusCode::kUnavailable);
}

// ---- Copies -------------------------------------------------------------------------------------

TEST(DeviceMemoryTest, BytesComeThroughBothWays) {
  SimMemory memory(kDelays);
  for (const int64_t words : {0, 1, 63, 64, 65, 1000, 300000}) {
    std::vector<uint32_t> values(words);
    for (int64_t i = 0; i < words; ++i) values[i] = static_cast<uint32_t>(i * 2654435761u);
    EXPECT_EQ(memory.Read(memory.CopyToDevice(Tensor::Vector<uint32_t>(values))), values);
  }
}

TEST(DeviceMemoryTest, WhatIsCopiedToTheDeviceMayChangeAtOnce) {
  SimMemory memory;
  memory.Set("hang_copy", 1);
  Tensor host = HostWords(1000, 7);
  const Tensor copy = memory.CopyToDevice(host);
  std::memset(host.raw(), 0, host.bytes());
  memory.Set("hang_copy", 0);
  EXPECT_THAT(memory.Read(copy), Words(1000, 7));
}

TEST(DeviceMemoryTest, WorkThatIsEnqueuedBehindACopyFindsIt) {
  SimMemory memory;
  memory.Set("hang_copy", 1);
  const Tensor copy = memory.CopyToDevice(HostWords(1000, 7));
  const StatusOr<Tensor> twin = memory->Duplicate(copy);
  ASSERT_TRUE(twin.ok()) << twin.status();
  memory.Set("hang_copy", 0);
  EXPECT_THAT(memory.Read(*twin), Words(1000, 7));
}

TEST(DeviceMemoryTest, ACopyToTheHostWaitsForWhatIsComputed) {
  SimMemory memory;
  memory.Set("hang_work", 1);
  const Tensor tensor = memory.Filled(1000, 5);
  absl::Notification copied;
  const StatusOr<Tensor> host = memory->CopyToHost(tensor, [&](const Tensor&) { copied.Notify(); });
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_FALSE(copied.HasBeenNotified());
  memory.Set("hang_work", 0);
  copied.WaitForNotification();
  EXPECT_THAT(host->flat<uint32_t>(), Each(5));
}

TEST(DeviceMemoryTest, AResultIsCompleteWhenItIsTold) {
  SimMemory memory({{"delay_us", 50}, {"latency_us", 20}});
  std::atomic<int> told{0};
  std::atomic<int> wrong{0};
  constexpr int kCopies = 200;
  for (uint32_t i = 0; i < kCopies; ++i) {
    const auto look = [&, i](const Tensor& host) {
      for (const uint32_t word : host.flat<uint32_t>()) wrong += word != i;
      ++told;
    };
    ASSERT_TRUE(memory->CopyToHost(memory.Filled(100 + i, i), look).ok());
  }
  memory.AwaitAll();
  EXPECT_EQ(told, kCopies);
  EXPECT_EQ(wrong, 0);
}

TEST(DeviceMemoryTest, AReaderWaitsForTheValue) {
  SimMemory memory(kDelays);
  const Tensor tensor = memory.Filled(10, 3);
  const StatusOr<Tensor> host = memory->ReadOnHost(tensor, [] { return absl::OkStatus(); });
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_THAT(host->flat<uint32_t>(), Each(3));
}

TEST(DeviceMemoryTest, AReaderCanBeStoppedAndTheDeviceClosedWhateverItDoes) {
  SimMemory memory;
  memory.Set("hang_work", 1);
  const Tensor tensor = memory.Filled(10, 3);
  const auto stopping = [] { return errors::Cancelled("enough"); };
  EXPECT_EQ(memory->ReadOnHost(tensor, stopping).status(), errors::Cancelled("enough"));
  EXPECT_FALSE(memory->ForgetAbandoned());
  memory->Close();
}

TEST(DeviceMemoryTest, ADuplicateIsOnItsOwn) {
  SimMemory memory(kDelays);
  const Tensor tensor = memory.Filled(1000, 1);
  const StatusOr<Tensor> twin = memory->Duplicate(tensor);
  ASSERT_TRUE(twin.ok()) << twin.status();
  ASSERT_TRUE(memory.Fill(tensor, 2).ok());
  EXPECT_THAT(memory.Read(*twin), Words(1000, 1));
  EXPECT_THAT(memory.Read(tensor), Words(1000, 2));
}

TEST(DeviceMemoryTest, ADeviceCopiesFromItsPeer) {
  SimMemory from(kDelays, 0);
  SimMemory to(kDelays, 1);
  ASSERT_TRUE(to->CanCopyFrom(*from.get()));
  for (uint32_t i = 0; i < 50; ++i) {
    Tensor tensor = from.Filled(1000, i);
    const StatusOr<EventRef> ready = from->MarkCompute();
    ASSERT_TRUE(ready.ok()) << ready.status();
    const StatusOr<Tensor> copy = to->CopyFromPeer(tensor, *ready);
    ASSERT_TRUE(copy.ok()) << copy.status();
    tensor = Tensor();  // nobody else gets its memory before it was read
    from.Filled(1000, ~i);
    EXPECT_THAT(to.Read(*copy), Words(1000, i));
  }
}

TEST(DeviceMemoryTest, WhatHasNoPeersIsNotCopiedFrom) {
  SimMemory a({{"peer", 0}}, 0);
  SimMemory b({}, 1);
  EXPECT_FALSE(b->CanCopyFrom(*a.get()));
  EXPECT_FALSE(a->CanCopyFrom(*b.get()));
}

// ---- Memory -------------------------------------------------------------------------------------

TEST(DeviceMemoryTest, TheSameStreamHasMemoryAgainAtOnce) {
  SimMemory memory;
  memory.Set("hang_work", 1);
  Tensor tensor = memory.Filled(1000, 1);
  void* const address = tensor.raw();
  tensor = Tensor();
  EXPECT_EQ(memory.Allocate(1000).raw(), address);
  memory.Set("hang_work", 0);
}

// There is room for one tensor: what is copied there has to wait until the work before is done.
TEST(DeviceMemoryTest, OtherStreamsWaitOnTheDeviceForMemory) {
  SimMemory memory({{"memory_mb", 1}});
  memory.Set("hang_work", 1);
  Tensor tensor = memory.Filled(kMegabyteOfWords, 1);
  void* const address = tensor.raw();
  tensor = Tensor();
  const Tensor copy = memory.CopyToDevice(HostWords(kMegabyteOfWords, 2));
  EXPECT_EQ(copy.raw(), address);
  bool idle = true;
  ASSERT_TRUE(memory->to_device()->Query(&idle).ok());
  EXPECT_FALSE(idle);
  memory.Set("hang_work", 0);
  EXPECT_THAT(memory.Read(copy), Words(kMegabyteOfWords, 2));
}

TEST(DeviceMemoryTest, WhatDoesNotFitIsRefusedWithSizesAndDevice) {
  SimMemory memory({{"memory_mb", 1}});
  const Tensor half = memory.Allocate(kMegabyteOfWords / 2);
  const Status status = memory->Allocate(DataType::kUInt32, Shape({kMegabyteOfWords})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("no 1048576 bytes"), HasSubstr("of 1048576 bytes, 524288 are in use"),
                    HasSubstr("largest piece of which is 524288"),
                    HasSubstr("for uint32[262144] on /device:SIM:0")));
}

// Pieces that nobody uses any more are given back to make room for a large one.
TEST(DeviceMemoryTest, FreeRegionsMakeRoomForALargerOne) {
  SimMemory memory({{"memory_mb", 4}});
  { const Tensor first = memory.Filled(kMegabyteOfWords * 2, 1); }
  memory.AwaitAll();
  const Tensor second = memory.Filled(kMegabyteOfWords * 3, 2);
  EXPECT_THAT(memory.Read(second), Words(kMegabyteOfWords * 3, 2));
}

// What fits does not depend on how fast the device is.
TEST(DeviceMemoryTest, MemoryThatTheDeviceStillUsesIsWaitedFor) {
  SimMemory memory({{"memory_mb", 4}, {"latency_us", 20000}});
  { const Tensor first = memory.Filled(kMegabyteOfWords * 2, 1); }
  const Tensor second = memory.Filled(kMegabyteOfWords * 3, 2);
  EXPECT_THAT(memory.Read(second), Words(kMegabyteOfWords * 3, 2));
}

TEST(DeviceMemoryTest, MemoryThatIsStillCopiedFromIsWaitedFor) {
  SimMemory memory({{"memory_mb", 4}, {"latency_us", 20000}});
  std::atomic<int> wrong{0};
  const auto look = [&](const Tensor& host) {
    for (const uint32_t word : host.flat<uint32_t>()) wrong += word != 1;
  };
  ASSERT_TRUE(memory->CopyToHost(memory.Filled(kMegabyteOfWords * 3, 1), look).ok());
  const Tensor second = memory.Filled(kMegabyteOfWords * 2, 2);
  EXPECT_THAT(memory.Read(second), Words(kMegabyteOfWords * 2, 2));
  EXPECT_EQ(wrong, 0);
}

TEST(DeviceMemoryTest, TrimGivesBackWhatNobodyUses) {
  SimMemory memory(kDelays);
  {
    const Tensor first = memory.Filled(kMegabyteOfWords * 2, 1);
    const Tensor second = memory.CopyToDevice(HostWords(kMegabyteOfWords, 1));
  }
  memory.AwaitAll();
  EXPECT_GT(memory.device().Stats().in_use, 0);
  EXPECT_GT(memory->Trim(), 0);
  EXPECT_EQ(memory.device().Stats().in_use, 0);
  EXPECT_EQ(memory->stats().reserved, 0);
}

TEST(DeviceMemoryTest, TrimLeavesWhatTheDeviceStillUses) {
  SimMemory memory;
  memory.Set("hang_work", 1);
  { const Tensor tensor = memory.Filled(kMegabyteOfWords, 1); }
  EXPECT_EQ(memory->Trim(), 0);
  memory.Set("hang_work", 0);
  memory.AwaitAll();
  EXPECT_EQ(memory->Trim(), size_t{1} << 20);
}

std::atomic<int> pinned_allocations{0};
decltype(MS_DeviceApi::mem_alloc) real_mem_alloc = nullptr;

MS_Status* CountPinned(MS_Device* device, uint32_t space, uint64_t bytes, uint64_t alignment,
                       MS_MemRef* out) {
  pinned_allocations += space == MS_SPACE_HOST_PINNED;
  return real_mem_alloc(device, space, bytes, alignment, out);
}

TEST(DeviceMemoryTest, PinnedMemoryIsUsedAgain) {
  pinned_allocations = 0;
  SimMemory memory({}, 0, [](MS_DeviceApi* functions) {
    real_mem_alloc = functions->mem_alloc;
    functions->mem_alloc = &CountPinned;
  });
  const Tensor host = HostWords(1000, 3);
  for (int i = 0; i < 500; ++i) {
    Tensor copy;
    for (int j = 0; j < 20; ++j) copy = memory.CopyToDevice(host);
    EXPECT_THAT(memory.Read(copy), Words(1000, 3));
  }
  EXPECT_EQ(pinned_allocations, 1);
  EXPECT_LE(memory->stats().peak_reserved, size_t{1} << 21);
}

}  // namespace
}  // namespace millstream
