// Writing JSON.
#ifndef MILLSTREAM_CORE_C_API_JSON_H_
#define MILLSTREAM_CORE_C_API_JSON_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millstream::c_api {

// Appends `text` (UTF-8) in quotes, escaped as RFC 8259, section 7, asks.
void AppendJsonString(absl::string_view text, std::string* json);

}  // namespace millstream::c_api

#endif  // MILLSTREAM_CORE_C_API_JSON_H_
