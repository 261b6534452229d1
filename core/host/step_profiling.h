// Plugins' profilers around a traced step.
#ifndef MILLSTREAM_CORE_HOST_STEP_PROFILING_H_
#define MILLSTREAM_CORE_HOST_STEP_PROFILING_H_

#include <vector>

#include "core/step/step_trace.h"
#include "framework/plugin/loader.h"

namespace millstream {

// Starts the profilers of `plugins` when it is made, and has them put what they saw into the trace
// when it goes. One step at a time: a traced step that overlaps another goes without. A profiler
// that fails is logged, and the step goes on.
class StepProfiling {
 public:
  // `trace` must outlive it.
  StepProfiling(std::vector<const LoadedPlugin*> plugins, StepTrace* trace);
  ~StepProfiling();
  StepProfiling(const StepProfiling&) = delete;
  StepProfiling& operator=(const StepProfiling&) = delete;

 private:
  StepTrace* const trace_;
  std::vector<const LoadedPlugin*> started_;
  bool is_ours_ = false;  // no other step has the profilers
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_STEP_PROFILING_H_
