// A step's report as a RunMetadata message.
#ifndef MILLSTREAM_CORE_STEP_RUN_METADATA_H_
#define MILLSTREAM_CORE_STEP_RUN_METADATA_H_

#include <string>

#include "core/step/step_trace.h"
#include "framework/status.h"

namespace millstream {

// Returns a serialized RunMetadata. It has step_stats if the report has a trace, and
// partition_graphs if it has graphs. Start times count from 1970, in microseconds and nanoseconds.
// INTERNAL if a graph cannot be parsed. Thread-safe.
StatusOr<std::string> RunMetadataOf(const StepReport& report);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_RUN_METADATA_H_
