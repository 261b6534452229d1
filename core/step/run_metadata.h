// A step's report as a RunMetadata message.
#ifndef MILLSTREAM_CORE_STEP_RUN_METADATA_H_
#define MILLSTREAM_CORE_STEP_RUN_METADATA_H_

#include <string>

#include "core/step/step_trace.h"
#include "framework/status.h"

namespace millstream {

// Serialized RunMetadata: step_stats (times in microseconds and nanoseconds, the start since 1970)
// when a trace was asked for, partition_graphs likewise. INTERNAL when a graph cannot be read.
StatusOr<std::string> RunMetadataOf(const StepReport& report);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_RUN_METADATA_H_
