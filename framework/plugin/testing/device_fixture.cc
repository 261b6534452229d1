// A plugin in C++ with a device of its own, for the loader's tests. Each fixture is this file with
// one value changed by the macros below.
#include <stdexcept>
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

namespace {

struct Devices {
  static ms::HostDeviceText Text() {
    return {"FIXTURE", "A device for tests", "Fixtures", "none", MS_DEVICE_HOST_IS_DEVICE};
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
    if (FIXTURE_NULL_COPY && id == MS_DEVICE_API) return DeviceTableWithoutCopy();
    if (FIXTURE_NO_DEVICE && id == MS_DEVICES_API) return EmptyDevicesTable();
    return ms::HostDevices<Devices>::GetInterface(id);
  }
};

}  // namespace

MS_PLUGIN_NOTE(FIXTURE_NAME, "", /*rank=*/0, /*cpu_bits=*/0, MS_PLUGIN_DEVICES);
MS_PLUGIN_DEFINE(Plugin);
