// Checks the plugin's registrations against the op registry.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/suite.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/plugin_check.h"

namespace millstream::plugin_check {
namespace {

// Enters and initializes the plugin; null when that fails, which is for other rules to say.
const MS_Plugin* Enter(CheckContext* context, PluginFile* file) {
  StatusOr<PluginFile> found = ReadPluginFile(context->settings->path);
  if (!found.ok()) return nullptr;
  *file = *std::move(found);
  const StatusOr<const MS_Plugin*> plugin = EnterPlugin(*file, CheckHost());
  if (!plugin.ok() || !CheckMandatoryFunctions(*plugin).ok()) return nullptr;
  if (!InitPlugin(*plugin, context->settings->options).ok()) return nullptr;
  return *plugin;
}

// Every kernel's device type is one of the plugin's own, or the CPU, which is open to all.
void CheckDeviceTypes(CheckContext* context, const MS_Plugin* plugin,
                      const std::vector<KernelRegistration>& kernels) {
  context->report->Begin("REG-DEVICES");
  std::vector<std::string> types = {"CPU"};
  const auto* const devices =
      reinterpret_cast<const MS_DevicesApi*>(plugin->get_interface(plugin, MS_DEVICES_API));
  if (devices != nullptr) {
    const auto descriptions = EnumerateDevices(plugin, devices, nullptr);
    if (!descriptions.ok()) return;
    if (descriptions->empty()) {
      context->report->Skip("the plugin finds no device here");
      return;
    }
    for (const MS_DeviceDesc* description : *descriptions) {
      types.emplace_back(FromAbi(description->device_type));
    }
  }
  std::vector<std::string> strange;
  for (const KernelRegistration& kernel : kernels) {
    if (absl::c_linear_search(types, kernel.device_type)) continue;
    if (absl::c_linear_search(strange, kernel.device_type)) continue;
    strange.push_back(kernel.device_type);
    context->report->Fail(absl::StrCat("kernels such as that of ", kernel.op, " are for \"",
                                       kernel.device_type, "\", a device that nobody has"));
  }
}

void CheckRegistrations(CheckContext* context) {
  PluginFile file;
  const MS_Plugin* const plugin = Enter(context, &file);
  if (plugin == nullptr) return;
  Reporter& report = *context->report;
  report.Begin("REG-KERNELS");
  MS_Registrar registrar = RegistrarOf(file, plugin);
  const Status status = Take(plugin->register_all(plugin, &registrar));
  report.Expect(registrar.first_error.ok(), registrar.first_error.ToString());
  report.Expect(registrar.skipped.empty(),
                "skipped by a host of this version: ", absl::StrJoin(registrar.skipped, "; "));
  if (!status.ok() && registrar.first_error.ok()) report.Skip(status.ToString());

  report.Begin("REG-TIES");
  KernelRegistry registry;
  std::vector<std::string> ties;
  const Status committed = registry.Commit(registrar.kernels, nullptr, &ties);
  report.Expect(committed.ok(), committed.ToString());
  report.Expect(ties.empty(), absl::StrJoin(ties, "; "));
  CheckDeviceTypes(context, plugin, registrar.kernels);
}

void CheckRefusal(CheckContext* context) {
  PluginFile file;
  const MS_Plugin* const plugin = Enter(context, &file);
  if (plugin == nullptr) return;
  Reporter& report = *context->report;
  report.Begin("REG-REFUSED");
  MS_Registrar registrar = RegistrarOf(file, plugin);
  // The second: half of what it registers is there already.
  FailRegistration(2);
  const Status status = Take(plugin->register_all(plugin, &registrar));
  if (FailRegistration(0) != 0) {
    report.Skip("the plugin registers fewer than two kernels");
    return;
  }
  report.Expect(absl::IsResourceExhausted(status),
                "the second registration was refused with RESOURCE_EXHAUSTED, register_all gave ",
                status.ToString());
  report.Expect(LiveStatuses() == 0, LiveStatuses(), " statuses were neither returned nor freed");
}

constexpr Check kChecks[] = {&CheckRegistrations, &CheckRefusal};

}  // namespace

Suite RegistrySuite() { return SuiteOf<kChecks, 2>("registry", /*loads_itself=*/true); }

}  // namespace millstream::plugin_check
