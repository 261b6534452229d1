// The options that plugins run with, for their kernels.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_OPTION_VALUES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_OPTION_VALUES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace millstream {

// Says what `plugin` is started with. Values that were said before and are not replaced stay.
// Thread-safe.
void SetOptionValues(const std::string& plugin,
                     const std::vector<std::pair<std::string, std::string>>& options);

// The value, which lives for ever, or null. Thread-safe.
const std::string* FindOptionValue(absl::string_view plugin, absl::string_view name);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_OPTION_VALUES_H_
