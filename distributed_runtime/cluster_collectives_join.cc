// ClusterCollectives: members of other tasks than the leader's, and what comes with them.
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "distributed_runtime/cluster_collectives.h"
#include "distributed_runtime/collective_coding.h"
#include "distributed_runtime/tensor_coding.h"
#include "framework/steady_time.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"
#include "millstream/distributed_runtime/protos/step_messages.pb.h"

namespace millstream {
namespace {

// Of groups that the leader has told about. Members of more begin anew.
constexpr size_t kMostGroups = 1000;
// Bytes of a tensor in a message that takes no longer because of it.
constexpr size_t kSmall = 1024;

}  // namespace

void ClusterCollectives::JoinAtLeader(const CollectiveSpec& spec, uint64_t number,
                                      const std::string& device, bool gives, const Tensor& tensor) {
  proto::JoinCollectiveRequest request;
  EncodeSpec(spec, request.mutable_operation());
  request.set_task(task_);
  request.set_ticket(number);
  request.set_member(device);
  request.set_version(kMessageVersion);
  EncodeLink(peers_->links()->link(), request.mutable_link());
  bool comes_along = false;
  {
    absl::MutexLock lock(&mutex_);
    request.set_oldest(waiting_.empty() ? number : waiting_.begin()->first);
    comes_along = gives && tensor.bytes() <= MostBytesWithMember(spec, LinkOf(spec));
  }
  TensorWriter writer;
  Status status;
  if (comes_along) {
    status = writer.Add(tensor, request.mutable_tensor());
  } else if (gives) {
    status = writer.AddShape(tensor, request.mutable_tensor());
  }
  const StatusOr<std::shared_ptr<Channel>> channel = peers_->ChannelTo(leader_);
  if (status.ok()) status = channel.status();
  if (!status.ok()) return Conclude(number, status, MeetingOutcome());
  AskForLeader(channel->get());
  Joining joining;
  joining.number = number;
  joining.group = {spec.scope, spec.group_key};
  joining.is_small = !comes_along || tensor.bytes() <= kSmall;
  joining.begin = SteadyNow();
  StartRequest(channel->get(), "JoinCollective", writer.Finish(request), absl::InfiniteFuture(),
               [self = Self(), joining](const Status& joined, PayloadReader* response) {
                 self->TakeAnswer(joining, joined, response);
               });
}

void ClusterCollectives::TakeAnswer(const Joining& joining, const Status& joined,
                                    PayloadReader* response) {
  const absl::Duration took = SteadyNow() - joining.begin;
  if (AwaitLeader(joining.number, joined)) return;
  if (absl::IsUnimplemented(joined)) return AskForVersion(joining.number, joined);
  if (joined.ok()) NoteLeader();
  MeetingOutcome outcome;
  AnswerRecord record;
  Status status = joined.ok() ? ReadOutcome(response, &outcome, &record) : joined;
  if (status.ok()) status = CheckMemberVersion(record.version, leader_, task_);
  if (status.ok()) NoteLink(joining, outcome, took - record.held);
  Conclude(joining.number, WithTask(status, leader_), outcome);
}

CollectiveLink ClusterCollectives::LinkOf(const CollectiveSpec& spec) const {
  const auto found = told_.find({spec.scope, spec.group_key});
  return found == told_.end() ? CollectiveLink() : found->second.link;
}

// Members of a group are told the same by each meeting, so they choose alike when they have the
// answers of the same meetings. Until then some tensors may come with their members and others not,
// and the tasks exchange all.
void ClusterCollectives::NoteLink(const Joining& joining, const MeetingOutcome& outcome,
                                  absl::Duration round_trip) {
  const bool is_small = joining.is_small && outcome.result.bytes() <= kSmall;
  if (is_small) peers_->links()->AddRoundTrip(leader_, round_trip);
  absl::MutexLock lock(&mutex_);
  if (told_.size() >= kMostGroups && told_.count(joining.group) == 0) told_.clear();
  Told& told = told_[joining.group];
  // Answers of several operations of a group may overtake one another.
  if (outcome.number >= told.meeting) told = {outcome.number, outcome.link};
}

// A leader that does not know the request has other messages: to one of version 3, through gRPC,
// the request has no name. Each version says its own to whoever asks for a session, which nobody
// gets who does not say for which task.
void ClusterCollectives::AskForVersion(uint64_t number, const Status& refused) {
  const StatusOr<std::shared_ptr<Channel>> channel = peers_->ChannelTo(leader_);
  if (!channel.ok()) return Conclude(number, WithTask(refused, leader_), MeetingOutcome());
  proto::CreateWorkerSessionRequest question;
  question.set_version(kMessageVersion);
  question.set_master(task_);
  StartRequest(channel->get(), "CreateWorkerSession", EncodeMessage(question),
               SteadyNow() + absl::Seconds(10),
               [self = Self(), number, refused](const Status& answer, PayloadReader*) {
                 const bool is_other = absl::IsFailedPrecondition(answer);
                 const Status status = WithTask(is_other ? answer : refused, self->leader_);
                 self->Conclude(number, status, MeetingOutcome());
               });
}

}  // namespace millstream
