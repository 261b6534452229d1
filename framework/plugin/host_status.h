// The host's statuses for plugins.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_HOST_STATUS_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_HOST_STATUS_H_

#include "framework/plugin/plugin.h"
#include "framework/status.h"

// An error. A null pointer stands for success.
struct MS_Status {
  absl::Status status;
};

namespace millstream {

// Converts a status; null for OK. The caller owns the result.
MS_Status* ToAbiStatus(const Status& status);
// Creates a status with a code from a plugin; null for MS_OK. An unknown code becomes UNKNOWN, and
// the message has its number. The message becomes Printable: a byte 0 would cut off the node that
// is added to it later.
MS_Status* MakeAbiStatus(MS_Code code, absl::string_view message);
// Converts and frees the result of a plugin's function.
Status TakeAbiStatus(MS_Status* status);

// Convert strings without a copy. Empty if the data is null, whatever the size.
inline absl::string_view FromAbi(MS_Str text) {
  return absl::string_view(text.data, text.data == nullptr ? 0 : static_cast<size_t>(text.size));
}
inline MS_Str ToAbi(absl::string_view text) { return MS_Str{text.data(), text.size()}; }

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_HOST_STATUS_H_
