// What a step reports, as a message.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_TRACE_CODING_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_TRACE_CODING_H_

#include <cstdint>

#include "core/step/step_trace.h"
#include "framework/status.h"
#include "millstream/distributed_runtime/protos/trace_messages.pb.h"

namespace millstream {

// REQUIRES: the step has ended.
void EncodeReport(const StepReport& report, proto::StepReportRecord* record);

// Adds what was encoded in another task, whose clock is `ahead` nanoseconds before that of this
// task. INVALID_ARGUMENT for outputs that are no tensors and times that are none; then a part of
// the record was added. REQUIRES: no part of the step adds to the report any more.
Status AddReport(const proto::StepReportRecord& record, int64_t ahead, StepReport* report);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_TRACE_CODING_H_
