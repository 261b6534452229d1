// A plugin's descriptions of its options, and its treatment of unknown options.
#include <set>
#include <string>

#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/suite.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/option_check.h"
#include "framework/plugin/plugin_check.h"

namespace millstream::plugin_check {
namespace {

// A plugin that is entered and not initialized; null when the rules of load say why it is not.
const MS_Plugin* Enter(CheckContext* context) {
  const StatusOr<PluginFile> file = ReadPluginFile(context->settings->path);
  if (!file.ok()) return nullptr;
  const StatusOr<const MS_Plugin*> plugin = EnterPlugin(*file, CheckHost());
  return plugin.ok() && CheckMandatoryFunctions(*plugin).ok() ? *plugin : nullptr;
}

bool HasSchema(const MS_Plugin* plugin) {
  return plugin->get_interface(plugin, MS_OPTIONS_API) != nullptr;
}

void CheckUnknownOption(CheckContext* context) {
  const MS_Plugin* const plugin = Enter(context);
  if (plugin == nullptr) return;
  Reporter& report = *context->report;
  report.Begin("OPTION-UNKNOWN");
  if ((plugin->flags & MS_PLUGIN_HAS_OPTIONS) == 0 && !HasSchema(plugin)) {
    report.Skip("the plugin says that it takes no options, so it is given none");
    return;
  }
  const Status status = InitPlugin(plugin, {{"no_plugin_knows_this_option", "1"}});
  report.Expect(absl::IsInvalidArgument(status), "it gave ", status.ToString());
}

bool IsSentence(absl::string_view text) {
  return text.size() > 1 && text.back() == '.' && text.find(' ') != absl::string_view::npos;
}

void CheckDescription(const MS_OptionDesc* option, Reporter* report) {
  const Status understood = CheckOptionDescription(option);
  if (!report->Expect(understood.ok(), understood.ToString())) return;
  const absl::string_view doc = FromAbi(option->doc);
  report->Expect(IsSentence(doc), "its doc is no sentence: \"", doc, "\"");
  const bool is_number = option->kind == MS_OPTION_I64 || option->kind == MS_OPTION_U64 ||
                         option->kind == MS_OPTION_F64;
  for (const MS_Str bound : {option->minimum, option->maximum}) {
    // One bound has to be within the other.
    report->Expect(bound.size == 0 || (is_number && IsGoodOptionValue(*option, FromAbi(bound))),
                   "no value can be within \"", FromAbi(option->minimum), "\" and \"",
                   FromAbi(option->maximum), "\"");
  }
  report->Expect(option->n_choices == 0 || option->kind == MS_OPTION_STR,
                 "it is no text, and has choices");
}

void CheckSchema(CheckContext* context) {
  const MS_Plugin* const plugin = Enter(context);
  if (plugin == nullptr) return;
  Reporter& report = *context->report;
  report.Begin("OPTION-SCHEMA");
  if (!HasSchema(plugin)) {
    report.Skip("the plugin has no ms.options/1");
    return;
  }
  std::set<std::string> names;
  PluginOptions defaults;
  for (const MS_OptionDesc* option : OptionSchemaOf(plugin)) {
    const std::string name(option == nullptr ? "" : FromAbi(option->name));
    report.Begin("OPTION-SCHEMA", name);
    CheckDescription(option, &report);
    report.Expect(names.insert(name).second, "there are two options of this name");
    report.Expect(name.find('@') == std::string::npos, "what is behind @ is no part of a name");
    if (option == nullptr || option->default_value.data == nullptr) continue;
    defaults.emplace_back(name, std::string(FromAbi(option->default_value)));
  }
  report.Begin("OPTION-SCHEMA", "all defaults");
  const Status status = InitPlugin(plugin, defaults);
  report.Expect(status.ok(), "it gave ", status.ToString());
}

constexpr Check kChecks[] = {&CheckUnknownOption, &CheckSchema};

}  // namespace

Suite OptionSuite() { return SuiteOf<kChecks, 2>("options", /*loads_itself=*/true); }

}  // namespace millstream::plugin_check
