// A plugin with one fault, for the test of the checking program. The environment variable
// MILLSTREAM_TEST_FAULT names the fault; without it the plugin has none. Its device BROKEN is the
// host.
#include "framework/plugin/check/testing/broken_plugin.h"

#include <fcntl.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "framework/plugin/host_device.hpp"
#include "framework/plugin/plugin_entry.hpp"

namespace broken {

bool Has(std::string_view fault) {
  static const char* const chosen = std::getenv("MILLSTREAM_TEST_FAULT");
  return chosen != nullptr && fault == chosen;
}

namespace {

using Functions = ms::HostDeviceFunctions;

// ---- Memory -------------------------------------------------------------------------------------

MS_Status* MemAlloc(MS_Device* device, uint32_t space, uint64_t bytes, uint64_t alignment,
                    MS_MemRef* out) noexcept {
  if (Has("zero_bytes") && bytes == 0) {
    return ms::host_tables.base->status_make(MS_INVALID_ARGUMENT, ms::ToAbi("nothing to do"));
  }
  if (Has("huge") && bytes > (uint64_t{1} << 46)) {
    bytes = 64;
  }
  if (Has("any_space")) space = MS_SPACE_HOST;
  const uint64_t extra = Has("misaligned") && bytes < (1 << 20) ? 8 : 0;
  MS_Status* const status = Functions::MemAlloc(device, space, bytes + extra, alignment, out);
  if (status == nullptr && extra != 0) out->offset = extra;
  return status;
}

void MemFree(MS_Device* device, const MS_MemRef* ref) noexcept {
  if (!Has("leaks")) Functions::MemFree(device, ref);
}

MS_Status* MemInfo(MS_Device* device, uint64_t* free_bytes, uint64_t* total) noexcept {
  MS_Status* const status = Functions::MemInfo(device, free_bytes, total);
  if (Has("garbage_sizes")) *free_bytes = *total + 1;
  return status;
}

// ---- Copies and streams -------------------------------------------------------------------------

// A copy that a lazy stream has still to do.
struct Copy {
  MS_MemRef to;
  MS_MemRef from;
  uint64_t bytes;
};
// Late copies, of all streams in the order in which they came. They are made under the lock, so
// that who synchronizes finds those of its stream made, whoever makes them.
struct Pending {
  std::mutex mutex;
  std::vector<Copy> copies;
};
Pending& LateCopies() {
  static Pending pending;
  return pending;
}
struct Call {
  void (*fn)(void*);
  void* user;
};
std::vector<Call>& Calls() {
  static std::vector<Call> calls;
  return calls;
}

MS_Status* CopyAsync(MS_Stream* stream, const MS_MemRef* to, const MS_MemRef* from,
                     uint64_t bytes) noexcept {
  if (Has("short_copy")) bytes = bytes / 4 * 4;
  MS_MemRef source = *from;
  if (Has("no_offset")) source.offset = 0;
  if (Has("late_copy")) {
    const std::lock_guard<std::mutex> lock(LateCopies().mutex);
    LateCopies().copies.push_back({*to, source, bytes});
    return nullptr;
  }
  const uint64_t begin = ms::host_tables.core->now_ns();
  MS_Status* const status = Functions::Copy(stream, to, &source, bytes);
  NoteCopy(begin);
  return status;
}

MS_Status* StreamSync(MS_Stream* stream) noexcept {
  {
    const std::lock_guard<std::mutex> lock(LateCopies().mutex);
    std::vector<Copy>& copies = LateCopies().copies;
    for (const Copy& copy : copies) Functions::Copy(stream, &copy.to, &copy.from, copy.bytes);
    copies.clear();
  }
  for (size_t i = Calls().size(); i > 0; --i) Calls()[i - 1].fn(Calls()[i - 1].user);
  Calls().clear();
  return nullptr;
}

MS_Status* StreamQuery(MS_Stream*, uint8_t* idle) noexcept {
  *idle = Has("never_idle") ? 0 : 1;
  return nullptr;
}

MS_Status* HostFn(MS_Stream*, void (*fn)(void*), void* user) noexcept {
  if (Has("host_fn_late")) {
    Calls().push_back({fn, user});
    return nullptr;
  }
  fn(user);
  if (Has("host_fn_twice")) fn(user);
  return nullptr;
}

MS_Status* EventSync(MS_Event*) noexcept {
  while (Has("hangs")) std::this_thread::sleep_for(std::chrono::seconds(1));
  return nullptr;
}

MS_Status* Fill(MS_Stream* stream, const MS_MemRef* ref, uint32_t pattern, uint32_t width,
                uint64_t bytes) noexcept {
  if (Has("crashes")) {
    ms::host_tables.core->breadcrumb_set(ms::ToAbi("filling with a pattern"));
    std::abort();
  }
  return Functions::Fill(stream, ref, pattern, Has("fill_of_bytes") ? 1 : width, bytes);
}

const MS_Table* DeviceTable() {
  static const MS_DeviceApi table = [] {
    MS_DeviceApi api = *Functions::Table();
    api.mem_alloc = &MemAlloc;
    api.mem_free = &MemFree;
    api.mem_info = &MemInfo;
    api.copy_async = Has("null_function") ? nullptr : &CopyAsync;
    api.stream_sync = &StreamSync;
    api.stream_query = &StreamQuery;
    api.stream_host_fn = &HostFn;
    api.event_sync = &EventSync;
    api.fill_async = &Fill;
    return api;
  }();
  return &table.head;
}

// ---- Devices ------------------------------------------------------------------------------------

struct Description {
  static ms::HostDeviceText Text() {
    return {"BROKEN", "A device with a fault", "Tests", "none",
            HasOwnMemory() ? 0 : MS_DEVICE_HOST_IS_DEVICE};
  }
};
using Devices = ms::HostDevices<Description>;

const MS_DevicesApi& GoodDevices() {
  return *reinterpret_cast<const MS_DevicesApi*>(Devices::GetInterface(MS_DEVICES_API));
}

MS_Status* Enumerate(const MS_Plugin* plugin, const MS_DeviceDesc** out, uint64_t* n,
                     MS_Str* reason) {
  const uint64_t room = *n;
  const MS_DeviceDesc* device = nullptr;
  uint64_t one = 1;
  MS_Status* const status = GoodDevices().enumerate(plugin, &device, &one, reason);
  *n = Has("no_device") ? 0 : 1;
  if (out == nullptr || (room == 0 && !Has("overfills"))) return status;
  static MS_DeviceDesc described = *device;
  described.dlpack_device_type = HasOwnMemory() ? kDLPackDeviceType : 0;
  static int calls = 0;
  static MS_DeviceDesc other = *device;
  other.mem_total += 4096;
  out[0] = Has("unstable") && calls++ > 0 ? &other : &described;
  return status;
}

MS_Status* DeviceCreate(const MS_Plugin* plugin, uint32_t ordinal, const MS_KV* options,
                        uint64_t n_options, MS_Device** out) {
  if (Has("keeps_files") && open("/dev/null", O_RDONLY) < 0) return nullptr;
  return GoodDevices().device_create(plugin, Has("any_ordinal") ? 0 : ordinal, options, n_options,
                                     out);
}

const MS_DeviceApi* DeviceFunctions(MS_Device*) {
  return reinterpret_cast<const MS_DeviceApi*>(DeviceTable());
}

const MS_Table* DevicesTable() {
  static const MS_DevicesApi table = [] {
    MS_DevicesApi api = GoodDevices();
    api.enumerate = &Enumerate;
    api.device_create = &DeviceCreate;
    api.fns = &DeviceFunctions;
    return api;
  }();
  return &table.head;
}

// ---- The plugin ---------------------------------------------------------------------------------

struct Plugin : ms::PluginDefaults {
  static ms::Status Init(const ms::PluginOptions& options) {
    if (Has("init_fails")) return ms::Internal("init fails on purpose");
    if (Has("refuses_default") && options.size() > 1)
      return ms::InvalidArgument("too many options");
    return ms::Status();  // The host has checked them; without a schema, nobody has.
  }
  static const MS_Table* GetInterface(std::string_view id) {
    if (Has("one_table")) return DeviceTable();
    if (id == MS_OPTIONS_API) return SchemaTable();
    if (id == MS_PROFILER_API) return ProfilerTable();
    if (id == MS_DEVICES_API) return DevicesTable();
    if (id == MS_DEVICE_API) return DeviceTable();
    return nullptr;
  }
  static ms::Status RegisterAll(MS_Registrar* registrar) {
    ms::Status status = RegisterKernels(registrar);
    if (Has("ignores_refusal")) return ms::Status();
    return status;
  }
};

}  // namespace
}  // namespace broken

MS_PLUGIN_NOTE("broken", "", /*rank=*/0, /*cpu_bits=*/0, MS_PLUGIN_DEVICES | MS_PLUGIN_HAS_OPTIONS);

extern "C" MS_PLUGIN_EXPORT MS_Status* ms_plugin_entry(const MS_HostBase* host,
                                                       const MS_Plugin** out_plugin) {
  static const MS_Plugin plugin = ms::MakePlugin<broken::Plugin>(ms_plugin_description);
  static MS_HostBase fitting = *host;
  if (broken::Has("any_host")) {
    fitting.abi_major = MS_ABI_MAJOR;
    host = &fitting;
  }
  return ms::EnterPlugin(host, &plugin, out_plugin);
}
