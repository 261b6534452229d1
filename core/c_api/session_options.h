// Converts the public configuration message to session options.
#ifndef MILLSTREAM_CORE_C_API_SESSION_OPTIONS_H_
#define MILLSTREAM_CORE_C_API_SESSION_OPTIONS_H_

#include "absl/strings/string_view.h"
#include "core/import/graph_def.h"
#include "core/session/session.h"
#include "framework/status.h"

namespace millstream::c_api {

// Converts a serialized ConfigProto; an empty one gives the defaults. Ignores fields that the
// runtime does not use. INVALID_ARGUMENT for bytes that cannot be parsed, and for a negative number
// of intra-op threads.
StatusOr<SessionOptions> MakeSessionOptions(absl::string_view config);

// Sets the import options from the same bytes. INVALID_ARGUMENT if they cannot be parsed.
Status SetImportOptions(absl::string_view config, ImportOptions* options);

}  // namespace millstream::c_api

#endif  // MILLSTREAM_CORE_C_API_SESSION_OPTIONS_H_
