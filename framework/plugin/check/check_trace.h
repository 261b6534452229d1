// "ms.trace/1": where the events of a plugin's profiler go.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_TRACE_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_TRACE_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "framework/plugin/plugin.h"

namespace millstream::plugin_check {

// An event as it was emitted.
struct CheckEvent {
  std::string name;
  uint64_t begin_ns;
  uint64_t end_ns;
  uint64_t correlation_id;
  uint32_t kind;
  uint32_t device;
};

const MS_TraceApi* CheckTraceApi();

}  // namespace millstream::plugin_check

// What one flush emits.
struct MS_TraceSink {
  std::mutex mutex;
  std::vector<millstream::plugin_check::CheckEvent> events;
};

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_TRACE_H_
