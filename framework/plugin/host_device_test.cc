#include "framework/plugin/host_device.hpp"

#include <cstring>
#include <string>

#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/plugin_entry.hpp"
#include "framework/plugin/testing/stub_interfaces.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

struct Devices {
  static ms::HostDeviceText Text() { return {"CPU", "Host", "", "", MS_DEVICE_HOST_IS_DEVICE}; }
};

// One device with one stream.
class HostDeviceTest : public ::testing::Test {
 protected:
  HostDeviceTest() {
    RegisterStubInterfaces();
    const ms::Status bound = ms::BindHost(HostBase());
    EXPECT_TRUE(bound.ok()) << bound.message();
    devices_ = reinterpret_cast<const MS_DevicesApi*>(
        ms::HostDevices<Devices>::GetInterface(MS_DEVICES_API));
    ExpectOk(devices_->device_create(nullptr, 0, nullptr, 0, &device_));
    api_ = devices_->fns(device_);
    ExpectOk(api_->stream_create(device_, MS_STREAM_COMPUTE, 0, &stream_));
  }
  ~HostDeviceTest() override {
    api_->stream_destroy(stream_);
    devices_->device_destroy(device_);
  }

  static void ExpectOk(MS_Status* status) {
    const Status taken = TakeAbiStatus(status);
    EXPECT_TRUE(taken.ok()) << taken;
  }
  MS_MemRef Allocate(uint64_t bytes, uint64_t alignment = 0) {
    MS_MemRef memory = {};
    ExpectOk(api_->mem_alloc(device_, MS_SPACE_HOST, bytes, alignment, &memory));
    return memory;
  }
  MS_MemStats Stats() {
    MS_MemStats stats = {};
    stats.head.size = sizeof(stats);
    ExpectOk(api_->mem_stats(device_, &stats));
    return stats;
  }

  const MS_DevicesApi* devices_ = nullptr;
  const MS_DeviceApi* api_ = nullptr;
  MS_Device* device_ = nullptr;
  MS_Stream* stream_ = nullptr;
};

TEST_F(HostDeviceTest, MemoryIsAligned) {
  for (uint64_t alignment : {0, 1, 64, 4096}) {
    for (uint64_t bytes : {1, 63, 64, 1000}) {
      const MS_MemRef memory = Allocate(bytes, alignment);
      ASSERT_NE(memory.base, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.base) % std::max<uint64_t>(alignment, 64), 0u);
      EXPECT_EQ(memory.bytes, bytes);
      std::memset(memory.base, 1, bytes);
      api_->mem_free(device_, &memory);
    }
  }
  const MS_MemRef nothing = Allocate(0);
  EXPECT_EQ(nothing.base, nullptr);
  api_->mem_free(device_, &nothing);
}

TEST_F(HostDeviceTest, MemoryIsCounted) {
  const MS_MemRef a = Allocate(100);
  const MS_MemRef b = Allocate(300);
  EXPECT_EQ(Stats().in_use, 400u);
  api_->mem_free(device_, &b);
  EXPECT_EQ(Stats().in_use, 100u);
  EXPECT_EQ(Stats().peak, 400u);
  EXPECT_EQ(Stats().num_allocs, 2u);
  EXPECT_EQ(Stats().largest_alloc, 300u);
  EXPECT_EQ(Stats().valid_mask & 4u, 0u) << "it reserves nothing";
  api_->mem_free(device_, &a);
  uint64_t free_bytes = 0, total_bytes = 0;
  ExpectOk(api_->mem_info(device_, &free_bytes, &total_bytes));
  EXPECT_GT(total_bytes, 0u);
  EXPECT_LE(free_bytes, total_bytes);
}

TEST_F(HostDeviceTest, MoreThanTheMachineHasIsRefused) {
  MS_MemRef memory = {};
  const Status status =
      TakeAbiStatus(api_->mem_alloc(device_, MS_SPACE_HOST, uint64_t{1} << 60, 64, &memory));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no 1152921504606846976 bytes"));
  EXPECT_EQ(memory.base, nullptr);
}

TEST_F(HostDeviceTest, BadRequestsAreNamed) {
  MS_MemRef memory = {};
  EXPECT_EQ(TakeAbiStatus(api_->mem_alloc(device_, MS_SPACE_HOST, 8, 24, &memory)).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TakeAbiStatus(api_->mem_alloc(device_, 99, 8, 64, &memory)).code(),
            absl::StatusCode::kUnimplemented);
  MS_Device* none = nullptr;
  EXPECT_EQ(TakeAbiStatus(devices_->device_create(nullptr, 1, nullptr, 0, &none)).code(),
            absl::StatusCode::kInvalidArgument);
  const MS_KV option = {ToAbi("speed"), ToAbi("high")};
  const Status status = TakeAbiStatus(devices_->device_create(nullptr, 0, &option, 1, &none));
  EXPECT_EQ(status, errors::InvalidArgument("unknown device option \"speed\""));
}

TEST_F(HostDeviceTest, CopiesHonourOffsetsAndSizes) {
  const MS_MemRef from = Allocate(8);
  MS_MemRef to = Allocate(8);
  std::memcpy(from.base, "abcdefgh", 8);
  std::memset(to.base, '.', 8);
  to.offset = 2;
  to.bytes = 6;
  ExpectOk(api_->copy_async(stream_, &to, &from, 3));
  EXPECT_EQ(std::string(static_cast<char*>(to.base), 8), "..abc...");
  const Status status = TakeAbiStatus(api_->copy_async(stream_, &to, &from, 7));
  EXPECT_EQ(status, errors::InvalidArgument("copy of 7 bytes from a block of 8 to one of 6"));
  to.offset = 0;
  api_->mem_free(device_, &to);
  api_->mem_free(device_, &from);
}

TEST_F(HostDeviceTest, FillsRepeatThePattern) {
  const MS_MemRef memory = Allocate(6);
  ExpectOk(api_->fill_async(stream_, &memory, 0x6261, 2, 6));
  EXPECT_EQ(std::string(static_cast<char*>(memory.base), 6), "ababab");
  EXPECT_FALSE(TakeAbiStatus(api_->fill_async(stream_, &memory, 0, 3, 6)).ok());
  EXPECT_FALSE(TakeAbiStatus(api_->fill_async(stream_, &memory, 0, 4, 6)).ok());
  EXPECT_FALSE(TakeAbiStatus(api_->fill_async(stream_, &memory, 0, 1, 7)).ok());
  api_->mem_free(device_, &memory);
}

TEST_F(HostDeviceTest, StreamsAndEventsAreAlwaysDone) {
  MS_Event* first = nullptr;
  MS_Event* second = nullptr;
  ExpectOk(api_->event_create(device_, 0, &first));
  ExpectOk(api_->event_create(device_, 0, &second));
  ExpectOk(api_->event_record(first, stream_));
  int calls = 0;
  ExpectOk(api_->stream_host_fn(
      stream_, [](void* user) { ++*static_cast<int*>(user); }, &calls));
  EXPECT_EQ(calls, 1);
  ExpectOk(api_->event_record(second, stream_));
  ExpectOk(api_->stream_wait_event(stream_, first));
  uint8_t done = 0, idle = 0;
  ExpectOk(api_->event_query(second, &done));
  ExpectOk(api_->stream_query(stream_, &idle));
  EXPECT_EQ(done, 1);
  EXPECT_EQ(idle, 1);
  api_->event_destroy(first);
  api_->event_destroy(second);
}

TEST_F(HostDeviceTest, DescribesOneDevice) {
  const MS_DeviceDesc* description = nullptr;
  uint64_t n = 1;
  MS_Str reason = {};
  ExpectOk(devices_->enumerate(nullptr, &description, &n, &reason));
  ASSERT_EQ(n, 1u);
  EXPECT_EQ(FromAbi(description->device_type), "CPU");
  EXPECT_EQ(description->spaces[0]->space, MS_SPACE_HOST);
  n = 0;
  ExpectOk(devices_->enumerate(nullptr, nullptr, &n, &reason));
  EXPECT_EQ(n, 1u);
}

// A host whose interfaces a test can take away.
MS_HostBase HostWithout(const MS_Table* (*get_interface)(const MS_HostBase*, const char*)) {
  MS_HostBase host = *HostBase();
  host.get_interface = get_interface;
  return host;
}

TEST(BindHostTest, AMissingTableIsNamed) {
  RegisterStubInterfaces();
  const MS_HostBase host = HostWithout([](const MS_HostBase*, const char* id) {
    return std::string_view(id) == MS_TENSOR_API ? nullptr : FindHostInterface(id);
  });
  const ms::Status status = ms::BindHost(&host);
  EXPECT_EQ(status.code(), MS_UNIMPLEMENTED);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has no interface ms.tensor/1"));
}

TEST(BindHostTest, AShortTableIsNamed) {
  RegisterStubInterfaces();
  const MS_HostBase host = HostWithout([](const MS_HostBase*, const char* id) {
    static MS_Table table = *FindHostInterface(MS_CORE_API);
    table.size = 24;
    return std::string_view(id) == MS_CORE_API ? &table : FindHostInterface(id);
  });
  const ms::Status status = ms::BindHost(&host);
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "the host's ms.core/1 has 24 bytes, needed are 96");
}

TEST(BindHostTest, OtherVersionsAreRefused) {
  MS_HostBase host = *HostBase();
  host.abi_major = MS_ABI_MAJOR + 1;
  EXPECT_EQ(ms::BindHost(&host).code(), MS_FAILED_PRECONDITION);
  const MS_Plugin plugin = {};
  const MS_Plugin* out = &plugin;
  host.magic = 1;
  EXPECT_EQ(ms::EnterPlugin(&host, &plugin, &out), nullptr);
  EXPECT_EQ(out, nullptr);
  ASSERT_TRUE(ms::BindHost(HostBase()).ok());
}

}  // namespace
}  // namespace millstream
