// Members of collective operations, and what they get, as messages.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_COLLECTIVE_CODING_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_COLLECTIVE_CODING_H_

#include "core/resources/collective_meetings.h"
#include "distributed_runtime/rpc.h"
#include "framework/status.h"
#include "framework/tensor.h"
#include "millstream/distributed_runtime/protos/step_messages.pb.h"

namespace millstream {

void EncodeSpec(const CollectiveSpec& spec, proto::CollectiveRecord* record);
StatusOr<CollectiveSpec> DecodeSpec(const proto::CollectiveRecord& record);
// INVALID_ARGUMENT if a member of another task cannot give this tensor, which may be empty.
Status CheckGiven(const CollectiveSpec& spec, const Tensor& tensor);
// Sends the answer to a member of another task.
CollectiveArrival::Done AnswerBy(const Reply& reply);
// Reads that answer.
Status ReadOutcome(PayloadReader* reader, MeetingOutcome* outcome);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_COLLECTIVE_CODING_H_
