// "ms.trace/1": adds the events of plugins' profilers to the trace of a step.
#ifndef MILLSTREAM_CORE_HOST_HOST_TRACE_H_
#define MILLSTREAM_CORE_HOST_HOST_TRACE_H_

#include <string>
#include <utility>

#include "core/step/step_trace.h"
#include "framework/plugin/plugin.h"

// Receives the events of one plugin. Thread-safe. REQUIRES: `step_trace` outlives it.
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
