#include "distributed_runtime/collective_coding.h"

#include <cstdint>

#include "distributed_runtime/tensor_coding.h"
#include "framework/proto_conversion.h"

namespace millstream {

void EncodeSpec(const CollectiveSpec& spec, proto::CollectiveRecord* record) {
  record->set_kind(static_cast<int>(spec.kind));
  record->set_merge(static_cast<int>(spec.merge));
  record->set_divides(spec.divides);
  record->set_dtype(DataTypeToProto(spec.dtype));
  record->set_group_size(spec.group_size);
  record->set_group_key(spec.group_key);
  record->set_instance_key(spec.instance_key);
  record->set_scope(spec.scope);
}

StatusOr<CollectiveSpec> DecodeSpec(const proto::CollectiveRecord& record) {
  CollectiveSpec spec;
  MS_ASSIGN_OR_RETURN(spec.dtype, DataTypeFromProto(record.dtype()));
  if (record.kind() < 0 || record.kind() > 3 || record.merge() < 0 || record.merge() > 3 ||
      record.group_size() < 1 || !IsReducible(spec.dtype)) {
    return errors::InvalidArgument("a request for a collective operation makes no sense");
  }
  spec.kind = static_cast<CollectiveSpec::Kind>(record.kind());
  spec.merge = static_cast<MergeOp>(record.merge());
  spec.divides = record.divides();
  spec.group_size = record.group_size();
  spec.group_key = record.group_key();
  spec.instance_key = record.instance_key();
  spec.scope = record.scope();
  return spec;
}

Status CheckGiven(const CollectiveSpec& spec, const Tensor& tensor) {
  if (!tensor.has_value()) {
    if (spec.kind == CollectiveSpec::Kind::kBroadcast) return absl::OkStatus();
    return errors::InvalidArgument("a member of ", NameOf(spec), " gives no tensor");
  }
  if (tensor.dtype() != spec.dtype) {
    return errors::InvalidArgument("the tensor of a member has another type");
  }
  const bool has_rows = spec.kind == CollectiveSpec::Kind::kGather ||
                        spec.kind == CollectiveSpec::Kind::kReduceScatter;
  if (has_rows && tensor.shape().rank() < 1) {
    return errors::InvalidArgument("the tensor of a member of ", NameOf(spec),
                                   " has no first dimension, which its operation needs");
  }
  return absl::OkStatus();
}

CollectiveArrival::Done AnswerBy(const Reply& reply) {
  return [reply](const Status& status, const MeetingOutcome& outcome) {
    proto::JoinCollectiveResponse response;
    TensorWriter writer;
    Status written = status;
    if (written.ok()) written = writer.Add(outcome.result, response.mutable_result());
    if (!written.ok()) return reply.Give(written);
    response.set_meeting(outcome.number);
    if (!outcome.result.has_value()) {
      for (const std::string& member : outcome.members) response.add_members(member);
      for (const uint64_t ticket : outcome.tickets) response.add_tickets(ticket);
      response.set_source(outcome.source);
    }
    reply.Give(writer.Finish(response));
  };
}

Status ReadOutcome(PayloadReader* reader, MeetingOutcome* outcome) {
  proto::JoinCollectiveResponse response;
  MS_RETURN_IF_ERROR(DecodeMessage(reader, &response));
  MS_ASSIGN_OR_RETURN(outcome->result, DecodeTensor(response.result(), reader));
  outcome->number = response.meeting();
  outcome->members.assign(response.members().begin(), response.members().end());
  outcome->tickets.assign(response.tickets().begin(), response.tickets().end());
  outcome->source = response.source();
  const int members = response.members_size();
  if (outcome->result.has_value() ||
      (outcome->source >= 0 && outcome->source < members && response.tickets_size() == members)) {
    return absl::OkStatus();
  }
  return errors::InvalidArgument("the answer about a collective operation makes no sense");
}

}  // namespace millstream
