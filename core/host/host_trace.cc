#include "core/host/host_trace.h"

#include "absl/strings/str_cat.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/plugin_limits.h"
#include "framework/plugin/plugin_text.h"
#include "framework/plugin/registrar.h"

namespace millstream {
namespace {

// What the first release of the struct had.
constexpr uint32_t kTraceEventSize = offsetof(MS_TraceEvent, pad) + sizeof(MS_TraceEvent::pad);
constexpr absl::string_view kKindNames[] = {"kernel", "copy", "memset", "alloc", "sync", "range"};

Status CheckTexts(const MS_TraceEvent& event) {
  MS_RETURN_IF_ERROR(CheckText(event.name, "MS_TraceEvent.name"));
  MS_RETURN_IF_ERROR(CheckArray(event.args, event.n_args, kMostTraceArgs, "MS_TraceEvent.args"));
  for (uint32_t i = 0; i < event.n_args; ++i) {
    MS_RETURN_IF_ERROR(CheckText(event.args[i].key, "the key of an argument of MS_TraceEvent"));
    MS_RETURN_IF_ERROR(CheckText(event.args[i].value, "an argument of MS_TraceEvent"));
  }
  return absl::OkStatus();
}

StatusOr<TracedRange> ReadEvent(const MS_TraceEvent& event, absl::string_view plugin,
                                const StepTrace& trace) {
  MS_RETURN_IF_ERROR(CheckHead(event.head, kTraceEventSize, "MS_TraceEvent"));
  MS_RETURN_IF_ERROR(CheckTexts(event));
  if (event.kind > MS_TRACE_RANGE) {
    return errors::Unimplemented("trace events of kind ", event.kind, " are unknown");
  }
  if (event.t1_ns < event.t0_ns) {
    return errors::InvalidArgument("trace event \"", FromAbi(event.name),
                                   "\" ends before it begins");
  }
  TracedRange range;
  range.device = absl::StrCat("/plugin:", plugin, "/device:", event.device);
  range.name = std::string(FromAbi(event.name));
  range.start = static_cast<int64_t>(event.t0_ns);
  range.end = static_cast<int64_t>(event.t1_ns);
  range.lane = event.stream;
  range.args.emplace_back("kind", std::string(kKindNames[event.kind]));
  if (event.correlation_id != 0) {
    range.args.emplace_back("correlation", absl::StrCat(event.correlation_id));
    const std::string node = trace.NodeOf(event.correlation_id);
    if (!node.empty()) range.args.emplace_back("node", node);
  }
  for (uint32_t i = 0; i < event.n_args; ++i) {
    range.args.emplace_back(std::string(FromAbi(event.args[i].key)),
                            std::string(FromAbi(event.args[i].value)));
  }
  return range;
}

MS_Status* Emit(MS_TraceSink* sink, const MS_TraceEvent* event) {
  StatusOr<TracedRange> range = ReadEvent(*event, sink->plugin, *sink->trace);
  if (!range.ok()) return ToAbiStatus(range.status());
  sink->trace->AddRange(*std::move(range));
  return nullptr;
}

// Shown where the next event would be.
void Drops(MS_TraceSink* sink, uint64_t n) {
  TracedRange range;
  range.device = absl::StrCat("/plugin:", sink->plugin);
  range.name = absl::StrCat(n, " events were lost");
  range.start = range.end = StepTrace::Now();
  sink->trace->AddRange(std::move(range));
}

}  // namespace

const MS_TraceApi* TraceApi() {
  static const MS_TraceApi api = {
      {sizeof(MS_TraceApi), 1, MS_ABI_MINOR, MS_TRACE_API},
      &Emit,
      &Drops,
  };
  return &api;
}

}  // namespace millstream
