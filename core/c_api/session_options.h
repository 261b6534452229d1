// Session options out of the public configuration message.
#ifndef MILLSTREAM_CORE_C_API_SESSION_OPTIONS_H_
#define MILLSTREAM_CORE_C_API_SESSION_OPTIONS_H_

#include "absl/strings/string_view.h"
#include "core/import/graph_def.h"
#include "core/session/session.h"
#include "framework/status.h"

namespace millstream::c_api {

// From ConfigProto bytes; none are the defaults. Fields that mean nothing here are ignored.
// INVALID_ARGUMENT for bytes that are no ConfigProto, and for a negative number of intra-op
// threads.
StatusOr<SessionOptions> MakeSessionOptions(absl::string_view config);

// What the same bytes say of imports. INVALID_ARGUMENT likewise.
Status SetImportOptions(absl::string_view config, ImportOptions* options);

}  // namespace millstream::c_api

#endif  // MILLSTREAM_CORE_C_API_SESSION_OPTIONS_H_
