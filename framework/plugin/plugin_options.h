// The options that users set for plugins.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_OPTIONS_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_OPTIONS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "framework/status.h"

namespace millstream {

// The options of one plugin: names and values.
using PluginOptions = std::vector<std::pair<std::string, std::string>>;
// By names or families of plugins.
using NamedPluginOptions = std::map<std::string, PluginOptions>;

// Parses "sim:devices=2;memory_mb=64;acme:level=3". Options are separated by semicolons. "plugin:"
// before an option applies also to the following options without it. INVALID_ARGUMENT with the
// first part that does not have this form.
StatusOr<NamedPluginOptions> ParsePluginOptions(absl::string_view text);

// Adds the options `from` to `into`; they override options of the same name.
void OverrideOptions(const PluginOptions& from, PluginOptions* into);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_OPTIONS_H_
