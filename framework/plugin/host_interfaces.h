// The host's side of the handshake: the tables that plugins get.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_HOST_INTERFACES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_HOST_INTERFACES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

// A growing byte buffer that a plugin appends to by ms.core/1 buf_append.
struct MS_Buf {
  std::string bytes;
};

namespace millstream {

// Millstream's version, as users see it.
inline constexpr char kHostVersion[] = "0.1.0";

// The argument of the entry points; static. Thread-safe.
const MS_HostBase* HostBase();

// Adds a table that plugins may request by its id. ms.core/1, ms.registry/1, ms.kernel/1,
// ms.shape/1 and ms.tensor/1 exist from the start. The runtime adds its own tables before it loads
// a plugin. The same table may be added again; ALREADY_EXISTS for another table with the id.
// Thread-safe. REQUIRES: the table is never destroyed.
Status RegisterHostInterface(const MS_Table* table);

// The table; null if there is none. Thread-safe.
const MS_Table* FindHostInterface(absl::string_view id);

// Sets the level below which messages are dropped. The default is MS_LOG_WARNING. Thread-safe.
void SetHostLogLevel(int32_t level);

// Writes one line to stderr when `level` is high enough. Thread-safe.
void HostLog(int32_t level, absl::string_view message);

// The activity of the calling thread, which a plugin sets by breadcrumb_set and the host by the
// second function; cut at 255 bytes. Empty: no plugin code. The first function may be called in a
// signal handler.
absl::string_view HostBreadcrumb();
void SetHostBreadcrumb(absl::string_view text);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_HOST_INTERFACES_H_
