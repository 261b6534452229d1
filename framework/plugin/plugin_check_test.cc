#include "framework/plugin/plugin_check.h"

#include <cstring>
#include <string>
#include <vector>

#include "framework/plugin/host_device.hpp"
#include "framework/plugin/host_interfaces.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// ---- A plugin whose structs the tests change ----------------------------------------------------

const MS_Table* interfaces[2];  // ms.devices/1 and ms.device/1

const MS_Table* GetInterface(const MS_Plugin*, const char* id) {
  for (const MS_Table* table : interfaces) {
    if (table != nullptr && std::strcmp(table->id, id) == 0) return table;
  }
  return nullptr;
}

struct Description {
  static ms::HostDeviceText Text() { return {"TEST", "A device", "", "", 0}; }
};
using Devices = ms::HostDevices<Description>;

class PluginCheckTest : public ::testing::Test {
 protected:
  PluginCheckTest() {
    devices_ = *reinterpret_cast<const MS_DevicesApi*>(Devices::GetInterface(MS_DEVICES_API));
    device_ = *ms::HostDeviceFunctions::Table();
    // What the layer leaves out is there, too: every slot has something to lose.
    device_.alloc_on_stream = [](MS_Stream*, uint32_t, uint64_t, uint64_t,
                                 MS_MemRef*) -> MS_Status* { return nullptr; };
    device_.free_on_stream = [](MS_Stream*, const MS_MemRef*) {};
    device_.copy_peer_async = [](MS_Stream*, const MS_MemRef*, const MS_MemRef*,
                                 uint64_t) -> MS_Status* { return nullptr; };
    device_.peer_ok = [](MS_Device*, MS_Device*, uint8_t*) -> MS_Status* { return nullptr; };
    interfaces[0] = &devices_.head;
    interfaces[1] = &device_.head;
    std::strcpy(file_.note.name, "test");
    plugin_.magic = MS_PLUGIN_MAGIC;
    plugin_.size = sizeof(plugin_);
    plugin_.abi_major = MS_ABI_MAJOR;
    plugin_.built_minor = MS_ABI_MINOR;
    plugin_.min_host_minor = MS_TARGET_MINOR;
    plugin_.flags = MS_PLUGIN_DEVICES;
    plugin_.name = {"test", 4};
    plugin_.get_interface = &GetInterface;
    plugin_.init = [](const MS_Plugin*, const MS_KV*, uint64_t) -> MS_Status* { return nullptr; };
    plugin_.register_all = [](const MS_Plugin*, MS_Registrar*) -> MS_Status* { return nullptr; };
    plugin_.shutdown = [](const MS_Plugin*) {};
  }

  static void ExpectError(const Status& status, absl::StatusCode code, const std::string& text) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }

  PluginFile file_;
  MS_Plugin plugin_ = {};
  MS_DevicesApi devices_;
  MS_DeviceApi device_;
};

TEST_F(PluginCheckTest, AWholePluginPasses) {
  EXPECT_TRUE(CheckPlugin(&plugin_, file_).ok());
  EXPECT_TRUE(CheckMandatoryFunctions(&plugin_).ok());
}

TEST_F(PluginCheckTest, AMisalignedStructIsRefusedAndNotRead) {
  alignas(MS_Plugin) char bytes[sizeof(MS_Plugin) + 8];
  for (const size_t offset : {1, 2, 4}) {
    std::memcpy(bytes + offset, &plugin_, sizeof(plugin_));
    ExpectError(CheckPlugin(reinterpret_cast<const MS_Plugin*>(bytes + offset), file_),
                absl::StatusCode::kInvalidArgument, "gave a misaligned MS_Plugin");
  }
}

TEST_F(PluginCheckTest, EveryPrefixOfTheStructIsRefusedWithItsSize) {
  for (uint32_t size = 0; size < sizeof(MS_Plugin); ++size) {
    plugin_.size = size;
    ExpectError(CheckPlugin(&plugin_, file_), absl::StatusCode::kInvalidArgument,
                absl::StrCat("its MS_Plugin has ", size, " bytes, needed are ", sizeof(MS_Plugin)));
  }
}

TEST_F(PluginCheckTest, ALargerStructWithAnythingBehindItPasses) {
  struct {
    MS_Plugin plugin;
    unsigned char tail[64];
  } larger;
  std::memset(&larger, 0xEE, sizeof(larger));
  larger.plugin = plugin_;
  for (uint32_t size = sizeof(MS_Plugin); size <= sizeof(larger); ++size) {
    larger.plugin.size = size;
    EXPECT_TRUE(CheckPlugin(&larger.plugin, file_).ok()) << size;
    EXPECT_TRUE(CheckMandatoryFunctions(&larger.plugin).ok()) << size;
  }
}

TEST_F(PluginCheckTest, VersionsThatTheHostDoesNotHaveAreNamed) {
  const std::string host = absl::StrCat("host has ", MS_ABI_MAJOR, ".", MS_ABI_MINOR);
  plugin_.abi_major = MS_ABI_MAJOR + 2;
  ExpectError(CheckPlugin(&plugin_, file_), absl::StatusCode::kFailedPrecondition,
              absl::StrCat("needs ABI ", MS_ABI_MAJOR + 2, ".", MS_TARGET_MINOR, ", ", host));
  plugin_.abi_major = MS_ABI_MAJOR;
  plugin_.min_host_minor = MS_ABI_MINOR + 1;
  ExpectError(CheckPlugin(&plugin_, file_), absl::StatusCode::kFailedPrecondition,
              absl::StrCat("needs ABI ", MS_ABI_MAJOR, ".", MS_ABI_MINOR + 1, ", ", host));
  // A newer plugin that runs on this host is welcome.
  plugin_.min_host_minor = MS_ABI_MINOR;
  plugin_.built_minor = file_.note.built_minor = MS_ABI_MINOR + 50;
  EXPECT_TRUE(CheckPlugin(&plugin_, file_).ok());
}

TEST_F(PluginCheckTest, TheNoteAndTheStructAgreeOnTheMinors) {
  ++file_.note.built_minor;
  ExpectError(CheckPlugin(&plugin_, file_), absl::StatusCode::kInvalidArgument,
              absl::StrCat("its MS_Plugin is of minor ", plugin_.built_minor, " and needs ",
                           plugin_.min_host_minor, ", but its note says ", plugin_.built_minor + 1,
                           " and ", plugin_.min_host_minor));
  --file_.note.built_minor;
  ++file_.note.min_host_minor;
  EXPECT_FALSE(CheckPlugin(&plugin_, file_).ok());
}

TEST_F(PluginCheckTest, AFlagThatThisHostDoesNotKnowRefusesThePlugin) {
  plugin_.flags |= 1u << 20;
  ExpectError(CheckPlugin(&plugin_, file_), absl::StatusCode::kUnimplemented,
              "its MS_Plugin has flags 100000 (bits), which are unknown");
}

TEST_F(PluginCheckTest, APluginThatSaysItHasDevicesHasTheirInterface) {
  interfaces[0] = nullptr;
  ExpectError(CheckMandatoryFunctions(&plugin_), absl::StatusCode::kUnimplemented,
              "ms.devices/1 is missing");
  plugin_.flags = MS_PLUGIN_KERNELS_ONLY;
  EXPECT_TRUE(CheckMandatoryFunctions(&plugin_).ok());
}

// ---- Each slot in turn --------------------------------------------------------------------------

struct SlotCase {
  const char* name;  // as the error names it
  size_t offset;
  bool optional;
};

#define SLOT(type, prefix, field, optional) \
  SlotCase { prefix "." #field, offsetof(type, field), optional }

// Sets slot `slot` of `table` to null, and expects what follows from it.
template <typename Table>
void ExpectNullSlot(const SlotCase& slot, Table* table, const MS_Plugin& plugin) {
  void* function = nullptr;
  char* const place = reinterpret_cast<char*>(table) + slot.offset;
  std::memcpy(&function, place, sizeof(function));
  ASSERT_NE(function, nullptr) << slot.name;
  std::memset(place, 0, sizeof(function));
  const Status status = CheckMandatoryFunctions(&plugin);
  std::memcpy(place, &function, sizeof(function));
  if (slot.optional) {
    EXPECT_TRUE(status.ok()) << slot.name << ": " << status;
    return;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << slot.name;
  EXPECT_EQ(status.message(), absl::StrCat(slot.name, " is null"));
}

TEST_F(PluginCheckTest, EachNullFunctionOfThePluginIsNamed) {
  for (const SlotCase& slot : {
           SLOT(MS_Plugin, "MS_Plugin", get_interface, false),
           SLOT(MS_Plugin, "MS_Plugin", init, false),
           SLOT(MS_Plugin, "MS_Plugin", register_all, false),
           SLOT(MS_Plugin, "MS_Plugin", shutdown, false),
       }) {
    ExpectNullSlot(slot, &plugin_, plugin_);
  }
}

TEST_F(PluginCheckTest, EachNullFunctionOfItsDevicesIsNamed) {
  for (const SlotCase& slot : {
           SLOT(MS_DevicesApi, "ms.devices/1", enumerate, false),
           SLOT(MS_DevicesApi, "ms.devices/1", device_create, false),
           SLOT(MS_DevicesApi, "ms.devices/1", device_destroy, false),
           SLOT(MS_DevicesApi, "ms.devices/1", fns, false),
       }) {
    ExpectNullSlot(slot, &devices_, plugin_);
  }
}

const SlotCase kDeviceSlots[] = {
    SLOT(MS_DeviceApi, "ms.device/1", mem_alloc, false),
    SLOT(MS_DeviceApi, "ms.device/1", mem_free, false),
    SLOT(MS_DeviceApi, "ms.device/1", alloc_on_stream, true),
    SLOT(MS_DeviceApi, "ms.device/1", free_on_stream, true),
    SLOT(MS_DeviceApi, "ms.device/1", mem_info, false),
    SLOT(MS_DeviceApi, "ms.device/1", mem_stats, true),
    SLOT(MS_DeviceApi, "ms.device/1", stream_create, false),
    SLOT(MS_DeviceApi, "ms.device/1", stream_destroy, false),
    SLOT(MS_DeviceApi, "ms.device/1", stream_native, false),
    SLOT(MS_DeviceApi, "ms.device/1", stream_query, false),
    SLOT(MS_DeviceApi, "ms.device/1", stream_sync, false),
    SLOT(MS_DeviceApi, "ms.device/1", event_create, false),
    SLOT(MS_DeviceApi, "ms.device/1", event_destroy, false),
    SLOT(MS_DeviceApi, "ms.device/1", event_record, false),
    SLOT(MS_DeviceApi, "ms.device/1", event_query, false),
    SLOT(MS_DeviceApi, "ms.device/1", event_sync, false),
    SLOT(MS_DeviceApi, "ms.device/1", stream_wait_event, false),
    SLOT(MS_DeviceApi, "ms.device/1", copy_async, false),
    SLOT(MS_DeviceApi, "ms.device/1", copy_peer_async, true),
    SLOT(MS_DeviceApi, "ms.device/1", peer_ok, true),
    SLOT(MS_DeviceApi, "ms.device/1", fill_async, true),
    SLOT(MS_DeviceApi, "ms.device/1", stream_host_fn, true),
    SLOT(MS_DeviceApi, "ms.device/1", device_sync, false),
    SLOT(MS_DeviceApi, "ms.device/1", device_error, false),
};

TEST_F(PluginCheckTest, EachNullFunctionOfADeviceIsNamedUnlessItIsOptional) {
  // All of the first version are in the list.
  size_t expected = sizeof(MS_Table);
  for (const SlotCase& slot : kDeviceSlots) {
    EXPECT_EQ(slot.offset, expected) << slot.name;
    expected += sizeof(void*);
    ExpectNullSlot(slot, &device_, plugin_);
  }
}

TEST_F(PluginCheckTest, ATableThatEndsEarlyLacksItsFirstMandatoryFunction) {
  for (uint32_t size = sizeof(MS_Table); size < sizeof(MS_DeviceApi); ++size) {
    device_.head.size = size;
    const SlotCase* missing = nullptr;
    for (const SlotCase& slot : kDeviceSlots) {
      if (!slot.optional && slot.offset + sizeof(void*) > size && missing == nullptr) {
        missing = &slot;
      }
    }
    const Status status = CheckMandatoryFunctions(&plugin_);
    if (missing == nullptr) {
      EXPECT_TRUE(status.ok()) << size;
      continue;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << size;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(missing->name), HasSubstr(absl::StrCat(size, " bytes"))));
  }
}

}  // namespace
}  // namespace millstream
