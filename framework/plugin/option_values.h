// The options of running plugins, for their kernels.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_OPTION_VALUES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_OPTION_VALUES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace millstream {

// Sets options of `plugin`. Other options of the plugin keep their values. Thread-safe.
void SetOptionValues(const std::string& plugin,
                     const std::vector<std::pair<std::string, std::string>>& options);

// The value, which is never destroyed; null if there is none. Thread-safe.
const std::string* FindOptionValue(absl::string_view plugin, absl::string_view name);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_OPTION_VALUES_H_
