#include "framework/plugin/plugin_check.h"

#include <cstddef>
#include <cstring>

#include "absl/types/span.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/plugin_limits.h"
#include "framework/plugin/plugin_text.h"

namespace millstream {
namespace {

// A function pointer at a fixed place of a table.
struct Slot {
  const char* name;
  size_t offset;
};

#define MS_SLOT(type, field) \
  Slot { #field, offsetof(type, field) }

constexpr Slot kPluginSlots[] = {
    MS_SLOT(MS_Plugin, get_interface),
    MS_SLOT(MS_Plugin, init),
    MS_SLOT(MS_Plugin, register_all),
    MS_SLOT(MS_Plugin, shutdown),
};
constexpr Slot kDevicesSlots[] = {
    MS_SLOT(MS_DevicesApi, enumerate),
    MS_SLOT(MS_DevicesApi, device_create),
    MS_SLOT(MS_DevicesApi, device_destroy),
    MS_SLOT(MS_DevicesApi, fns),
};
// All but what plugin.h marks as optional.
constexpr Slot kDeviceSlots[] = {
    MS_SLOT(MS_DeviceApi, mem_alloc),      MS_SLOT(MS_DeviceApi, mem_free),
    MS_SLOT(MS_DeviceApi, mem_info),       MS_SLOT(MS_DeviceApi, stream_create),
    MS_SLOT(MS_DeviceApi, stream_destroy), MS_SLOT(MS_DeviceApi, stream_native),
    MS_SLOT(MS_DeviceApi, stream_query),   MS_SLOT(MS_DeviceApi, stream_sync),
    MS_SLOT(MS_DeviceApi, event_create),   MS_SLOT(MS_DeviceApi, event_destroy),
    MS_SLOT(MS_DeviceApi, event_record),   MS_SLOT(MS_DeviceApi, event_query),
    MS_SLOT(MS_DeviceApi, event_sync),     MS_SLOT(MS_DeviceApi, stream_wait_event),
    MS_SLOT(MS_DeviceApi, copy_async),     MS_SLOT(MS_DeviceApi, device_sync),
    MS_SLOT(MS_DeviceApi, device_error),
};

constexpr Slot kOptionsSlots[] = {MS_SLOT(MS_OptionsApi, schema)};
// All but what plugin.h marks as optional.
constexpr Slot kProfilerSlots[] = {
    MS_SLOT(MS_ProfilerApi, start),
    MS_SLOT(MS_ProfilerApi, stop),
    MS_SLOT(MS_ProfilerApi, flush),
};

constexpr Slot kCaptureSlots[] = {
    MS_SLOT(MS_CaptureApi, begin),  MS_SLOT(MS_CaptureApi, end),     MS_SLOT(MS_CaptureApi, update),
    MS_SLOT(MS_CaptureApi, replay), MS_SLOT(MS_CaptureApi, destroy),
};

#undef MS_SLOT

// `size` is what the struct's writer knew of it.
Status CheckSlots(const void* table, uint32_t size, absl::string_view id,
                  absl::Span<const Slot> slots) {
  for (const Slot& slot : slots) {
    if (slot.offset + sizeof(void*) > size) {
      return errors::Unimplemented(id, ".", slot.name, " is missing: the table has ", size,
                                   " bytes, this function ends at ", slot.offset + sizeof(void*));
    }
    void* function = nullptr;
    std::memcpy(&function, static_cast<const char*>(table) + slot.offset, sizeof(function));
    if (function == nullptr) return errors::Unimplemented(id, ".", slot.name, " is null");
  }
  return absl::OkStatus();
}

Status CheckId(const MS_Table& table, absl::string_view id) {
  if (table.id == nullptr) return errors::InvalidArgument("its table for ", id, " has no id");
  const absl::string_view found(table.id, strnlen(table.id, kMostNameBytes));
  if (found == id) return absl::OkStatus();
  return errors::InvalidArgument("asked for ", id, ", it gave a table of \"", Excerpt(found), "\"");
}

Status CheckTable(const MS_Table* table, absl::string_view id, absl::Span<const Slot> slots) {
  if (table->size >= sizeof(MS_Table)) MS_RETURN_IF_ERROR(CheckId(*table, id));
  return CheckSlots(table, table->size, id, slots);
}

// The table that the plugin has for `id`, or null.
template <typename Table>
StatusOr<const Table*> AskFor(const MS_Plugin* plugin, const char* id,
                              absl::Span<const Slot> slots) {
  const MS_Table* const table = plugin->get_interface(plugin, id);
  if (table != nullptr) MS_RETURN_IF_ERROR(CheckTable(table, id, slots));
  return reinterpret_cast<const Table*>(table);
}

}  // namespace

Status CheckPlugin(const MS_Plugin* plugin, const PluginFile& file) {
  if (plugin == nullptr) return errors::InvalidArgument("its entry point gave no MS_Plugin");
  if (reinterpret_cast<uintptr_t>(plugin) % alignof(MS_Plugin) != 0) {
    return errors::InvalidArgument("its entry point gave a misaligned MS_Plugin");
  }
  if (plugin->magic != MS_PLUGIN_MAGIC) {
    return errors::InvalidArgument("its MS_Plugin has magic 0x", absl::Hex(plugin->magic),
                                   ", expected 0x", absl::Hex(MS_PLUGIN_MAGIC));
  }
  if (plugin->size < sizeof(MS_Plugin)) {
    return errors::InvalidArgument("its MS_Plugin has ", plugin->size, " bytes, needed are ",
                                   sizeof(MS_Plugin));
  }
  if (plugin->abi_major != MS_ABI_MAJOR || plugin->min_host_minor > MS_ABI_MINOR) {
    return errors::FailedPrecondition("needs ABI ", plugin->abi_major, ".", plugin->min_host_minor,
                                      ", host has ", MS_ABI_MAJOR, ".", MS_ABI_MINOR);
  }
  const MS_Note& note = file.note;
  if (plugin->built_minor != note.built_minor || plugin->min_host_minor != note.min_host_minor) {
    return errors::InvalidArgument("its MS_Plugin is of minor ", plugin->built_minor, " and needs ",
                                   plugin->min_host_minor, ", but its note says ", note.built_minor,
                                   " and ", note.min_host_minor);
  }
  constexpr uint32_t kKnownFlags =
      MS_PLUGIN_KERNELS_ONLY | MS_PLUGIN_DEVICES | MS_PLUGIN_HAS_OPTIONS;
  if ((plugin->flags & ~kKnownFlags) != 0) {
    return errors::Unimplemented("its MS_Plugin has flags ",
                                 absl::Hex(plugin->flags & ~kKnownFlags),
                                 " (bits), which are unknown");
  }
  MS_RETURN_IF_ERROR(CheckName(plugin->vendor, "MS_Plugin.vendor"));
  MS_RETURN_IF_ERROR(CheckName(plugin->version, "MS_Plugin.version"));
  if (FromAbi(plugin->name) != file.name()) {
    return errors::InvalidArgument("calls itself \"", Excerpt(FromAbi(plugin->name)),
                                   "\", but its note says \"", file.name(), "\"");
  }
  return absl::OkStatus();
}

Status CheckDeviceTable(const MS_DeviceApi* table) {
  if (table == nullptr) return errors::Unimplemented(MS_DEVICE_API, " is missing");
  return CheckTable(&table->head, MS_DEVICE_API, kDeviceSlots);
}

Status CheckMandatoryFunctions(const MS_Plugin* plugin, PluginTables* tables) {
  MS_RETURN_IF_ERROR(CheckSlots(plugin, plugin->size, "MS_Plugin", kPluginSlots));
  PluginTables found;
  MS_ASSIGN_OR_RETURN(found.devices, AskFor<MS_DevicesApi>(plugin, MS_DEVICES_API, kDevicesSlots));
  if (found.devices == nullptr && (plugin->flags & MS_PLUGIN_DEVICES) != 0) {
    return errors::Unimplemented(MS_DEVICES_API,
                                 " is missing, though the plugin says that it has devices");
  }
  MS_ASSIGN_OR_RETURN(found.options, AskFor<MS_OptionsApi>(plugin, MS_OPTIONS_API, kOptionsSlots));
  MS_ASSIGN_OR_RETURN(found.profiler,
                      AskFor<MS_ProfilerApi>(plugin, MS_PROFILER_API, kProfilerSlots));
  MS_ASSIGN_OR_RETURN(found.capture, AskFor<MS_CaptureApi>(plugin, MS_CAPTURE_API, kCaptureSlots));
  // The table of each device is checked when it is created.
  MS_RETURN_IF_ERROR(AskFor<MS_DeviceApi>(plugin, MS_DEVICE_API, kDeviceSlots).status());
  if (tables != nullptr) *tables = found;
  return absl::OkStatus();
}

}  // namespace millstream
