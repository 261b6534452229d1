// The entry point of a plugin, for one of its files:
//
//   MS_PLUGIN_NOTE("acme_cpu", "acme_cpu", /*rank=*/0, /*cpu_bits=*/0, MS_PLUGIN_KERNELS_ONLY);
//   struct AcmePlugin : ms::PluginDefaults {};
//   MS_PLUGIN_DEFINE(AcmePlugin);
//
// The plugin then registers every kernel (plugin.hpp) and op (plugin_ops.hpp) of the files that are
// linked into it.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_ENTRY_HPP_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_ENTRY_HPP_

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/plugin/option_schema.hpp"
#include "framework/plugin/plugin_bind.hpp"
#include "framework/plugin/plugin_ops.hpp"

namespace ms {
inline namespace v1 {

// The options that a user gave a plugin.
using PluginOptions = std::vector<std::pair<std::string_view, std::string_view>>;

// The definition of a plugin for MS_PLUGIN_DEFINE, with defaults. Derive from it and redefine
// members. The name and flags are those of MS_PLUGIN_NOTE.
struct PluginDefaults {
  static constexpr char kVendor[] = "";
  static constexpr char kVersion[] = "";
  // Called once, after BindHost and before all other code. `options` are the user's; if the
  // definition has Options() (option_schema.hpp), the host has checked them against it.
  static Status Init(const PluginOptions& options) {
    if (options.empty()) return Status();
    return InvalidArgument("unknown option \"", options.front().first,
                           "\": this plugin has no options");
  }
  // Returns a table of the plugin, such as MS_DEVICES_API; null if it has none.
  static const MS_Table* GetInterface(std::string_view) { return nullptr; }
  static Status RegisterAll(MS_Registrar* registrar) {
    for (const auto& registration : Registrations()) MS_TRY(registration(registrar));
    for (const OpDefinition& op : OpDefinitions()) MS_TRY(op.RegisterWith(registrar));
    for (const KernelEntry& entry : KernelEntries()) MS_TRY(entry.RegisterWith(registrar));
    return Status();
  }
  static void Shutdown() {}
};

// The C functions of a plugin.
template <typename Definition>
struct PluginFunctions {
  static const MS_Table* GetInterface(const MS_Plugin*, const char* id) noexcept {
    try {
      if (id == std::string_view(MS_OPTIONS_API)) {
        if (const MS_Table* options = OptionsTable<Definition>()) return options;
      }
      return Definition::GetInterface(id);
    } catch (...) {
      return nullptr;
    }
  }
  static MS_Status* Init(const MS_Plugin*, const MS_KV* options, uint64_t n_options) noexcept {
    return Guarded([&]() -> Status {
      PluginOptions pairs;
      for (uint64_t i = 0; i < n_options; ++i) {
        pairs.emplace_back(ToView(options[i].key), ToView(options[i].value));
      }
      return Definition::Init(pairs);
    });
  }
  static MS_Status* RegisterAll(const MS_Plugin*, MS_Registrar* registrar) noexcept {
    return Guarded([&]() -> Status { return Definition::RegisterAll(registrar); });
  }
  static void Shutdown(const MS_Plugin*) noexcept {
    try {
      Definition::Shutdown();
    } catch (...) {  // The error cannot be reported.
    }
  }
};

template <typename Definition>
MS_Plugin MakePlugin(const MS_Note& note) {
  MS_Plugin plugin{};
  plugin.magic = note.magic;
  plugin.size = sizeof(plugin);
  plugin.abi_major = note.abi_major;
  plugin.built_minor = note.built_minor;
  plugin.min_host_minor = note.min_host_minor;
  plugin.flags = note.flags;
  plugin.name = ToAbi(std::string_view(note.name));
  plugin.vendor = ToAbi(std::string_view(Definition::kVendor));
  plugin.version = ToAbi(std::string_view(Definition::kVersion));
  plugin.get_interface = &PluginFunctions<Definition>::GetInterface;
  plugin.init = &PluginFunctions<Definition>::Init;
  plugin.register_all = &PluginFunctions<Definition>::RegisterAll;
  plugin.shutdown = &PluginFunctions<Definition>::Shutdown;
  return plugin;
}

// The body of ms_plugin_entry. A host without the magic number gets neither a status nor a plugin.
inline MS_Status* EnterPlugin(const MS_HostBase* host, const MS_Plugin* plugin,
                              const MS_Plugin** out) noexcept {
  *out = nullptr;
  if (host == nullptr || host->magic != MS_HOST_MAGIC) return nullptr;
  host_tables.base = host;
  return Guarded([&]() -> Status {
    MS_TRY(BindHost(host));
    *out = plugin;
    return Status();
  });
}

}  // namespace v1
}  // namespace ms

// The entry point of a plugin. `Definition` derives from ms::PluginDefaults. At file scope, once a
// plugin, after MS_PLUGIN_NOTE.
#define MS_PLUGIN_DEFINE(Definition)                                                     \
  extern "C" MS_PLUGIN_EXPORT MS_Status* ms_plugin_entry(const MS_HostBase* host,        \
                                                         const MS_Plugin** out_plugin) { \
    static const MS_Plugin plugin = ::ms::MakePlugin<Definition>(ms_plugin_description); \
    return ::ms::EnterPlugin(host, &plugin, out_plugin);                                 \
  }                                                                                      \
  static_assert(true, "")

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_ENTRY_HPP_
