#include "device_plugins/sim/profiler.h"

#include <string>
#include <utility>

namespace millstream::sim {
namespace {

thread_local std::vector<uint64_t> correlations;

int64_t Nanoseconds(Profiler::Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

ms::Status Emit(const Profiler::Event& event, int64_t host_minus_ours, MS_TraceSink* sink) {
  const bool is_copy = event.kind == MS_TRACE_COPY;
  const std::string bytes = std::to_string(event.bytes);
  const MS_KV argument = {ms::ToAbi(std::string_view("bytes")), ms::ToAbi(bytes)};
  MS_TraceEvent out{};
  out.head.size = sizeof(out);
  out.correlation_id = event.correlation;
  out.t0_ns = static_cast<uint64_t>(Nanoseconds(event.begin) + host_minus_ours);
  out.t1_ns = static_cast<uint64_t>(Nanoseconds(event.end) + host_minus_ours);
  out.kind = event.kind;
  out.device = event.device;
  out.stream = event.stream;
  out.name = ms::ToAbi(std::string_view(is_copy ? "copy" : "work"));
  out.args = &argument;
  out.n_args = is_copy ? 1 : 0;
  return ms::Status::FromAbi(ms::host_tables.trace->emit(sink, &out));
}

}  // namespace

Profiler& Profiler::Get() {
  static auto* const profiler = new Profiler();
  return *profiler;
}

void Profiler::Start(uint64_t kinds, uint64_t now_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  kinds_ = kinds;
  host_minus_ours_ = static_cast<int64_t>(now_ns) - Nanoseconds(Clock::now());
  dropped_ = 0;
  events_.clear();
  is_on_ = true;
}

void Profiler::Stop() { is_on_ = false; }

ms::Status Profiler::Flush(MS_TraceSink* sink) {
  std::vector<Event> events;
  uint64_t dropped = 0;
  int64_t host_minus_ours = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    events.swap(events_);
    dropped = std::exchange(dropped_, 0);
    host_minus_ours = host_minus_ours_;
  }
  if (ms::host_tables.trace == nullptr) return ms::Unimplemented("the host has no ms.trace/1");
  for (const Event& event : events) MS_TRY(Emit(event, host_minus_ours, sink));
  if (dropped > 0) ms::host_tables.trace->drops(sink, dropped);
  return ms::Status();
}

void Profiler::Push(uint64_t id) { correlations.push_back(id); }
void Profiler::Pop() {
  if (!correlations.empty()) correlations.pop_back();
}
uint64_t Profiler::Current() { return correlations.empty() ? 0 : correlations.back(); }

void Profiler::Record(const Event& event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (((kinds_ >> event.kind) & 1) == 0) return;
  if (events_.size() < kMostEvents) {
    events_.push_back(event);
  } else {
    ++dropped_;
  }
}

const MS_ProfilerApi* ProfilerTable() {
  static const MS_ProfilerApi table = {
      {sizeof(MS_ProfilerApi), 1, MS_ABI_MINOR, MS_PROFILER_API},
      [](const MS_Plugin*, uint64_t kinds, uint64_t now_ns) -> MS_Status* {
        return ms::Guarded([&]() -> ms::Status {
          Profiler::Get().Start(kinds, now_ns);
          return ms::Status();
        });
      },
      [](const MS_Plugin*) -> MS_Status* {
        Profiler::Get().Stop();
        return nullptr;
      },
      [](const MS_Plugin*, MS_TraceSink* sink) -> MS_Status* {
        return ms::Guarded([&] { return Profiler::Get().Flush(sink); });
      },
      [](const MS_Plugin*, uint64_t id) { Profiler::Push(id); },
      [](const MS_Plugin*) { Profiler::Pop(); },
  };
  return &table;
}

}  // namespace millstream::sim
