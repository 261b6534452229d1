#include "distributed_runtime/collective_coding.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "distributed_runtime/tensor_coding.h"
#include "framework/proto_conversion.h"
#include "framework/steady_time.h"

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

void EncodeLink(const CollectiveLink& link, proto::LinkRecord* record) {
  record->set_round_trip_seconds(link.round_trip_seconds);
  record->set_bytes_per_second(link.bytes_per_second);
}

CollectiveLink DecodeLink(const proto::LinkRecord& record) {
  return {record.round_trip_seconds(), record.bytes_per_second()};
}

CollectiveArrival::Done AnswerBy(const Reply& reply) {
  return [reply, came = SteadyNow()](const Status& status, const MeetingOutcome& outcome) {
    proto::JoinCollectiveResponse response;
    TensorWriter writer;
    Status written = status;
    if (written.ok()) written = writer.Add(outcome.result, response.mutable_result());
    if (!written.ok()) return reply.Give(written);
    response.set_meeting(outcome.number);
    EncodeLink(outcome.link, response.mutable_link());
    response.set_version(kMessageVersion);
    response.set_held_nanos(absl::ToInt64Nanoseconds(SteadyNow() - came));
    if (!outcome.result.has_value()) {
      for (const std::string& member : outcome.members) response.add_members(member);
      for (const uint64_t ticket : outcome.tickets) response.add_tickets(ticket);
      response.set_source(outcome.source);
    }
    reply.Give(writer.Finish(response));
  };
}

Status ReadOutcome(PayloadReader* reader, MeetingOutcome* outcome, AnswerRecord* record) {
  proto::JoinCollectiveResponse response;
  MS_RETURN_IF_ERROR(DecodeMessage(reader, &response));
  MS_ASSIGN_OR_RETURN(outcome->result, DecodeTensor(response.result(), reader));
  outcome->number = response.meeting();
  outcome->members.assign(response.members().begin(), response.members().end());
  outcome->tickets.assign(response.tickets().begin(), response.tickets().end());
  outcome->source = response.source();
  outcome->link = DecodeLink(response.link());
  record->held = absl::Nanoseconds(response.held_nanos());
  record->version = response.version();
  const int members = response.members_size();
  if (outcome->result.has_value() ||
      (outcome->source >= 0 && outcome->source < members && response.tickets_size() == members)) {
    return absl::OkStatus();
  }
  return errors::InvalidArgument("the answer about a collective operation makes no sense");
}

Status CheckMemberVersion(int version, absl::string_view other, absl::string_view task) {
  if (version == kMessageVersion) return absl::OkStatus();
  // Messages about meetings have it since then.
  constexpr int kFirst = 5;
  const std::string its =
      version == 0 ? absl::StrCat(kFirst - 1, " or older") : absl::StrCat(version);
  return errors::FailedPrecondition(
      "the tasks of a collective operation have messages of several versions: ", task,
      " of version ", kMessageVersion, ", ", other, " of version ", its,
      "; all need the same version of Millstream");
}

}  // namespace millstream
