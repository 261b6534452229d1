#include "distributed_runtime/step_log.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "framework/plugin/host_interfaces.h"

namespace millstream {
namespace {

enum class StepLog { kNothing, kFailures, kSteps };

// Read once.
StepLog TheStepLog() {
  static const StepLog log = [] {
    const char* const given = std::getenv("MILLSTREAM_CLUSTER_LOG");
    const absl::string_view name = given == nullptr ? "" : given;
    if (name != "steps" && name != "failures") return StepLog::kNothing;
    SetHostLogLevel(MS_LOG_INFO);
    return name == "steps" ? StepLog::kSteps : StepLog::kFailures;
  }();
  return log;
}

void Write(absl::string_view task, absl::string_view what, uint64_t session, uint64_t step,
           absl::string_view text) {
  HostLog(MS_LOG_INFO, absl::StrCat(task, " ", what, ", ", StepName(session, step), ": ", text));
}

}  // namespace

std::string StepName(uint64_t session, uint64_t step) {
  return absl::StrCat("step ", step, " of session ", absl::Hex(session, absl::kZeroPad16));
}

void LogBegin(absl::string_view task, absl::string_view what, uint64_t session, uint64_t step) {
  if (TheStepLog() == StepLog::kSteps) Write(task, what, session, step, "begins");
}

void LogEnd(absl::string_view task, absl::string_view what, uint64_t session, uint64_t step,
            absl::Duration time, const Status& status) {
  const StepLog log = TheStepLog();
  if (log == StepLog::kNothing || (status.ok() && log == StepLog::kFailures)) return;
  const std::string after = absl::StrCat(" after ", absl::FormatDuration(time));
  if (status.ok()) return Write(task, what, session, step, absl::StrCat("ended", after));
  // One line a step.
  const std::string text = absl::StrCat(absl::StatusCodeToString(status.code()), ": ",
                                        absl::StrReplaceAll(status.message(), {{"\n", " | "}}));
  Write(task, what, session, step, absl::StrCat("failed", after, ": ", text));
}

}  // namespace millstream
