// What a suite is, and what it works on.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_SUITE_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_SUITE_H_

#include <memory>
#include <string>

#include "absl/types/span.h"
#include "framework/plugin/check/checked_plugin.h"
#include "framework/plugin/check/report.h"
#include "framework/plugin/plugin_options.h"

namespace millstream::plugin_check {

struct CheckSettings {
  std::string path;
  PluginOptions options;
  std::string reference;  // the CPU plugin; empty: nothing is compared with it
  int soak_rounds = 1000;
};

// In the process of a suite.
struct CheckContext {
  const CheckSettings* settings = nullptr;
  Reporter* report = nullptr;
  std::unique_ptr<CheckedPlugin> plugin;  // null in suites that load it themselves
  std::unique_ptr<CheckedPlugin>
      reference;  // null when there is none, or for suites that need none

  // The plugin that kernels are compared with: the reference, or, where that is the same file, the
  // plugin itself; null when there is none.
  const CheckedPlugin* Comparison() const;
};

// A suite consists of items, numbered from 0, which run one after the other in one process, or each
// in a process of its own. An item that kills its process ends itself alone. Without items, all
// rules of the suite are skipped: only suites about kernels can have none.
struct Suite {
  const char* name;
  bool loads_itself;  // the items load the plugin, and so begin in a fresh process
  bool compares;      // it wants the reference
  int (*count)(CheckContext* context);
  void (*run)(CheckContext* context, int item);
};
absl::Span<const Suite> Suites();

// A suite whose items are functions.
using Check = void (*)(CheckContext* context);
template <const Check* kChecks, int kCount>
Suite SuiteOf(const char* name, bool loads_itself) {
  return {name, loads_itself, false, [](CheckContext*) { return kCount; },
          [](CheckContext* context, int item) { kChecks[item](context); }};
}

// Each in its own file.
Suite LoadSuite();
Suite OptionSuite();
Suite RegistrySuite();
Suite DeviceSuite();
Suite MemorySuite();
Suite CopySuite();
Suite StreamSuite();
Suite KernelSuite();
Suite FaultSuite();
Suite ThreadSuite();
Suite TraceSuite();
Suite SoakSuite();

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_SUITE_H_
