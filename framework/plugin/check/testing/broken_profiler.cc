// "ms.profiler/1" and "ms.options/1" of the broken plugin.
#include <mutex>
#include <vector>

#include "framework/plugin/check/testing/broken_plugin.h"
#include "framework/plugin/plugin_entry.hpp"

namespace broken {
namespace {

struct Copied {
  uint64_t begin_ns;
  uint64_t end_ns;
  uint64_t correlation_id;
};

struct Profile {
  std::mutex mutex;
  bool is_running = false;
  std::vector<Copied> copies;
};
Profile& TheProfile() {
  static auto* const profile = new Profile;
  return *profile;
}
thread_local uint64_t correlation_id = 0;

MS_Status* Start(const MS_Plugin*, uint64_t kinds, uint64_t) noexcept {
  const std::lock_guard<std::mutex> lock(TheProfile().mutex);
  TheProfile().is_running = Has("unasked_event") || (kinds >> MS_TRACE_COPY & 1) != 0;
  return nullptr;
}

MS_Status* Stop(const MS_Plugin*) noexcept {
  const std::lock_guard<std::mutex> lock(TheProfile().mutex);
  TheProfile().is_running = false;
  return nullptr;
}

MS_Status* Flush(const MS_Plugin*, MS_TraceSink* sink) noexcept {
  const std::lock_guard<std::mutex> lock(TheProfile().mutex);
  for (const Copied& copy : TheProfile().copies) {
    MS_TraceEvent event{};
    event.head.size = sizeof(event);
    event.correlation_id = copy.correlation_id;
    event.t0_ns = Has("device_clock") ? copy.begin_ns / 2 : copy.begin_ns;
    event.t1_ns = Has("backward_event") ? copy.begin_ns - 1 : copy.end_ns;
    event.kind = MS_TRACE_COPY;
    event.name = ms::ToAbi("copy");
    if (MS_Status* const status = ms::host_tables.trace->emit(sink, &event)) return status;
  }
  TheProfile().copies.clear();
  return nullptr;
}

void Push(const MS_Plugin*, uint64_t id) noexcept { correlation_id = id; }
void Pop(const MS_Plugin*) noexcept { correlation_id = 0; }

// ---- Options ------------------------------------------------------------------------------------

struct Described {
  static const ms::OptionSchema& Options() {
    static const ms::OptionSchema schema{
        ms::Option("level", MS_OPTION_U64)
            .Doc(Has("undocumented_option") ? "" : "How hard it tries.")
            .Default(Has("bad_default") ? "10" : "3")
            .Range("0", "9"),
        ms::Option(Has("options_of_one_name") ? "level" : "rate", MS_OPTION_F64)
            .Doc("How fast it is.")
            .Range(Has("crossed_bounds") ? "2" : "0", "1"),
        ms::Option("mode", MS_OPTION_STR)
            .Doc("Fast or exact.")
            .Default("fast")
            .Choices({"fast", "exact"})};
    return schema;
  }
};

}  // namespace

void NoteCopy(uint64_t begin_ns) {
  const std::lock_guard<std::mutex> lock(TheProfile().mutex);
  if (!TheProfile().is_running) return;
  const uint64_t id = Has("other_correlation") ? correlation_id + 1 : correlation_id;
  TheProfile().copies.push_back({begin_ns, ms::host_tables.core->now_ns(), id});
}

const MS_Table* ProfilerTable() {
  static const MS_ProfilerApi table = {{sizeof(MS_ProfilerApi), 1, MS_ABI_MINOR, MS_PROFILER_API},
                                       &Start,
                                       &Stop,
                                       &Flush,
                                       &Push,
                                       &Pop};
  return &table.head;
}

bool HasSchema() { return !Has("any_option"); }

const MS_Table* SchemaTable() { return HasSchema() ? ms::OptionsTable<Described>() : nullptr; }

}  // namespace broken
