// Runs the profilers of plugins during a traced step.
#ifndef MILLSTREAM_CORE_HOST_STEP_PROFILING_H_
#define MILLSTREAM_CORE_HOST_STEP_PROFILING_H_

#include <cstdint>
#include <vector>

#include "core/step/step_trace.h"
#include "framework/plugin/loader.h"

namespace millstream {

// The constructor starts the profilers of `plugins`. The destructor stops them, and they add their
// events to the trace. Only one step at a time has profilers: a traced step that overlaps another
// one runs without. If a profiler fails, the error is logged and the step continues.
class StepProfiling final : public ExecutionListener {
 public:
  // REQUIRES: `trace` outlives this object.
  StepProfiling(std::vector<const LoadedPlugin*> plugins, StepTrace* trace);
  ~StepProfiling() override;
  StepProfiling(const StepProfiling&) = delete;
  StepProfiling& operator=(const StepProfiling&) = delete;

  // Tells the profilers which execution the thread's work belongs to.
  void BeginExecution(uint64_t id) override;
  void EndExecution() override;

 private:
  StepTrace* const trace_;
  std::vector<const LoadedPlugin*> started_;
  std::vector<const LoadedPlugin*> correlating_;  // those of them that want to be told
  bool is_ours_ = false;                          // this step has the profilers
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_STEP_PROFILING_H_
