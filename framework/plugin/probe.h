// Tries a plugin in a separate process before it is loaded into this one.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PROBE_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PROBE_H_

#include <string>

#include "absl/time/time.h"
#include "framework/plugin/preflight.h"
#include "framework/status.h"

namespace millstream {

struct ProbeOutcome {
  // OK if the entry point, init and register_all returned, or if the probe program could not be
  // run, which is not the fault of the plugin. ABORTED if the plugin crashed ("crashed (SIGILL)
  // while loading", "in its init", "in its registration"), ended its process, or exceeded the time
  // limit.
  Status status;
  // True if another probe would probably have the same result.
  bool is_final = false;
};

// Runs `program` (plugin_probe.c) on the file and waits for it. Thread-safe.
ProbeOutcome ProbePlugin(const std::string& program, const PluginFile& file,
                         absl::Duration timeout);

// The status of a probe. It is read from `cache_file` (probe_cache.h) if that has it. An empty
// name: no cache.
Status ProbePluginOnce(const std::string& program, const std::string& cache_file,
                       const PluginFile& file, absl::Duration timeout);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PROBE_H_
