// One of two plugins of the same source (twin_symbols.h). Its init stores its number in all its
// variables, and its shutdown logs their values.
#include <string>

#include "framework/plugin/plugin_entry.hpp"
#include "framework/plugin/testing/twin_symbols.h"

#ifndef TWIN_NAME
#define TWIN_NAME "twin"
#endif
#ifndef TWIN_NUMBER
#define TWIN_NUMBER 3
#endif

// Others have globals and functions of these names, too.
TWIN_VISIBLE int twin_global = 0;
extern "C" TWIN_VISIBLE int twin_number() { return TWIN_NUMBER; }

namespace {

struct Registered {
  Registered() { twin_library::Registry::Global().Add("message", TWIN_NUMBER); }
} registered;

struct Twin : ms::PluginDefaults {
  static ms::Status Init(const ms::PluginOptions&) {
    twin_global += TWIN_NUMBER;
    twin_library::inline_variable += TWIN_NUMBER;
    twin_library::StaticOf<int>() += TWIN_NUMBER;
    try {
      throw twin_library::Error("caught where it was thrown");
    } catch (const twin_library::Error&) {
      return ms::Status();
    }
  }
  static void Shutdown() {
    const auto& registry = twin_library::Registry::Global();
    const std::string text = ms::StrCat(TWIN_NAME, ": ", twin_global, twin_library::inline_variable,
                                        twin_library::StaticOf<int>(), registry.OwnerOf("message"),
                                        twin_number(), " of ", registry.size());
    ms::host_tables.base->log(ms::host_tables.base, MS_LOG_INFO, ms::ToAbi(text));
  }
};

}  // namespace

MS_PLUGIN_NOTE(TWIN_NAME, "", /*rank=*/0, /*cpu_bits=*/0, MS_PLUGIN_KERNELS_ONLY);
MS_PLUGIN_DEFINE(Twin);
