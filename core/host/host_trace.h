// "ms.trace/1": events of plugins' profilers, on their way into a step's trace.
#ifndef MILLSTREAM_CORE_HOST_HOST_TRACE_H_
#define MILLSTREAM_CORE_HOST_HOST_TRACE_H_

#include <string>
#include <utility>

#include "core/step/step_trace.h"
#include "framework/plugin/plugin.h"

// Where the events of one plugin go. Thread-safe; `trace` must outlive it.
struct MS_TraceSink {
  MS_TraceSink(std::string plugin_name, millstream::StepTrace* step_trace)
      : plugin(std::move(plugin_name)), trace(step_trace) {}
  const std::string plugin;
  millstream::StepTrace* const trace;
};

namespace millstream {

const MS_TraceApi* TraceApi();

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_HOST_TRACE_H_
