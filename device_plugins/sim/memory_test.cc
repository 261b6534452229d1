// Memory of simulated devices, through the plugin's tables.
#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "device_plugins/sim/sim_fixture.h"
#include "gmock/gmock.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMegabyte = 1 << 20;

uint64_t AddressOf(const MS_MemRef& ref) { return reinterpret_cast<uint64_t>(ref.base); }

TEST(SimMemoryTest, TheHostCannotTouchIt) {
  SimDevice device({{"memory_mb", 1}});
  const MS_MemRef all = device.Allocate(kMegabyte);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (uint64_t at = 0; at < kMegabyte; at += 4096) {
    ASSERT_EQ(write(ends[1], static_cast<char*>(all.base) + at, 1), -1) << at;
    ASSERT_EQ(errno, EFAULT);
  }
  close(ends[0]);
  close(ends[1]);
}

TEST(SimMemoryDeathTest, TheHostFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SimDevice device;
  const MS_MemRef block = device.Allocate(16);
  EXPECT_DEATH(*static_cast<volatile char*>(block.base) = 1, "");
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile char*>(block.base)), "");
}

TEST(SimMemoryTest, CopiesReachIt) {
  SimDevice device;
  const MS_MemRef block = device.Allocate(5);
  device.Write(block, "hello");
  EXPECT_EQ(device.Read(block), "hello");
}

TEST(SimMemoryTest, TheLimitIsHard) {
  SimDevice device({{"memory_mb", 1}});
  device.Allocate(kMegabyte / 2);
  const Status status = device.AllocationError(kMegabyte / 2 + 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "SIM:0: no 524289 bytes of device memory: 1048576 there are, 524288 are in use, the "
            "largest free block has 524288");
  EXPECT_EQ(device.AllocationError(UINT64_MAX).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(device.Allocate(kMegabyte / 2).bytes, kMegabyte / 2) << "the very rest";
  EXPECT_EQ(device.AllocationError(1).code(), absl::StatusCode::kResourceExhausted);
}

TEST(SimMemoryTest, WholePagesOfTheHostAreRegisteredOnce) {
  SimDevice device({{"pinned", 0}});
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<char> bytes(5 * page);
  char* const begin = &bytes[page - reinterpret_cast<uintptr_t>(bytes.data()) % page];
  const auto registered = [&](char* address, size_t size) {
    return TakeAbiStatus(device->host_register(device.get(), address, size));
  };
  ASSERT_EQ(registered(begin + page, 2 * page), absl::OkStatus());
  EXPECT_EQ(registered(begin, page), absl::OkStatus());
  for (const size_t at : {size_t{0}, page, 2 * page}) {
    const Status again = registered(begin + at, 2 * page);
    EXPECT_EQ(again.code(), absl::StatusCode::kInvalidArgument) << at;
    EXPECT_THAT(std::string(again.message()), HasSubstr("some are registered already"));
  }
  EXPECT_THAT(std::string(registered(begin + 3 * page, page - 1).message()),
              HasSubstr("are not whole pages"));
  EXPECT_THAT(std::string(registered(begin + 3 * page + 64, page).message()),
              HasSubstr("are not whole pages"));
  EXPECT_EQ(device.Uses().registered, 2u);
  device->host_unregister(device.get(), begin);
  device->host_unregister(device.get(), begin + page);
  EXPECT_EQ(device.Uses().registered, 0u);
}

TEST(SimMemoryTest, EachDeviceHasItsOwn) {
  SimDevice first({{"memory_mb", 1}});
  SimDevice second({{"memory_mb", 1}});
  SimDevice other({{"memory_mb", 2}}, 1);
  EXPECT_NE(AddressOf(first.Allocate(kMegabyte)), AddressOf(second.Allocate(kMegabyte)));
  EXPECT_EQ(other.Allocate(2 * kMegabyte).device_index, 1u);
}

TEST(SimMemoryTest, BlocksAreAligned) {
  SimDevice device;
  for (uint64_t alignment : {0, 1, 64, 256, 4096, 1 << 20, 1 << 22}) {
    for (uint32_t space : {MS_SPACE_DEVICE, MS_SPACE_HOST_PINNED, MS_SPACE_HOST}) {
      device.Allocate(1, space);
      const MS_MemRef block = device.Allocate(100, space, alignment);
      EXPECT_EQ(AddressOf(block) % std::max<uint64_t>(alignment, 256), 0u);
      EXPECT_EQ(block.space, space);
      EXPECT_EQ(block.offset, 0u);
      EXPECT_EQ(block.bytes, 100u);
    }
  }
  EXPECT_EQ(device.AllocationError(8, 24).code(), absl::StatusCode::kInvalidArgument);
}

TEST(SimMemoryTest, NothingHasNoAddress) {
  SimDevice device;
  for (uint32_t space : {MS_SPACE_DEVICE, MS_SPACE_HOST_PINNED, MS_SPACE_HOST}) {
    const MS_MemRef nothing = device.Allocate(0, space);
    EXPECT_EQ(nothing.base, nullptr);
    ExpectOk(device->copy_async(device.stream(), &nothing, &nothing, 0));
  }
  MS_MemRef managed = {};
  EXPECT_EQ(CodeOf(device->mem_alloc(device.get(), MS_SPACE_MANAGED, 8, 0, &managed)),
            absl::StatusCode::kUnimplemented);
}

TEST(SimMemoryTest, WhatIsFreedIsUsedAgainAndFragmentationShows) {
  SimDevice device({{"memory_mb", 1}});
  MS_MemRef parts[4];
  for (MS_MemRef& part : parts) part = device.Allocate(kMegabyte / 4);
  device.Free(parts[0]);
  device.Free(parts[2]);
  EXPECT_EQ(device.Stats().in_use, kMegabyte / 2);
  EXPECT_EQ(device.Stats().largest_free, kMegabyte / 4);
  EXPECT_THAT(std::string(device.AllocationError(kMegabyte / 2).message()),
              HasSubstr("the largest free block has 262144"));
  device.Free(parts[1]);
  EXPECT_EQ(device.Stats().largest_free, 3 * kMegabyte / 4);
  EXPECT_EQ(AddressOf(device.Allocate(kMegabyte / 2)), AddressOf(parts[0]));
}

TEST(SimMemoryTest, ItIsCounted) {
  SimDevice device({{"memory_mb", 1}});
  const MS_MemRef a = device.Allocate(1000);
  device.Allocate(300);
  device.Free(a);
  device.Allocate(5000, MS_SPACE_HOST_PINNED);
  const MS_MemStats stats = device.Stats();
  EXPECT_EQ(stats.valid_mask, 1u | 2u | 16u | 32u | 64u | 128u);
  EXPECT_EQ(stats.in_use, 512u) << "rounded up to the granularity; the host's does not count";
  EXPECT_EQ(stats.peak, 1024u + 512u);
  EXPECT_EQ(stats.limit, kMegabyte);
  EXPECT_EQ(stats.num_allocs, 2u);
  EXPECT_EQ(stats.largest_alloc, 1000u);
  uint64_t free_bytes = 0, total_bytes = 0;
  ExpectOk(device->mem_info(device.get(), &free_bytes, &total_bytes));
  EXPECT_EQ(total_bytes, kMegabyte);
  EXPECT_EQ(free_bytes, kMegabyte - 512);
  MS_MemStats small = {};
  small.head.size = 16;
  EXPECT_EQ(CodeOf(device->mem_stats(device.get(), &small)), absl::StatusCode::kInvalidArgument);
}

TEST(SimMemoryTest, WhatWasNotWrittenIsNaN) {
  SimDevice device({{"memory_mb", 1}});
  const MS_MemRef block = device.Allocate(8);
  float floats[2];
  std::memcpy(floats, device.Read(block).data(), 8);
  EXPECT_TRUE(std::isnan(floats[0]));
  EXPECT_TRUE(std::isnan(floats[1]));
  const MS_MemRef pinned = device.Allocate(8, MS_SPACE_HOST_PINNED);
  EXPECT_TRUE(std::isnan(*static_cast<double*>(pinned.base)));
}

// Freed memory is poisoned at once: what still reads it would see that, and not only when somebody
// gets the same block.
TEST(SimMemoryTest, WhatWasFreedIsNaN) {
  SimDevice device({{"memory_mb", 1}});
  const MS_MemRef left = device.Allocate(256);
  const MS_MemRef block = device.Allocate(256);
  device.Write(block, "data");
  // A copy that is on its way when the block is freed.
  EXPECT_TRUE(device.Set("hang_copy", 1).ok());
  std::string seen(4, '?');
  const MS_MemRef to = HostRef(seen.data(), seen.size());
  ExpectOk(device->copy_async(device.stream(), &to, &block, 4));
  device.Free(block);
  EXPECT_TRUE(device.Set("hang_copy", 0).ok());
  ExpectOk(device->stream_sync(device.stream()));
  EXPECT_EQ(seen, "\xff\xff\xff\xff");
  device.Free(left);
}

TEST(SimMemoryTest, WithoutPoisonOldBytesStay) {
  SimDevice device({{"memory_mb", 1}, {"poison", 0}});
  const MS_MemRef block = device.Allocate(256);
  device.Write(block, "data");
  device.Free(block);
  const MS_MemRef again = device.Allocate(4);
  EXPECT_EQ(device.Read(again), "data");
}

TEST(SimMemoryTest, WhatIsNotAllocatedIsNotFreed) {
  SimDevice device;
  SimDevice other;
  const MS_MemRef block = device.Allocate(16);
  testing::internal::CaptureStderr();
  MS_MemRef inside = block;
  inside.base = static_cast<char*>(inside.base) + 8;
  device->mem_free(device.get(), &inside);
  other->mem_free(other.get(), &block);
  int local = 0;
  const MS_MemRef host = HostRef(&local, sizeof(local));
  device->mem_free(device.get(), &host);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("SIM:0: nothing is allocated at 0x"));
  EXPECT_THAT(log, HasSubstr("space 2, that could be freed"));
  EXPECT_EQ(device.Stats().in_use, 256u);
}

TEST(SimMemoryTest, WhatWasNeverFreedIsReported) {
  testing::internal::CaptureStderr();
  {
    SimDevice device;
    MS_MemRef forgotten = {};
    ExpectOk(device->mem_alloc(device.get(), MS_SPACE_DEVICE, 8, 0, &forgotten));
    ExpectOk(device->mem_alloc(device.get(), MS_SPACE_HOST, 8, 0, &forgotten));
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("SIM:0: 2 blocks of memory were never freed"));
}

// ---- What copies are checked for ----------------------------------------------------------------

class SimCopyCheckTest : public ::testing::Test {
 protected:
  // The message of a copy that is refused.
  std::string ErrorOfCopy(const MS_MemRef& to, const MS_MemRef& from, uint64_t bytes) {
    const Status status = TakeAbiStatus(device_->copy_async(device_.stream(), &to, &from, bytes));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  SimDevice device_;
  MS_MemRef block_ = device_.Allocate(100);
  char bytes_[200] = {};
  MS_MemRef host_ = HostRef(bytes_, sizeof(bytes_));
};

TEST_F(SimCopyCheckTest, MoreThanABlockHas) {
  EXPECT_THAT(ErrorOfCopy(host_, block_, 101), HasSubstr("SIM:0: 101 bytes of a block of 100"));
  MS_MemRef lies = block_;
  lies.bytes = 200000;
  EXPECT_THAT(ErrorOfCopy(lies, host_, 201), HasSubstr("SIM:0: 201 bytes of a block of 200"));
  lies.bytes = 1000;
  lies.offset = 200;
  EXPECT_THAT(ErrorOfCopy(lies, host_, 100), HasSubstr("are not in one block of its memory"));
}

TEST_F(SimCopyCheckTest, MemoryThatIsNotThere) {
  device_.Free(block_);
  EXPECT_THAT(ErrorOfCopy(host_, block_, 100), HasSubstr("are not in one block of its memory"));
  MS_MemRef strange = host_;
  strange.space = MS_SPACE_DEVICE;
  EXPECT_THAT(ErrorOfCopy(strange, host_, 8), HasSubstr("are not in one block of its memory"));
}

TEST_F(SimCopyCheckTest, DeviceMemoryThatIsCalledTheHosts) {
  MS_MemRef lies = block_;
  lies.space = MS_SPACE_HOST;
  EXPECT_THAT(ErrorOfCopy(lies, host_, 8), HasSubstr("is said to be host memory, and is memory of "
                                                     "a device"));
  SimDevice other;
  lies = other.Allocate(8);
  lies.space = MS_SPACE_HOST_PINNED;
  EXPECT_THAT(ErrorOfCopy(host_, lies, 8), HasSubstr("is said to be host memory"));
}

TEST_F(SimCopyCheckTest, MemoryOfAnotherDevice) {
  SimDevice other;
  const MS_MemRef theirs = other.Allocate(8);
  EXPECT_THAT(ErrorOfCopy(theirs, host_, 8), HasSubstr("are not in one block of its memory"));
}

TEST_F(SimCopyCheckTest, FillsLikewise) {
  EXPECT_EQ(CodeOf(device_->fill_async(device_.stream(), &block_, 0, 3, 99)),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(device_->fill_async(device_.stream(), &block_, 0, 4, 99)),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(device_->fill_async(device_.stream(), &block_, 0, 1, 101)),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millstream
