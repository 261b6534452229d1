// Options against what a plugin says of them (ms.options/1).
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_OPTION_CHECK_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_OPTION_CHECK_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "framework/plugin/plugin.h"
#include "framework/plugin/plugin_options.h"
#include "framework/status.h"

namespace millstream {

// What the plugin says of its options; empty without ms.options/1.
// REQUIRES: CheckMandatoryFunctions passed.
absl::Span<const MS_OptionDesc* const> OptionSchemaOf(const MS_Plugin* plugin);

// Whether the host understands a description, and its default is a value that it allows.
Status CheckOptionDescription(const MS_OptionDesc* option);

// REQUIRES: CheckOptionDescription passed.
bool IsGoodOptionValue(const MS_OptionDesc& option, absl::string_view value);

// Checks `given`, and adds the defaults of what is not given to `*all`, a copy of it. A plugin
// without schema takes what it is given. INVALID_ARGUMENT names the first option that is unknown or
// has a bad value, and a description that makes no sense; UNIMPLEMENTED a kind of option that this
// host does not know. REQUIRES: CheckMandatoryFunctions passed.
Status CheckOptions(const MS_Plugin* plugin, const PluginOptions& given, PluginOptions* all);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_OPTION_CHECK_H_
