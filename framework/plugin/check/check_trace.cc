#include "framework/plugin/check/check_trace.h"

#include <cstddef>

#include "framework/plugin/check/check_host.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/registrar.h"

namespace millstream::plugin_check {
namespace {

// What the first release of the struct had.
constexpr uint32_t kTraceEventSize = offsetof(MS_TraceEvent, pad) + sizeof(MS_TraceEvent::pad);

MS_Status* Emit(MS_TraceSink* sink, const MS_TraceEvent* event) {
  const Status status = CheckHead(event->head, kTraceEventSize, "MS_TraceEvent");
  if (!status.ok()) return Give(status);
  const std::lock_guard<std::mutex> lock(sink->mutex);
  sink->events.push_back({std::string(FromAbi(event->name)), event->t0_ns, event->t1_ns,
                          event->correlation_id, event->kind, event->device});
  return nullptr;
}

void Drops(MS_TraceSink*, uint64_t) {}

}  // namespace

const MS_TraceApi* CheckTraceApi() {
  static const MS_TraceApi api = {
      {sizeof(MS_TraceApi), 1, MS_ABI_MINOR, MS_TRACE_API}, &Emit, &Drops};
  return &api;
}

}  // namespace millstream::plugin_check
