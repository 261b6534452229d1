#include "distributed_runtime/collective_exchange.h"

#include <algorithm>
#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "distributed_runtime/tensor_coding.h"
#include "distributed_runtime/thread_cache.h"
#include "framework/steady_time.h"
#include "millstream/distributed_runtime/protos/step_messages.pb.h"

namespace millstream {
namespace {

using Kind = CollectiveSpec::Kind;

// `came`: when it was asked for.
void GivePiece(const Reply& reply, absl::Time came, const StatusOr<Tensor>& piece) {
  proto::CollectivePieceResponse response;
  response.set_held_nanos(absl::ToInt64Nanoseconds(SteadyNow() - came));
  TensorWriter writer;
  Status status = piece.status();
  if (status.ok()) status = writer.Add(*piece, response.mutable_tensor());
  if (!status.ok()) return reply.Give(status);
  reply.Give(writer.Finish(response));
}

// Gives it to the members, which are in order, or to each its part of the rows.
void GiveResult(const std::vector<CollectiveMember>& members, const Tensor& result,
                bool shares_out) {
  const auto count = static_cast<int64_t>(members.size());
  for (int64_t i = 0; i < count; ++i) {
    const StatusOr<Tensor> given =
        shares_out ? CopyPartOfRows(result, i, count) : StatusOr<Tensor>(result);
    members[i].done(given.status(), given.ok() ? *given : Tensor());
  }
}

}  // namespace

CollectiveExchange::CollectiveExchange(uint64_t meeting, std::string task,
                                       std::shared_ptr<Peers> peers, OnEnd on_end)
    : meeting_(meeting),
      task_(std::move(task)),
      peers_(std::move(peers)),
      on_end_(std::move(on_end)) {}

// ---- Members ----

void CollectiveExchange::Add(const CollectiveSpec& spec, const MeetingOutcome& outcome,
                             CollectiveMember member) {
  if (absl::c_none_of(outcome.members,
                      [&](const std::string& one) { return TaskOfMember(one) == task_; })) {
    return member.done(errors::Internal("a meeting has no member in ", task_), Tensor());
  }
  const auto done = member.done;
  Status failed;
  {
    absl::MutexLock lock(&mutex_);
    failed = failed_;
    if (failed.ok()) {
      if (tasks_.empty()) {
        spec_ = spec;
        Plan(outcome);
      }
      members_.push_back(std::move(member));
      if (members_.size() < num_members_) return;
    }
  }
  if (!failed.ok()) return done(failed, Tensor());
  ThreadCache::Global()->Run([self = shared_from_this()] { self->Begin(); });
}

int CollectiveExchange::TaskIndex(absl::string_view task) const {
  const auto found = absl::c_find_if(tasks_, [task](const Other& one) { return one.name == task; });
  return static_cast<int>(std::distance(tasks_.begin(), found));
}

void CollectiveExchange::Plan(const MeetingOutcome& outcome) {
  for (size_t i = 0; i < outcome.members.size(); ++i) {
    const absl::string_view task = TaskOfMember(outcome.members[i]);
    if (tasks_.empty() || tasks_.back().name != task) {
      Other& other = tasks_.emplace_back();
      other.name = std::string(task);
      other.ticket = outcome.tickets[i];
    }
    ++tasks_.back().num_members;
  }
  own_ = TaskIndex(task_);
  source_ = TaskIndex(TaskOfMember(outcome.members[outcome.source]));
  num_members_ = tasks_[own_].num_members;
  const int count = static_cast<int>(tasks_.size());
  const int givers = static_cast<int>(Givers().size());
  missing_pieces_ = spec_.merges() ? givers : 0;
  missing_results_ = spec_.kind == Kind::kReduceScatter ? 0 : givers;
  for (int task = 0; task < count; ++task) {
    if (task == own_) continue;
    switch (spec_.kind) {
      case Kind::kReduce: tasks_[task].unasked = 2; break;
      case Kind::kGather:
      case Kind::kReduceScatter: tasks_[task].unasked = 1; break;
      case Kind::kBroadcast:
        tasks_[task].unasked = task != source_ && ParentOf(task) == own_ ? 1 : 0;
        break;
    }
  }
  pieces_.resize(tasks_.size());
}

// The number of a task in the tree: that of the source is 0.
int CollectiveExchange::ParentOf(int task) const {
  const int count = static_cast<int>(tasks_.size());
  const int place = (task - source_ + count) % count;
  return ((place - 1) / 2 + source_) % count;
}

std::vector<int> CollectiveExchange::Givers() const {
  std::vector<int> givers;
  if (spec_.kind == Kind::kBroadcast) {
    if (own_ != source_) givers.push_back(ParentOf(own_));
    return givers;
  }
  // The next task first, so that not all ask the same one at the same time.
  const int count = static_cast<int>(tasks_.size());
  for (int i = 1; i < count; ++i) givers.push_back((own_ + i) % count);
  return givers;
}

bool CollectiveExchange::Cancel(const void* ticket) {
  {
    absl::MutexLock lock(&mutex_);
    if (absl::c_none_of(members_, [&](const auto& one) { return one.ticket == ticket; })) {
      return false;
    }
  }
  Fail(absl::AbortedError(absl::StrCat("a member in ", task_,
                                       " has left the collective operation: its step has ended")));
  return true;
}

void CollectiveExchange::Fail(const Status& error) {
  std::vector<CollectiveMember> members;
  std::vector<Question> questions;
  std::vector<std::shared_ptr<Channel::Call>> calls;
  std::vector<std::string> givers;
  std::vector<Tensor> tensors;  // freed without the lock
  int own = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (!failed_.ok() || has_result_) return;
    failed_ = error;
    beats_ = 0;
    members.swap(members_);
    questions.swap(questions_);
    calls.swap(calls_);
    tensors.swap(pieces_);
    tensors.push_back(std::move(given_));
    tensors.push_back(std::move(result_));
    own = own_;
    if (!tasks_.empty()) {
      for (const int giver : Givers()) givers.push_back(tasks_[giver].name);
    }
  }
  for (const std::shared_ptr<Channel::Call>& call : calls) call->Cancel();
  for (const CollectiveMember& member : members) member.done(error, Tensor());
  for (const Question& question : questions) question.reply.Give(error);
  for (const std::string& giver : givers) TellLeaving(giver, own);
}

void CollectiveExchange::TellLeaving(const std::string& task, int own) {
  const StatusOr<std::shared_ptr<Channel>> channel = peers_->ChannelTo(task);
  if (!channel.ok()) return;
  proto::LeaveExchangeRequest request;
  request.set_meeting(meeting_);
  request.set_asker(own);
  // Should it be lost, the task finds out with its heartbeats.
  StartRequest(channel->get(), "LeaveExchange", EncodeMessage(request),
               SteadyNow() + absl::Seconds(10), [](const Status&, PayloadReader*) {});
}

// ---- What this task gives ----

void CollectiveExchange::Begin() {
  const Status merged = MergeOwn();
  if (!merged.ok()) return Fail(merged);
  Advance();
  AskOthers();
}

Status CollectiveExchange::MergeOwn() {
  CollectiveSpec spec;
  std::vector<Tensor> tensors;
  bool is_alone = false;
  {
    absl::MutexLock lock(&mutex_);
    if (!failed_.ok()) return failed_;
    spec = spec_;
    is_alone = tasks_.size() == 1;
    absl::c_sort(members_, [](const CollectiveMember& a, const CollectiveMember& b) {
      return MemberBefore(a.device, b.device);
    });
    for (CollectiveMember& member : members_) {
      if (member.gives) tensors.push_back(std::move(member.tensor));
    }
  }
  Tensor given;
  Tensor result;
  if (spec.merges()) {
    const int64_t divisor = is_alone && spec.divides ? spec.group_size : 1;
    MS_ASSIGN_OR_RETURN(given, MergeTensors(spec.merge, tensors, divisor, SerialLoop));
  } else if (spec.kind == Kind::kGather) {
    MS_ASSIGN_OR_RETURN(given, JoinRows(tensors));
  } else if (!tensors.empty()) {
    given = tensors[0];
  }
  if (is_alone || spec.kind == Kind::kBroadcast) {
    result = given;
  } else {
    Shape shape = tensors[0].shape();
    if (spec.kind == Kind::kGather) shape.set_dim(0, shape.dim(0) * spec.group_size);
    if (spec.kind == Kind::kReduceScatter) {
      shape.set_dim(0, shape.dim(0) / spec.group_size * static_cast<int64_t>(tensors.size()));
    }
    MS_ASSIGN_OR_RETURN(result, Tensor::Create(spec.dtype, shape));
  }
  absl::MutexLock lock(&mutex_);
  if (!failed_.ok()) return failed_;
  given_ = given;
  result_ = result;
  SetRanges();
  has_own_piece_ = given.has_value() && (is_alone || !spec.merges());
  if (spec.kind == Kind::kGather && !is_alone) {
    const Tensor own = ElementsOf(result_, ranges_[own_].begin, ranges_[own_].end);
    if (own.bytes() > 0) std::memcpy(own.raw(), given.raw(), own.bytes());
  }
  return absl::OkStatus();
}

// The piece of a task is as large as those of others, or as its members' rows.
void CollectiveExchange::SetRanges() {
  const bool shares_out = spec_.kind == Kind::kReduceScatter;
  const Tensor& all = shares_out ? given_ : result_;
  const int64_t elements = all.has_value() ? all.num_elements() : 0;
  const auto count = static_cast<int64_t>(tasks_.size());
  int64_t begin = 0;
  for (int64_t task = 0; task < count; ++task) {
    int64_t end = elements * (task + 1) / count;
    if (shares_out || spec_.kind == Kind::kGather) {
      end = begin + elements / spec_.group_size * tasks_[task].num_members;
    }
    ranges_.push_back({begin, end});
    begin = end;
  }
}

// ---- What other tasks give ----

void CollectiveExchange::AskOthers() {
  std::vector<std::pair<int, bool>> wanted;
  {
    absl::MutexLock lock(&mutex_);
    const std::vector<int> givers = Givers();
    if (spec_.merges()) {
      for (const int giver : givers) wanted.emplace_back(giver, false);
    }
    if (spec_.kind != Kind::kReduceScatter) {
      for (const int giver : givers) wanted.emplace_back(giver, true);
    }
  }
  for (const auto& [task, of_result] : wanted) AskOne(task, of_result);
}

void CollectiveExchange::AskOne(int task, bool of_result) {
  proto::CollectivePieceRequest request;
  std::string name;
  {
    absl::MutexLock lock(&mutex_);
    if (!failed_.ok()) return;
    name = tasks_[task].name;
    ++tasks_[task].awaited;
    request.set_asker(own_);
  }
  request.set_meeting(meeting_);
  request.set_of_result(of_result);
  const StatusOr<std::shared_ptr<Channel>> channel = peers_->ChannelTo(name);
  if (!channel.ok()) return Fail(channel.status());
  // Who takes a piece may copy much, and must not hold up the transport.
  const auto take = [self = shared_from_this(), task, of_result, asked = SteadyNow()](
                        const Status& status, PayloadReader* response) {
    const absl::Duration took = SteadyNow() - asked;
    auto kept = std::make_shared<PayloadReader>(std::move(*response));
    ThreadCache::Global()->Run([self, task, of_result, took, status, kept] {
      self->Take(task, of_result, took, status, kept.get());
    });
  };
  std::shared_ptr<Channel::Call> call = StartRequest(
      channel->get(), "CollectivePiece", EncodeMessage(request), absl::InfiniteFuture(), take);
  {
    absl::MutexLock lock(&mutex_);
    if (failed_.ok()) return calls_.push_back(std::move(call));
  }
  call->Cancel();
}

void CollectiveExchange::Take(int task, bool of_result, absl::Duration took, const Status& status,
                              PayloadReader* response) {
  std::string name;
  {
    absl::MutexLock lock(&mutex_);
    name = tasks_[task].name;
    --tasks_[task].awaited;
  }
  const auto read = [&]() -> Status {
    MS_RETURN_IF_ERROR(status);
    proto::CollectivePieceResponse message;
    MS_RETURN_IF_ERROR(DecodeMessage(response, &message));
    MS_ASSIGN_OR_RETURN(const Tensor piece, DecodeTensor(message.tensor(), response));
    const absl::Duration held = absl::Nanoseconds(message.held_nanos());
    peers_->links()->AddTransfer(name, piece.bytes(), took - held);
    return Keep(task, of_result, piece);
  };
  const Status taken = read();
  if (!taken.ok()) return Fail(WithTask(taken, name));
  Advance();
}

Status CollectiveExchange::Keep(int task, bool of_result, const Tensor& piece) {
  Tensor to;
  {
    absl::MutexLock lock(&mutex_);
    if (!failed_.ok()) return failed_;
    if (spec_.kind == Kind::kBroadcast) {
      if (piece.dtype() != spec_.dtype) return errors::Internal("a broadcast has another type");
      result_ = piece;
      --missing_results_;
      has_own_piece_ = true;
      return absl::OkStatus();
    }
    const Range& range = ranges_[of_result ? task : own_];
    if (piece.dtype() != spec_.dtype || piece.num_elements() != range.end - range.begin) {
      return errors::Internal("a piece of a tensor is ", piece.DebugString(0), ", expected ",
                              range.end - range.begin, " elements of ", DataTypeName(spec_.dtype));
    }
    if (!of_result) {
      pieces_[task] = piece;
      if (--missing_pieces_ > 0) return absl::OkStatus();
    } else {
      to = ElementsOf(result_, range.begin, range.end);
    }
  }
  if (!of_result) return MergePieces();
  if (to.bytes() > 0) std::memcpy(to.raw(), piece.raw(), to.bytes());
  absl::MutexLock lock(&mutex_);
  --missing_results_;
  return absl::OkStatus();
}

Status CollectiveExchange::MergePieces() {
  std::vector<Tensor> pieces;
  Tensor to;
  CollectiveSpec spec;
  {
    absl::MutexLock lock(&mutex_);
    if (!failed_.ok()) return failed_;
    const Range& range = ranges_[own_];
    pieces.swap(pieces_);
    pieces[own_] = ElementsOf(given_, range.begin, range.end);
    // Of a reduce-scatter, the result has the own piece alone.
    const int64_t begin = spec_.kind == Kind::kReduceScatter ? 0 : range.begin;
    to = ElementsOf(result_, begin, begin + range.end - range.begin);
    spec = spec_;
  }
  MergeInto(spec.merge, pieces, spec.divides ? spec.group_size : 1, SerialLoop, to);
  absl::MutexLock lock(&mutex_);
  has_own_piece_ = true;
  return absl::OkStatus();
}

// ---- Answers ----

void CollectiveExchange::Ask(bool of_result, int asker, const Reply& reply) {
  Status failed;
  {
    absl::MutexLock lock(&mutex_);
    failed = failed_;
    if (failed.ok()) questions_.push_back({of_result, asker, reply, SteadyNow()});
  }
  if (!failed.ok()) return reply.Give(failed);
  Advance();
}

bool CollectiveExchange::CanAnswer(const Question& question) const {
  return question.of_result ? has_own_piece_ : given_.has_value() && !ranges_.empty();
}

StatusOr<Tensor> CollectiveExchange::PieceFor(const Question& question) const {
  if (spec_.kind == Kind::kBroadcast) return result_;
  const int task = question.of_result ? own_ : question.asker;
  if (task < 0 || task >= static_cast<int>(ranges_.size())) {
    return errors::InvalidArgument("a collective operation has no task ", task);
  }
  if (!question.of_result && !spec_.merges()) {
    return errors::InvalidArgument("only reductions have pieces that are not of the result");
  }
  if (question.of_result && spec_.kind == Kind::kReduceScatter) {
    return errors::InvalidArgument("the result of a reduce-scatter has pieces for no other task");
  }
  const Range& range = ranges_[task];
  return ElementsOf(question.of_result ? result_ : given_, range.begin, range.end);
}

Reply CollectiveExchange::Counted(const Question& question) const {
  if (question.asker < 0 || question.asker >= static_cast<int>(tasks_.size())) {
    return question.reply;
  }
  return question.reply.Counted(peers_->TrafficWith(tasks_[question.asker].name));
}

void CollectiveExchange::Advance() {
  struct Answer {
    Reply reply;
    absl::Time came;
    StatusOr<Tensor> piece;
  };
  std::vector<Answer> answers;
  std::vector<CollectiveMember> members;
  Tensor result;
  bool shares_out = false;
  bool ends = false;
  {
    absl::MutexLock lock(&mutex_);
    if (!failed_.ok()) return;
    for (auto at = questions_.begin(); at != questions_.end();) {
      if (!CanAnswer(*at)) {
        ++at;
        continue;
      }
      answers.push_back({Counted(*at), at->came, PieceFor(*at)});
      if (at->asker >= 0 && at->asker < static_cast<int>(tasks_.size())) {
        int& unasked = tasks_[at->asker].unasked;
        unasked = std::max(unasked - 1, 0);
      }
      at = questions_.erase(at);
    }
    if (has_own_piece_ && missing_results_ == 0 && !has_result_) {
      has_result_ = true;
      members.swap(members_);
      calls_.clear();
      shares_out = spec_.kind == Kind::kReduceScatter;
      result = result_;
      if (shares_out) result_ = Tensor();  // no other task asks for it
    }
    ends = TakeEnd();
  }
  for (const Answer& answer : answers) GivePiece(answer.reply, answer.came, answer.piece);
  GiveResult(members, result, shares_out);
  if (ends) on_end_();
}

}  // namespace millstream
