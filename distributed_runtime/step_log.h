// Counters of the steps of a task, and lines of its log about them.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_STEP_LOG_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_STEP_LOG_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "framework/status.h"

namespace millstream {

// Steps that have ended since the task began. Thread-safe.
struct StepCounters {
  std::atomic<int64_t> ended{0};
  std::atomic<int64_t> failed{0};  // of these

  void Add(const Status& status) {
    ended.fetch_add(1, std::memory_order_relaxed);
    if (!status.ok()) failed.fetch_add(1, std::memory_order_relaxed);
  }
};

// "step 7 of session 00c0ffee00000001": so that lines of several tasks can be put together.
std::string StepName(uint64_t session, uint64_t step);

// Write a line if the environment variable MILLSTREAM_CLUSTER_LOG asks for it: "steps" for all,
// "failures" for those of steps that failed. `what` is "part" or "master".
void LogBegin(absl::string_view task, absl::string_view what, uint64_t session, uint64_t step);
void LogEnd(absl::string_view task, absl::string_view what, uint64_t session, uint64_t step,
            absl::Duration time, const Status& status);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_STEP_LOG_H_
