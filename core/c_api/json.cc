#include "core/c_api/json.h"

#include "absl/strings/str_format.h"

namespace millstream::c_api {

void AppendJsonString(absl::string_view text, std::string* json) {
  json->push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json->push_back('\\');
      json->push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(json, "\\u%04x", static_cast<int>(c));
    } else {
      json->push_back(c);
    }
  }
  json->push_back('"');
}

}  // namespace millstream::c_api
