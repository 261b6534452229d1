// A simulated accelerator, for tests: see docs/sim.md.
#include "device_plugins/sim/adapted_kernel.h"
#include "device_plugins/sim/control.h"
#include "device_plugins/sim/device_list.h"
#include "device_plugins/sim/device_table.h"
#include "device_plugins/sim/graph.h"
#include "device_plugins/sim/profiler.h"
#include "device_plugins/sim/switches.h"
#include "framework/plugin/plugin_entry.hpp"

namespace millstream::sim {
namespace {

MS_Status* SetSwitchOfAll(uint32_t ordinal, MS_Str name, MS_Str value) noexcept {
  return ms::Guarded([&]() -> ms::Status {
    for (Device* device : Device::AllOf(ordinal)) {
      MS_TRY(device->Set(ms::ToView(name), ms::ToView(value)));
    }
    return ms::Status();
  });
}

MS_Status* SetSwitchOf(MS_Device* device, MS_Str name, MS_Str value) noexcept {
  return ms::Guarded([&] { return Unwrap(device)->Set(ms::ToView(name), ms::ToView(value)); });
}

MS_Status* CountHung(uint32_t ordinal, uint64_t* out) noexcept {
  return ms::Guarded([&]() -> ms::Status {
    *out = 0;
    for (const Device* device : Device::AllOf(ordinal)) *out += device->CountHung();
    return ms::Status();
  });
}

MS_Status* CountUses(uint32_t ordinal, SIM_Uses* out) noexcept {
  return ms::Guarded([&]() -> ms::Status {
    *out = SIM_Uses{};
    out->graphs = Graph::CountAll();
    for (const Device* device : Device::AllOf(ordinal)) {
      out->replays += device->num_replays();
      out->registered += device->memory()->CountRegistered();
    }
    return ms::Status();
  });
}

struct SimPlugin : ms::PluginDefaults {
  static constexpr char kVendor[] = "Millstream";
  static constexpr char kVersion[] = "0.1.0";
  static ms::Status Init(const ms::PluginOptions& options) {
    Settings settings;
    MS_TRY(Settings::Parse(options, &settings));
    SetSettings(std::move(settings));
    return ms::Status();
  }
  static ms::Status RegisterAll(MS_Registrar* registrar) {
    return RegisterAdaptedKernels(registrar);
  }
  static const MS_Table* GetInterface(std::string_view id) {
    static const SIM_ControlApi control = {
        {sizeof(SIM_ControlApi), 1, MS_ABI_MINOR, SIM_CONTROL_API},
        &SetSwitchOf,
        &SetSwitchOfAll,
        &CountHung,
        &CountUses};
    if (id == MS_OPTIONS_API) return &OptionsTable()->head;
    if (id == MS_DEVICES_API) return &DevicesTable()->head;
    if (id == MS_DEVICE_API) return &DeviceTable()->head;
    if (id == MS_PROFILER_API) return &ProfilerTable()->head;
    if (id == MS_CAPTURE_API) return &CaptureTable()->head;
    if (id == SIM_CONTROL_API) return &control.head;
    return nullptr;
  }
};

}  // namespace
}  // namespace millstream::sim

MS_PLUGIN_NOTE("millstream_sim", "sim", /*rank=*/0, /*cpu_bits=*/0,
               MS_PLUGIN_DEVICES | MS_PLUGIN_HAS_OPTIONS);
MS_PLUGIN_DEFINE(millstream::sim::SimPlugin);
