// The plugin's note and options, and the list of its devices.
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device.h"
#include "millstream/option_schema.hpp"
#include "millstream/plugin_device.hpp"
#include "millstream/plugin_entry.hpp"

namespace acme {
namespace {

uint64_t num_devices = 1;
uint64_t memory_bytes = uint64_t{64} << 20;

// [docs: devices]
struct Devices {
  using Device = acme::Device;

  static std::vector<ms::DeviceDescription> Find(std::string* reason) {
    if (num_devices == 0) *reason = "option devices is 0";
    const ms::DeviceDescription one =
        ms::DeviceDescription(kDeviceType, "ACME One")
            .Vendor("ACME")
            .Arch("threads")
            .Flags(MS_DEVICE_LINEAR_POINTERS)
            .Space(MS_SPACE_DEVICE, MS_SPACE_DEVICE_VISIBLE | MS_SPACE_LINEAR, kAlignment,
                   memory_bytes);
    return std::vector<ms::DeviceDescription>(num_devices, one);
  }

  static ms::Status Create(uint32_t ordinal, const ms::PluginOptions& options,
                           std::unique_ptr<Device>* out) {
    if (ordinal >= num_devices) return ms::InvalidArgument("there is no ACME ", ordinal);
    if (!options.empty()) return ms::InvalidArgument("an ACME has no options of its own");
    *out = std::make_unique<Device>(ordinal, memory_bytes);
    return ms::Status();
  }
};
// [docs: end]

// [docs: plugin]
struct Plugin : ms::PluginDefaults {
  static constexpr char kVendor[] = "ACME";
  static constexpr char kVersion[] = "1.0";

  static const ms::OptionSchema& Options() {
    static const ms::OptionSchema schema{ms::Option("devices", MS_OPTION_U64)
                                             .Doc("How many there are.")
                                             .Default("1")
                                             .Range("0", "4"),
                                         ms::Option("memory_mb", MS_OPTION_U64)
                                             .Doc("The memory of each, in MiB.")
                                             .Default("64")
                                             .Range("1", "4096")};
    return schema;
  }
  // The host has checked the options against the schema.
  static ms::Status Init(const ms::PluginOptions& options) {
    for (const auto& [name, text] : options) {
      uint64_t value = 0;
      std::from_chars(text.data(), text.data() + text.size(), value);
      if (name == "devices") {
        num_devices = value;
      } else if (name == "memory_mb") {
        memory_bytes = value << 20;
      } else {
        return ms::InvalidArgument("unknown option ", name);
      }
    }
    return ms::Status();
  }
  static const MS_Table* GetInterface(std::string_view id) {
    return ms::DeviceTables<Devices>::GetInterface(id);
  }
};

}  // namespace
}  // namespace acme

MS_PLUGIN_NOTE("acme", "acme", /*rank=*/0, /*cpu_bits=*/0,
               MS_PLUGIN_DEVICES | MS_PLUGIN_HAS_OPTIONS);
MS_PLUGIN_DEFINE(acme::Plugin);
// [docs: end]
