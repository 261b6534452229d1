// Members of collective operations, and what they get, as messages.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_COLLECTIVE_CODING_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_COLLECTIVE_CODING_H_

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
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
void EncodeLink(const CollectiveLink& link, proto::LinkRecord* record);
CollectiveLink DecodeLink(const proto::LinkRecord& record);
// Sends the answer to a member of another task, which has come now.
CollectiveArrival::Done AnswerBy(const Reply& reply);
// What an answer says of the request.
struct AnswerRecord {
  absl::Duration held;  // how long the leader had it
  int version = 0;      // of the leader's messages
};
// Reads that answer.
Status ReadOutcome(PayloadReader* reader, MeetingOutcome* outcome, AnswerRecord* record);
// FAILED_PRECONDITION, with both tasks and versions, if a message about a meeting that `other` sent
// to `task` is not of kMessageVersion.
Status CheckMemberVersion(int version, absl::string_view other, absl::string_view task);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_COLLECTIVE_CODING_H_
