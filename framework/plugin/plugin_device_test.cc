#include "framework/plugin/plugin_device.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/testing/stub_interfaces.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What was called, in order.
std::vector<std::string>& Calls() {
  static auto* const calls = new std::vector<std::string>();
  return *calls;
}
ms::Status Call(const std::string& what) {
  Calls().push_back(what);
  return ms::Status();
}

struct LeastEvent;

// What every stream has.
struct LeastStream {
  ~LeastStream() { Calls().emplace_back("stream goes"); }
  void* native() { return this; }
  ms::Status Query(bool* idle) {
    *idle = true;
    return Call("stream query");
  }
  ms::Status Sync() { throw std::runtime_error("the stream throws"); }
  ms::Status Wait(LeastEvent&) { return Call("wait"); }
  ms::Status Copy(const MS_MemRef&, const MS_MemRef&, uint64_t) { return Call("copy"); }
};

struct LeastEvent {
  ~LeastEvent() { Calls().emplace_back("event goes"); }
  ms::Status Record(LeastStream&) { return Call("record"); }
  ms::Status Query(bool* done) {
    *done = false;
    return Call("event query");
  }
  ms::Status Sync() { return ms::Status(MS_UNAVAILABLE, "the event is lost"); }
};

struct LeastDevice {
  using Stream = LeastStream;
  using Event = LeastEvent;
  ms::Status Allocate(uint32_t, uint64_t, uint64_t, MS_MemRef*) { return Call("allocate"); }
  void Free(const MS_MemRef&) { Calls().emplace_back("free"); }
  ms::Status MemoryInfo(uint64_t*, uint64_t*) { return Call("info"); }
  ms::Status CreateStream(uint32_t, int32_t, std::unique_ptr<Stream>* out) {
    *out = std::make_unique<Stream>();
    return ms::Status();
  }
  ms::Status CreateEvent(uint32_t, std::unique_ptr<Event>* out) {
    *out = std::make_unique<Event>();
    return ms::Status();
  }
  ms::Status Sync() { return Call("device sync"); }
  ms::Status Error() { return ms::Status(); }
};

struct FullStream;

struct FullGraph {
  ~FullGraph() { Calls().emplace_back("graph goes"); }
  ms::Status Update(const MS_MemChange*, uint64_t n) { return Call(ms::StrCat("update ", n)); }
  ms::Status Replay(FullStream&) { return Call("replay"); }
};

struct FullStream : LeastStream {
  ms::Status Fill(const MS_MemRef&, uint32_t, uint32_t, uint64_t) { return Call("fill"); }
  ms::Status CallHost(void (*function)(void*), void* user) {
    function(user);
    return ms::Status();
  }
  ms::Status BeginCapture() { return Call("begin"); }
  ms::Status EndCapture(std::unique_ptr<FullGraph>* out) {
    *out = std::make_unique<FullGraph>();
    return Call("end");
  }
};

struct FullDevice : LeastDevice {
  using Stream = FullStream;
  using Event = LeastEvent;
  using Graph = FullGraph;
  ms::Status CreateStream(uint32_t, int32_t, std::unique_ptr<Stream>* out) {
    *out = std::make_unique<Stream>();
    return ms::Status();
  }
  void FillStats(MS_MemStats* stats) { stats->in_use = 7; }
  ms::Status RegisterHost(void*, uint64_t bytes) { return Call(ms::StrCat("register ", bytes)); }
  void UnregisterHost(void*) { Calls().emplace_back("unregister"); }
};

struct TwoDevices {
  using Device = LeastDevice;
  static std::vector<ms::DeviceDescription> Find(std::string*) {
    const auto one = ms::DeviceDescription("ACME", "One")
                         .Vendor("Acme")
                         .DLPackType(12)
                         .Flags(MS_DEVICE_LINEAR_POINTERS)
                         .Space(MS_SPACE_DEVICE, MS_SPACE_LINEAR, 256, 1 << 20)
                         .Space(MS_SPACE_HOST_PINNED, MS_SPACE_HOST_VISIBLE, 64, 1 << 10);
    return {one, one};
  }
  static ms::Status Create(uint32_t ordinal, const ms::PluginOptions& options,
                           std::unique_ptr<Device>* out) {
    if (ordinal > 1) return ms::InvalidArgument("there is no device ", ordinal);
    for (const auto& [name, value] : options) Calls().push_back(ms::StrCat(name, "=", value));
    *out = std::make_unique<Device>();
    return ms::Status();
  }
};

struct NoDevices : TwoDevices {
  static std::vector<ms::DeviceDescription> Find(std::string* reason) {
    *reason = "there is no driver";
    return {};
  }
};

struct Broken : TwoDevices {
  static std::vector<ms::DeviceDescription> Find(std::string*) {
    throw std::runtime_error("the driver crashed");
  }
};

class PluginDeviceTest : public ::testing::Test {
 protected:
  PluginDeviceTest() {
    RegisterStubInterfaces();
    const ms::Status bound = ms::BindHost(HostBase());
    EXPECT_TRUE(bound.ok()) << bound.message();
    Calls().clear();
  }
  template <typename Devices>
  static const MS_DevicesApi& DevicesOf() {
    return *reinterpret_cast<const MS_DevicesApi*>(
        ms::DeviceTables<Devices>::GetInterface(MS_DEVICES_API));
  }
};

TEST_F(PluginDeviceTest, DevicesAreDescribedOnceAndForEver) {
  const MS_DevicesApi& devices = DevicesOf<TwoDevices>();
  const MS_DeviceDesc* found[3] = {};
  uint64_t n = 1;
  MS_Str reason = {};
  ASSERT_TRUE(TakeAbiStatus(devices.enumerate(nullptr, found, &n, &reason)).ok());
  EXPECT_EQ(n, 2u);
  EXPECT_EQ(found[1], nullptr);
  const MS_DeviceDesc* const first = found[0];
  n = 3;
  ASSERT_TRUE(TakeAbiStatus(devices.enumerate(nullptr, found, &n, &reason)).ok());
  EXPECT_EQ(found[0], first);
  EXPECT_EQ(found[1]->ordinal, 1u);
  EXPECT_EQ(ms::ToView(first->device_type), "ACME");
  EXPECT_EQ(ms::ToView(first->vendor), "Acme");
  EXPECT_EQ(first->dlpack_device_type, 12u);
  EXPECT_EQ(first->mem_total, 1u << 20);
  ASSERT_EQ(found[1]->n_spaces, 2u);
  EXPECT_NE(found[1]->spaces[0], first->spaces[0]);
  EXPECT_EQ(found[1]->spaces[0]->alignment, 256u);
  EXPECT_EQ(found[1]->spaces[1]->space, MS_SPACE_HOST_PINNED);
  EXPECT_EQ(found[1]->spaces[1]->max_alloc, 1u << 10);
}

TEST_F(PluginDeviceTest, WithoutDevicesThereIsAReason) {
  uint64_t n = 0;
  MS_Str reason = {};
  ASSERT_TRUE(TakeAbiStatus(DevicesOf<NoDevices>().enumerate(nullptr, nullptr, &n, &reason)).ok());
  EXPECT_EQ(n, 0u);
  EXPECT_EQ(ms::ToView(reason), "there is no driver");
}

TEST_F(PluginDeviceTest, WhatIsThrownIsAStatus) {
  uint64_t n = 0;
  MS_Str reason = {};
  const Status found = TakeAbiStatus(DevicesOf<Broken>().enumerate(nullptr, nullptr, &n, &reason));
  EXPECT_TRUE(absl::IsInternal(found));
  EXPECT_THAT(found.ToString(), HasSubstr("the driver crashed"));

  const MS_DeviceApi& api = *ms::DeviceFunctions<LeastDevice>::Table();
  LeastStream stream;
  const Status synced = TakeAbiStatus(api.stream_sync(reinterpret_cast<MS_Stream*>(&stream)));
  EXPECT_TRUE(absl::IsInternal(synced));
  EXPECT_THAT(synced.ToString(), HasSubstr("the stream throws"));
}

TEST_F(PluginDeviceTest, DevicesAreCreatedWithTheirOptions) {
  const MS_DevicesApi& devices = DevicesOf<TwoDevices>();
  const MS_KV option = {{"speed", 5}, {"9", 1}};
  MS_Device* device = nullptr;
  ASSERT_TRUE(TakeAbiStatus(devices.device_create(nullptr, 1, &option, 1, &device)).ok());
  EXPECT_THAT(Calls(), ElementsAre("speed=9"));
  EXPECT_EQ(devices.fns(device), ms::DeviceFunctions<LeastDevice>::Table());
  devices.device_destroy(device);
  const Status missing = TakeAbiStatus(devices.device_create(nullptr, 2, nullptr, 0, &device));
  EXPECT_TRUE(absl::IsInvalidArgument(missing)) << missing;
}

TEST_F(PluginDeviceTest, WhatAClassDoesNotHaveIsANullSlot) {
  const MS_DeviceApi& least = *ms::DeviceFunctions<LeastDevice>::Table();
  EXPECT_EQ(least.mem_stats, nullptr);
  EXPECT_EQ(least.fill_async, nullptr);
  EXPECT_EQ(least.stream_host_fn, nullptr);
  EXPECT_EQ(least.copy_peer_async, nullptr);
  EXPECT_EQ(least.host_register, nullptr);
  EXPECT_EQ(least.host_unregister, nullptr);
  EXPECT_EQ(ms::DeviceTables<TwoDevices>::GetInterface(MS_CAPTURE_API), nullptr);
  const MS_DeviceApi& full = *ms::DeviceFunctions<FullDevice>::Table();
  EXPECT_NE(full.mem_stats, nullptr);
  EXPECT_NE(full.fill_async, nullptr);
  EXPECT_NE(full.stream_host_fn, nullptr);
}

TEST_F(PluginDeviceTest, SlotsCallTheClass) {
  const MS_DeviceApi& api = *ms::DeviceFunctions<FullDevice>::Table();
  FullDevice full;
  auto* const device = reinterpret_cast<MS_Device*>(&full);
  MS_MemRef block = {};
  MS_Stream* stream = nullptr;
  MS_Event* event = nullptr;
  uint8_t flag = 2;
  ASSERT_TRUE(TakeAbiStatus(api.stream_create(device, 0, 0, &stream)).ok());
  ASSERT_TRUE(TakeAbiStatus(api.event_create(device, 0, &event)).ok());
  EXPECT_EQ(api.stream_native(stream), stream);
  EXPECT_TRUE(TakeAbiStatus(api.mem_alloc(device, 0, 1, 1, &block)).ok());
  EXPECT_TRUE(TakeAbiStatus(api.stream_query(stream, &flag)).ok());
  EXPECT_EQ(flag, 1);
  EXPECT_TRUE(TakeAbiStatus(api.event_record(event, stream)).ok());
  EXPECT_TRUE(TakeAbiStatus(api.event_query(event, &flag)).ok());
  EXPECT_EQ(flag, 0);
  EXPECT_TRUE(absl::IsUnavailable(TakeAbiStatus(api.event_sync(event))));
  EXPECT_TRUE(TakeAbiStatus(api.stream_wait_event(stream, event)).ok());
  EXPECT_TRUE(TakeAbiStatus(api.copy_async(stream, &block, &block, 0)).ok());
  EXPECT_TRUE(TakeAbiStatus(api.fill_async(stream, &block, 0, 1, 0)).ok());
  EXPECT_TRUE(TakeAbiStatus(api.device_sync(device)).ok());
  const auto note = [](void* user) {
    static_cast<std::vector<std::string>*>(user)->emplace_back("host");
  };
  EXPECT_TRUE(TakeAbiStatus(api.stream_host_fn(stream, note, &Calls())).ok());
  api.mem_free(device, &block);
  api.event_destroy(event);
  api.stream_destroy(stream);
  EXPECT_THAT(Calls(),
              ElementsAre("allocate", "stream query", "record", "event query", "wait", "copy",
                          "fill", "device sync", "host", "free", "event goes", "stream goes"));
  MS_MemStats stats = {};
  stats.head.size = sizeof(stats);
  EXPECT_TRUE(TakeAbiStatus(api.mem_stats(device, &stats)).ok());
  EXPECT_EQ(stats.in_use, 7u);
  stats.head.size = 8;
  EXPECT_TRUE(absl::IsInvalidArgument(TakeAbiStatus(api.mem_stats(device, &stats))));
}

struct FullDevices : TwoDevices {
  using Device = FullDevice;
  static ms::Status Create(uint32_t, const ms::PluginOptions&, std::unique_ptr<Device>* out) {
    *out = std::make_unique<Device>();
    return ms::Status();
  }
};

TEST_F(PluginDeviceTest, WorkIsRecordedAndHostMemoryRegisteredWhereTheClassesCan) {
  const auto& capture = *reinterpret_cast<const MS_CaptureApi*>(
      ms::DeviceTables<FullDevices>::GetInterface(MS_CAPTURE_API));
  EXPECT_STREQ(capture.head.id, MS_CAPTURE_API);
  const MS_DeviceApi& api = *ms::DeviceFunctions<FullDevice>::Table();
  FullDevice full;
  auto* const device = reinterpret_cast<MS_Device*>(&full);
  EXPECT_TRUE(TakeAbiStatus(api.host_register(device, &full, 64)).ok());
  api.host_unregister(device, &full);
  FullStream recording;
  auto* const stream = reinterpret_cast<MS_Stream*>(&recording);
  MS_Graph* graph = nullptr;
  const MS_MemChange change = {};
  EXPECT_TRUE(TakeAbiStatus(capture.begin(stream)).ok());
  ASSERT_TRUE(TakeAbiStatus(capture.end(stream, &graph)).ok());
  EXPECT_TRUE(TakeAbiStatus(capture.update(graph, &change, 1)).ok());
  EXPECT_TRUE(TakeAbiStatus(capture.replay(graph, stream)).ok());
  capture.destroy(graph);
  EXPECT_THAT(Calls(), ElementsAre("register 64", "unregister", "begin", "end", "update 1",
                                   "replay", "graph goes"));
}

TEST_F(PluginDeviceTest, CopiesOfMoreThanABlockHasAreRefused) {
  const MS_DeviceApi& api = *ms::DeviceFunctions<LeastDevice>::Table();
  LeastStream least;
  auto* const stream = reinterpret_cast<MS_Stream*>(&least);
  const MS_MemRef small = {nullptr, 0, 4, MS_SPACE_DEVICE, 0};
  const MS_MemRef large = {nullptr, 0, 8, MS_SPACE_DEVICE, 0};
  EXPECT_TRUE(TakeAbiStatus(api.copy_async(stream, &large, &small, 4)).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(TakeAbiStatus(api.copy_async(stream, &large, &small, 5))));
  EXPECT_TRUE(absl::IsInvalidArgument(TakeAbiStatus(api.copy_async(stream, &small, &large, 5))));
  EXPECT_THAT(Calls(), ElementsAre("copy"));
}

}  // namespace
}  // namespace millstream
