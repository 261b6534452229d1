// Texts that plugins give: whether they may be what they claim to be, and how they are shown.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_TEXT_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

// `text` as a line of a message can hold it: bytes that are no UTF-8, and control characters other
// than tab and newline, become "\x00". A text longer than kMostTextBytes is cut, and says so.
std::string Printable(absl::string_view text);
// The same, cut after 64 bytes: enough to know a name by.
std::string Excerpt(absl::string_view text);

// INVALID_ARGUMENT unless the text has data, is UTF-8 without control characters, and has at most
// kMostNameBytes (CheckName) or kMostTextBytes (CheckText) bytes. An empty text passes. `what` says
// which text it is: "the name of an op".
Status CheckName(MS_Str name, absl::string_view what);
// Tabs and newlines may be part of it.
Status CheckText(MS_Str text, absl::string_view what);

// Letters, digits and underscores, the first a letter: what can stand in the name of a device.
bool IsDeviceType(absl::string_view text);

// INVALID_ARGUMENT when there are more than `most`, or some and `data` is null: "MS_OpDef.attrs:
// 100000 items, at most 256 are allowed".
Status CheckCount(uint64_t count, uint64_t most, absl::string_view what);
Status CheckArray(const void* data, uint64_t count, uint64_t most, absl::string_view what);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_TEXT_H_
