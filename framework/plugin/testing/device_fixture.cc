// A plugin in C++ with a device of its own, for the loader's tests. Each fixture is this file with
// one value changed by the macros below.
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "framework/plugin/host_device.hpp"
#include "framework/plugin/plugin_entry.hpp"

#ifndef FIXTURE_NAME
#define FIXTURE_NAME "fixture_device"
#endif
// True: init throws; a mandatory function of ms.device/1 is null; the plugin offers no
// ms.devices/1; it enumerates nothing.
#ifndef FIXTURE_THROWS
#define FIXTURE_THROWS false
#endif
#ifndef FIXTURE_NULL_COPY
#define FIXTURE_NULL_COPY false
#endif
#ifndef FIXTURE_NO_INTERFACE
#define FIXTURE_NO_INTERFACE false
#endif
#ifndef FIXTURE_NO_DEVICE
#define FIXTURE_NO_DEVICE false
#endif
// True: asked for a table once more, it gives one without functions; asked for any table, it gives
// that of ms.device/1.
#ifndef FIXTURE_FICKLE
#define FIXTURE_FICKLE false
#endif
#ifndef FIXTURE_ONE_TABLE
#define FIXTURE_ONE_TABLE false
#endif
// What is wrong with the devices that it enumerates, a Fault; the flags of the device.
#ifndef FIXTURE_FAULT
#define FIXTURE_FAULT kNone
#endif
#ifndef FIXTURE_DEVICE_FLAGS
#define FIXTURE_DEVICE_FLAGS MS_DEVICE_HOST_IS_DEVICE
#endif

namespace {

struct Devices {
  static ms::HostDeviceText Text() {
    return {"FIXTURE", "A device for tests", "Fixtures", "none", FIXTURE_DEVICE_FLAGS};
  }
};

const MS_Table* DeviceTableWithoutCopy() {
  static MS_DeviceApi table = *ms::HostDeviceFunctions::Table();
  table.copy_async = nullptr;
  return &table.head;
}

MS_Status* EnumerateNothing(const MS_Plugin*, const MS_DeviceDesc**, uint64_t* n, MS_Str* reason) {
  *n = 0;
  *reason = ms::ToAbi(std::string_view("no such card in this machine"));
  return nullptr;
}

const MS_Table* EmptyDevicesTable() {
  static MS_DevicesApi table = *reinterpret_cast<const MS_DevicesApi*>(
      ms::HostDevices<Devices>::GetInterface(MS_DEVICES_API));
  table.enumerate = &EnumerateNothing;
  return &table.head;
}

// The first answer is good, and every later one breaks who believes it.
const MS_Table* FickleTable(std::string_view id) {
  static std::map<std::string, int, std::less<>> times;
  static MS_DevicesApi empty = {{sizeof(empty), 1, MS_ABI_MINOR, MS_DEVICES_API}};
  return times[std::string(id)]++ == 0 ? ms::HostDevices<Devices>::GetInterface(id) : &empty.head;
}

enum Fault {
  kNone,
  kManyDevices,     // it tells of 2^31
  kGrowingDevices,  // of one more each time that it is asked
  kNullDevice,
  kSlashInType,
  kNullSpaces,
  kNullSpace,
  kLongName,  // of a megabyte
  kNoText,    // a text without data
};

// The description of a good device but for the fault.
const MS_DeviceDesc* BadDevice(Fault fault) {
  static MS_DeviceDesc device = {{sizeof(MS_DeviceDesc), 0, nullptr}};
  static const std::string long_name(size_t{1} << 20, 'x');
  static const MS_SpaceDesc* const spaces[] = {nullptr};
  device.device_type = ms::ToAbi(std::string_view(fault == kSlashInType ? "FIX/TURE" : "FIXTURE"));
  device.name = ms::ToAbi(std::string_view("A device for tests"));
  if (fault == kLongName) device.name = ms::ToAbi(long_name);
  if (fault == kNoText) device.name.data = nullptr;
  device.n_spaces = fault == kNullSpaces || fault == kNullSpace ? 1 : 0;
  if (fault == kNullSpace) device.spaces = spaces;
  return fault == kNullDevice ? nullptr : &device;
}

MS_Status* EnumerateBadly(const MS_Plugin*, const MS_DeviceDesc** out, uint64_t* n, MS_Str*) {
  const uint64_t capacity = *n;
  *n = 1;
  if (FIXTURE_FAULT == kManyDevices) *n = uint64_t{1} << 31;
  if (FIXTURE_FAULT == kGrowingDevices) *n = capacity + 1;
  for (uint64_t i = 0; i < capacity; ++i) out[i] = BadDevice(FIXTURE_FAULT);
  return nullptr;
}

const MS_Table* BadDevicesTable() {
  static MS_DevicesApi table = *reinterpret_cast<const MS_DevicesApi*>(
      ms::HostDevices<Devices>::GetInterface(MS_DEVICES_API));
  table.enumerate = &EnumerateBadly;
  return &table.head;
}

struct Plugin : ms::PluginDefaults {
  static constexpr char kVersion[] = "2.0";
  static ms::Status Init(const ms::PluginOptions& options) {
    if (FIXTURE_THROWS) throw std::runtime_error("thrown by the fixture's init");
    return PluginDefaults::Init(options);
  }
  static void Shutdown() {
    ms::host_tables.base->log(ms::host_tables.base, MS_LOG_INFO,
                              ms::ToAbi(std::string_view("shutdown of " FIXTURE_NAME)));
  }
  static const MS_Table* GetInterface(std::string_view id) {
    if (FIXTURE_NO_INTERFACE) return nullptr;
    if (FIXTURE_FICKLE) return FickleTable(id);
    if (FIXTURE_ONE_TABLE) return &ms::HostDeviceFunctions::Table()->head;
    if (FIXTURE_NULL_COPY && id == MS_DEVICE_API) return DeviceTableWithoutCopy();
    if (FIXTURE_NO_DEVICE && id == MS_DEVICES_API) return EmptyDevicesTable();
    if (FIXTURE_FAULT != kNone && id == MS_DEVICES_API) return BadDevicesTable();
    return ms::HostDevices<Devices>::GetInterface(id);
  }
};

}  // namespace

MS_PLUGIN_NOTE(FIXTURE_NAME, "", /*rank=*/0, /*cpu_bits=*/0, MS_PLUGIN_DEVICES);
MS_PLUGIN_DEFINE(Plugin);
