// The stages of loading a plugin, from the file to a ready plugin.
#include "absl/strings/match.h"
#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/dynamic_symbols.h"
#include "framework/plugin/check/suite.h"
#include "framework/plugin/cpu_bits.h"
#include "framework/plugin/plugin_check.h"

namespace millstream::plugin_check {
namespace {

// Fails the rule that runs unless `status` is OK.
bool ExpectOk(CheckContext* context, const Status& status) {
  return context->report->Expect(status.ok(), status.ToString());
}

// Marks that some linkers put among the exports.
bool IsLinkersOwn(absl::string_view name) {
  return name == "_init" || name == "_fini" || name == "_edata" || name == "_end" ||
         name == "__bss_start";
}

// What can be known without running it.
StatusOr<PluginFile> Preflight(CheckContext* context) {
  Reporter& report = *context->report;
  report.Begin("LOAD-PREFLIGHT");
  StatusOr<PluginFile> file = ReadPluginFile(context->settings->path);
  if (!ExpectOk(context, file.status())) return file;
  report.Begin("LOAD-VERSION");
  const Status compatible = CheckCompatible(*file);
  if (!ExpectOk(context, compatible)) return compatible;
  report.Begin("LOAD-CPU");
  const Status cpu = CheckCpu(*file, EnabledCpuBits());
  if (!cpu.ok()) {
    report.Skip(cpu.ToString());
    return cpu;
  }
  return file;
}

void CheckSymbols(CheckContext* context, const PluginFile& file) {
  Reporter& report = *context->report;
  report.Begin("LOAD-SYMBOLS");
  const StatusOr<std::vector<DynamicSymbol>> symbols = ReadDynamicSymbols(file.path);
  if (!symbols.ok()) {
    report.Skip(symbols.status().message());
    return;
  }
  for (const DynamicSymbol& symbol : *symbols) {
    if (symbol.defined) {
      report.Expect(symbol.name == MS_PLUGIN_ENTRY_NAME || IsLinkersOwn(symbol.name), "it exports ",
                    symbol.name);
    } else {
      report.Expect(
          !absl::StartsWith(symbol.name, "ms_") && !absl::StrContains(symbol.name, "millstream"),
          "it leaves ", symbol.name, " to the host");
    }
  }
}

void CheckLoading(CheckContext* context) {
  Reporter& report = *context->report;
  const StatusOr<PluginFile> file = Preflight(context);
  if (!file.ok()) return;
  CheckSymbols(context, *file);
  // Opening and entering are one call here, and their errors differ in code.
  report.Begin("LOAD-OPEN");
  const StatusOr<const MS_Plugin*> plugin = EnterPlugin(*file, CheckHost());
  if (!report.Expect(!absl::IsNotFound(plugin.status()), plugin.status().ToString())) return;
  report.Begin("LOAD-ENTRY");
  if (!ExpectOk(context, plugin.status())) return;
  report.Begin("LOAD-FUNCTIONS");
  if (!ExpectOk(context, CheckMandatoryFunctions(*plugin))) return;
  report.Begin("LOAD-INIT");
  if (!ExpectOk(context, InitPlugin(*plugin, context->settings->options))) return;
  report.Begin("LOAD-REGISTER");
  MS_Registrar registrar = RegistrarOf(*file, *plugin);
  ExpectOk(context, RegisterPlugin(*plugin, &registrar));
  report.Begin("LOAD-SHUTDOWN");
  (*plugin)->shutdown(*plugin);
}

void CheckOtherHost(CheckContext* context) {
  const StatusOr<PluginFile> file = ReadPluginFile(context->settings->path);
  if (!file.ok()) return;
  context->report->Begin("LOAD-OLD-HOST");
  static MS_HostBase other = *CheckHost();
  other.abi_major = MS_ABI_MAJOR + 1;
  const StatusOr<const MS_Plugin*> plugin = EnterPlugin(*file, &other);
  context->report->Expect(!plugin.ok(), "it entered a host of ABI ", MS_ABI_MAJOR + 1, ".",
                          MS_ABI_MINOR);
}

constexpr Check kChecks[] = {&CheckLoading, &CheckOtherHost};

}  // namespace

Suite LoadSuite() { return SuiteOf<kChecks, 2>("load", /*loads_itself=*/true); }

}  // namespace millstream::plugin_check
