// The host's side of the handshake: what every plugin's entry point is given.
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

// What entry points are called with; static. Thread-safe.
const MS_HostBase* HostBase();

// Adds a table that plugins may ask for by its id; it must live for ever. ms.core/1, ms.registry/1,
// ms.kernel/1, ms.shape/1 and ms.tensor/1 are there from the start; the runtime adds those that
// need it, before it loads a plugin. The same table may be added again; ALREADY_EXISTS for another
// one of that id. Thread-safe.
Status RegisterHostInterface(const MS_Table* table);

// The table, or null. Thread-safe.
const MS_Table* FindHostInterface(absl::string_view id);

// Messages below this level are dropped; MS_LOG_WARNING at first. Thread-safe.
void SetHostLogLevel(int32_t level);

// Writes one line to stderr when `level` is high enough. Thread-safe.
void HostLog(int32_t level, absl::string_view message);

// What the calling thread is doing, as a plugin said by breadcrumb_set, or the host by the second
// function; cut at 255 bytes. Empty: nothing of a plugin. The first may be called in a signal
// handler.
absl::string_view HostBreadcrumb();
void SetHostBreadcrumb(absl::string_view text);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_HOST_INTERFACES_H_
