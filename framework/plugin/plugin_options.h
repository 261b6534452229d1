// What users set for plugins.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_OPTIONS_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_OPTIONS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "framework/status.h"

namespace millstream {

// Of one plugin: names and values.
using PluginOptions = std::vector<std::pair<std::string, std::string>>;
// By names or families of plugins.
using NamedPluginOptions = std::map<std::string, PluginOptions>;

// Reads "sim:devices=2;memory_mb=64;acme:level=3": options are separated by semicolons, and
// "plugin:" says whose an option is, and those after it that do not say. INVALID_ARGUMENT with the
// first part that is not of this form.
StatusOr<NamedPluginOptions> ParsePluginOptions(absl::string_view text);

// Sets all of `from`; one that `into` has already gets the new value.
void OverrideOptions(const PluginOptions& from, PluginOptions* into);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_OPTIONS_H_
