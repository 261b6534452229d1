// Profilers: their events of copies between start and stop.
#include <cstdint>
#include <memory>
#include <string>

#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/check_trace.h"
#include "framework/plugin/check/suite.h"
#include "framework/plugin/host_interfaces.h"

namespace millstream::plugin_check {
namespace {

constexpr uint64_t kAllKinds = (uint64_t{1} << (MS_TRACE_RANGE + 1)) - 1;
constexpr uint64_t kCorrelation = 4711;
// Clocks of devices are set by the host's, and run a little apart.
constexpr uint64_t kClockErrorNs = 2000000;
constexpr uint64_t kBytes = 4096;

uint64_t NowNs() {
  return reinterpret_cast<const MS_CoreApi*>(FindHostInterface(MS_CORE_API))->now_ns();
}

// Some work on the device's stream, to the end; also where its memory is the host's.
Status Work(const CheckedDevice& device) {
  const Place place = {device.device(), &device.functions(), device.stream()};
  MS_ASSIGN_OR_RETURN(const std::unique_ptr<Block> block, Block::Make(place, kBytes, /*fill=*/1));
  std::string bytes(kBytes, '\2');
  MS_RETURN_IF_ERROR(block->Write(bytes.data()));
  return block->Read(bytes.data());
}

// One traced step; the time in which its events lie.
struct Step {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  MS_TraceSink sink;
};

Status TraceStep(const CheckedPlugin& plugin, const MS_ProfilerApi& profiler,
                 const CheckedDevice& device, uint64_t kinds, Step* step) {
  step->begin_ns = NowNs();
  MS_RETURN_IF_ERROR(Take(profiler.start(plugin.abi, kinds, step->begin_ns)));
  const bool correlates = MS_HAS(&profiler, correlation_push) && MS_HAS(&profiler, correlation_pop);
  if (correlates) profiler.correlation_push(plugin.abi, kCorrelation);
  const Status worked = Work(device);
  if (correlates) profiler.correlation_pop(plugin.abi);
  MS_RETURN_IF_ERROR(Take(profiler.stop(plugin.abi)));
  step->end_ns = NowNs();
  MS_RETURN_IF_ERROR(Take(profiler.flush(plugin.abi, &step->sink)));
  return worked;
}

void CheckEvents(const Step& step, const CheckedDevice& device, uint64_t kinds, Reporter* report) {
  for (const CheckEvent& event : step.sink.events) {
    report->Begin("TRACE-EVENTS", event.name);
    report->Expect(event.begin_ns <= event.end_ns, "it ends before it begins");
    report->Expect(event.begin_ns + kClockErrorNs >= step.begin_ns &&
                       event.end_ns <= step.end_ns + kClockErrorNs,
                   "it lies outside of the step: from ",
                   static_cast<int64_t>(event.begin_ns - step.begin_ns), " to ",
                   static_cast<int64_t>(event.end_ns - step.begin_ns), " ns of ",
                   step.end_ns - step.begin_ns);
    report->Expect(event.kind <= MS_TRACE_RANGE && (kinds >> event.kind & 1) != 0, "its kind, ",
                   event.kind, ", was not asked for");
    report->Expect(event.device == device.description().ordinal, "it is of device ", event.device,
                   ", which has done nothing");
    report->Expect(event.correlation_id == 0 || event.correlation_id == kCorrelation,
                   "its correlation id, ", event.correlation_id, ", is nobody's");
  }
}

void CheckProfiler(CheckContext* context) {
  Reporter& report = *context->report;
  const CheckedPlugin& plugin = *context->plugin;
  report.Begin("TRACE-EVENTS");
  const auto* const profiler = reinterpret_cast<const MS_ProfilerApi*>(
      plugin.abi->get_interface(plugin.abi, MS_PROFILER_API));
  if (profiler == nullptr || plugin.descriptions.empty()) {
    report.Skip(profiler == nullptr ? "the plugin has no ms.profiler/1" : "there is no device");
    return;
  }
  const auto device = CheckedDevice::Create(plugin, plugin.descriptions[0]->ordinal);
  if (!device.ok()) {
    report.Skip("a device cannot be created, see the rules of devices");
    return;
  }
  // Again, and with fewer events.
  for (const uint64_t kinds : {kAllKinds, kAllKinds, uint64_t{1} << MS_TRACE_KERNEL}) {
    Step step;
    report.Begin("TRACE-EVENTS", "start, work, stop and flush");
    const Status traced = TraceStep(plugin, *profiler, **device, kinds, &step);
    if (!report.Expect(traced.ok(), traced.ToString())) return;
    CheckEvents(step, **device, kinds, &report);
  }
}

constexpr Check kChecks[] = {&CheckProfiler};

}  // namespace

Suite TraceSuite() { return SuiteOf<kChecks, 1>("trace", /*loads_itself=*/false); }

}  // namespace millstream::plugin_check
