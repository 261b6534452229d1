// Checks options against the schema of a plugin (ms.options/1).
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_OPTION_CHECK_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_OPTION_CHECK_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "framework/plugin/plugin.h"
#include "framework/plugin/plugin_options.h"
#include "framework/status.h"

namespace millstream {

// The plugin's descriptions of its options; empty without ms.options/1.
// REQUIRES: CheckMandatoryFunctions passed.
absl::Span<const MS_OptionDesc* const> OptionSchemaOf(const MS_Plugin* plugin);

// UNIMPLEMENTED if the host does not know the kind of option, INVALID_ARGUMENT if the description
// is wrong or does not allow its own default.
Status CheckOptionDescription(const MS_OptionDesc* option);

// REQUIRES: CheckOptionDescription passed.
bool IsGoodOptionValue(const MS_OptionDesc& option, absl::string_view value);

// Checks `given`, and sets `*all` to a copy with the defaults of missing options. Options of a
// plugin without a schema are not checked. INVALID_ARGUMENT names the first option that is unknown
// or has a bad value, or a wrong description; UNIMPLEMENTED names a kind of option that this host
// does not know. `table`: the plugin's, or null; without the parameter, the plugin is asked for it.
// REQUIRES: CheckMandatoryFunctions passed.
Status CheckOptions(const MS_Plugin* plugin, const MS_OptionsApi* table, const PluginOptions& given,
                    PluginOptions* all);
Status CheckOptions(const MS_Plugin* plugin, const PluginOptions& given, PluginOptions* all);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_OPTION_CHECK_H_
