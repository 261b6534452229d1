#include "framework/plugin/plugin_options.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace millstream {

StatusOr<NamedPluginOptions> ParsePluginOptions(absl::string_view text) {
  NamedPluginOptions result;
  PluginOptions* options = nullptr;
  for (absl::string_view part : absl::StrSplit(text, ';')) {
    part = absl::StripAsciiWhitespace(part);
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    absl::string_view name = part.substr(0, equals);
    const size_t colon = name.find(':');
    if (colon != absl::string_view::npos && colon > 0) {
      options = &result[std::string(name.substr(0, colon))];
      name.remove_prefix(colon + 1);
    }
    if (equals == absl::string_view::npos || name.empty() || colon == 0 || options == nullptr) {
      return errors::InvalidArgument("\"", part,
                                     "\" is no option: one is written plugin:name=value, and the "
                                     "next of the same plugin name=value");
    }
    OverrideOptions({{std::string(name), std::string(part.substr(equals + 1))}}, options);
  }
  return result;
}

void OverrideOptions(const PluginOptions& from, PluginOptions* into) {
  for (const auto& option : from) {
    const auto known = absl::c_find_if(
        *into, [&option](const auto& other) { return other.first == option.first; });
    if (known == into->end()) {
      into->push_back(option);
    } else {
      known->second = option.second;
    }
  }
}

}  // namespace millstream
