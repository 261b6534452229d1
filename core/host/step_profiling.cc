#include "core/host/step_profiling.h"

#include <atomic>
#include <cstdint>
#include <utility>

#include "core/host/host_trace.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"

namespace millstream {
namespace {

constexpr uint64_t kAllKinds = (uint64_t{1} << (MS_TRACE_RANGE + 1)) - 1;

std::atomic<bool> is_profiling{false};

// True when the profiler did what it was asked for.
bool Accept(MS_Status* status, const LoadedPlugin& plugin, absl::string_view what) {
  if (status == nullptr) return true;
  HostLog(MS_LOG_WARNING, absl::StrCat("plugin ", plugin.path, ": profiler ", what, ": ",
                                       TakeAbiStatus(status).ToString()));
  return false;
}

}  // namespace

StepProfiling::StepProfiling(std::vector<const LoadedPlugin*> plugins, StepTrace* trace)
    : trace_(trace) {
  is_ours_ = !is_profiling.exchange(true, std::memory_order_acq_rel);
  if (!is_ours_) return;
  for (const LoadedPlugin* plugin : plugins) {
    if (plugin->profiler == nullptr) continue;
    const auto now = static_cast<uint64_t>(StepTrace::Now());
    if (Accept(plugin->profiler->start(plugin->abi, kAllKinds, now), *plugin, "start")) {
      started_.push_back(plugin);
    }
  }
  for (const LoadedPlugin* plugin : started_) {
    const bool correlates =
        MS_HAS(plugin->profiler, correlation_push) && MS_HAS(plugin->profiler, correlation_pop);
    if (correlates) correlating_.push_back(plugin);
  }
  if (!correlating_.empty()) trace_->set_listener(this);
}

void StepProfiling::BeginExecution(uint64_t id) {
  for (const LoadedPlugin* plugin : correlating_) {
    plugin->profiler->correlation_push(plugin->abi, id);
  }
}

void StepProfiling::EndExecution() {
  for (const LoadedPlugin* plugin : correlating_) plugin->profiler->correlation_pop(plugin->abi);
}

StepProfiling::~StepProfiling() {
  if (!is_ours_) return;
  trace_->set_listener(nullptr);
  for (const LoadedPlugin* plugin : started_) {
    if (!Accept(plugin->profiler->stop(plugin->abi), *plugin, "stop")) continue;
    MS_TraceSink sink(plugin->name, trace_);
    Accept(plugin->profiler->flush(plugin->abi, &sink), *plugin, "flush");
  }
  is_profiling.store(false, std::memory_order_release);
}

}  // namespace millstream
