// Tries a plugin in a process of its own before it is loaded into this one.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PROBE_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PROBE_H_

#include <string>

#include "absl/time/time.h"
#include "framework/plugin/preflight.h"
#include "framework/status.h"

namespace millstream {

struct ProbeOutcome {
  // OK when the entry point returned, and when the probe itself could not be run: that is no fault
  // of the plugin. ABORTED when it crashed ("crashed (SIGILL) while loading"), ended its process,
  // or was killed because it was not done in time.
  Status status;
  // It would end in the same way again, as far as one can know.
  bool is_final = false;
};

// Runs `program` (plugin_probe.c) on the file and waits for it. Callable from any thread.
ProbeOutcome ProbePlugin(const std::string& program, const PluginFile& file,
                         absl::Duration timeout);

// The status of a probe, from `cache_file` (probe_cache.h) where that has it. An empty name: no
// cache.
Status ProbePluginOnce(const std::string& program, const std::string& cache_file,
                       const PluginFile& file, absl::Duration timeout);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PROBE_H_
