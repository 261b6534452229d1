// The host's statuses as plugins see them.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_HOST_STATUS_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_HOST_STATUS_H_

#include "framework/plugin/plugin.h"
#include "framework/status.h"

// Never OK: success is a null pointer.
struct MS_Status {
  absl::Status status;
};

namespace millstream {

// Null for OK; else the caller owns it.
MS_Status* ToAbiStatus(const Status& status);
// A status of a code that a plugin chose; an unknown number becomes UNKNOWN and is named in the
// message. Null for MS_OK.
MS_Status* MakeAbiStatus(MS_Code code, absl::string_view message);
// What a plugin function returned; frees it.
Status TakeAbiStatus(MS_Status* status);

// Borrows. Data may be null when the size is 0.
inline absl::string_view FromAbi(MS_Str text) {
  return absl::string_view(text.data, static_cast<size_t>(text.size));
}
inline MS_Str ToAbi(absl::string_view text) { return MS_Str{text.data(), text.size()}; }

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_HOST_STATUS_H_
