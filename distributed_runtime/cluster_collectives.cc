#include "distributed_runtime/cluster_collectives.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "distributed_runtime/collective_coding.h"
#include "distributed_runtime/tensor_coding.h"
#include "framework/steady_time.h"
#include "millstream/distributed_runtime/protos/step_messages.pb.h"

namespace millstream {
namespace {

// In heartbeats: how long a task that does not answer is not taken for lost.
constexpr int kPatience = 4;

// Meetings of a leader, and members of a task, that was started again have other numbers.
uint64_t FirstNumber() { return static_cast<uint64_t>(absl::ToUnixNanos(absl::Now())); }

std::string LeaderOf(const std::vector<ClusterTask>& tasks) {
  for (const char* job : {"/job:chief/", "/job:master/", "/job:worker/"}) {
    for (const ClusterTask& task : tasks) {
      if (absl::StartsWith(task.name, job)) return task.name;
    }
  }
  return tasks[0].name;
}

}  // namespace

ClusterCollectives::ClusterCollectives(std::string task, std::shared_ptr<Peers> peers)
    : task_(std::move(task)),
      peers_(std::move(peers)),
      leader_(LeaderOf(peers_->tasks())),
      exchanges_(std::make_shared<ExchangeTable>(
          task_, peers_, [this](uint64_t number) { return IsWaiting(number); })),
      meetings_(FirstNumber()),
      next_(FirstNumber()) {}

// ---- Members of this task ----

void ClusterCollectives::Join(const CollectiveSpec& spec, CollectiveMember member,
                              ParallelLoop loop) {
  const std::string device = member.device;
  const bool gives = member.gives;
  const Tensor tensor = member.tensor;
  const auto done = member.done;
  uint64_t number = 0;
  bool has_stopped = false;
  {
    absl::MutexLock lock(&mutex_);
    has_stopped = has_stopped_;
    if (!has_stopped) {
      number = next_++;
      numbers_[member.ticket] = number;
      waiting_[number] = {spec, std::move(member), ""};
    }
  }
  if (has_stopped) return done(Stopped(), Tensor());
  if (!Leads()) return JoinAtLeader(spec, number, device, gives, tensor);
  CollectiveArrival arrival;
  arrival.ticket = {task_, number};
  arrival.member = device;
  arrival.gives = gives;
  arrival.shape = tensor.shape();
  arrival.tensor = tensor;
  arrival.link = peers_->links()->link();
  arrival.done = [self = Self(), number](const Status& status, const MeetingOutcome& outcome) {
    self->Conclude(number, status, outcome);
  };
  Arrive(spec, std::move(arrival), loop);
}

void ClusterCollectives::Arrive(const CollectiveSpec& spec, CollectiveArrival arrival,
                                ParallelLoop loop) {
  meetings_.Arrive(spec, std::move(arrival), loop);
  WatchKnown(spec);
  // Stop may have come before the member.
  if (HasStopped()) meetings_.EndAll(Stopped());
}

void ClusterCollectives::Conclude(uint64_t number, const Status& status,
                                  const MeetingOutcome& outcome) {
  const bool is_exchange = status.ok() && !outcome.result.has_value();
  if (is_exchange) {
    for (const std::string& member : outcome.members) NoteMet(TaskOfMember(member));
  }
  Waiting waiting;
  bool is_waiting = false;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = waiting_.find(number);
    is_waiting = found != waiting_.end();
    if (is_waiting) {
      waiting = std::move(found->second);
      waiting_.erase(found);
      if (!is_exchange) numbers_.erase(waiting.member.ticket);
    }
  }
  if (is_exchange && is_waiting) {
    const void* const ticket = waiting.member.ticket;
    const std::shared_ptr<CollectiveExchange> exchange = exchanges_->Get(outcome.number);
    exchange->Add(waiting.spec, outcome, std::move(waiting.member));
    // Cancel may have come before Add.
    if (!TakeNumber(ticket, number)) exchange->Cancel(ticket);
    return;
  }
  if (is_waiting) return waiting.member.done(status, outcome.result);
  if (!is_exchange) return;
  exchanges_->Get(outcome.number)
      ->Fail(absl::AbortedError(absl::StrCat("a member in ", task_,
                                             " has left the collective operation: its step has "
                                             "ended")));
}

bool ClusterCollectives::TakeNumber(const void* ticket, uint64_t number) {
  absl::MutexLock lock(&mutex_);
  const auto found = numbers_.find(ticket);
  if (found == numbers_.end()) return false;
  // Another execution may have the ticket by now.
  if (found->second == number) numbers_.erase(found);
  return true;
}

void ClusterCollectives::Cancel(const void* ticket) {
  Waiting waiting;
  uint64_t number = 0;
  bool is_waiting = false;
  {
    absl::MutexLock lock(&mutex_);
    auto present = waiting_.end();
    if (const auto found = numbers_.find(ticket); found != numbers_.end()) {
      number = found->second;
      present = waiting_.find(number);
      numbers_.erase(found);
    }
    is_waiting = present != waiting_.end();
    if (is_waiting) {
      waiting = std::move(present->second);
      waiting_.erase(present);
    }
  }
  if (!is_waiting) return exchanges_->Cancel(ticket);
  Leave(number);
  waiting.member.done(errors::Cancelled("the wait in ", NameOf(waiting.spec), " was cancelled"),
                      Tensor());
}

void ClusterCollectives::Leave(uint64_t number) {
  if (Leads()) return meetings_.Leave({task_, number}, "its step has ended");
  const StatusOr<std::shared_ptr<Channel>> channel = peers_->ChannelTo(leader_);
  if (!channel.ok()) return;
  proto::LeaveCollectiveRequest request;
  request.set_task(task_);
  request.set_ticket(number);
  StartRequest(channel->get(), "LeaveCollective", EncodeMessage(request), absl::InfiniteFuture(),
               [](const Status&, PayloadReader*) {});
}

void ClusterCollectives::NoteMet(absl::string_view task) {
  const auto is_it = [task](const ClusterTask& one) { return one.name == task; };
  absl::MutexLock lock(&mutex_);
  if (task == task_ || met_.find(task) != met_.end()) return;
  if (absl::c_any_of(peers_->tasks(), is_it)) met_.emplace(task);
}

bool ClusterCollectives::IsWaiting(uint64_t number) const {
  absl::MutexLock lock(&mutex_);
  return waiting_.count(number) > 0;
}

// ---- For whom members wait ----

std::string ClusterCollectives::Missing(const CollectiveSpec& spec, absl::string_view device) {
  std::string exchanged = exchanges_->Missing(spec, device);
  if (!exchanged.empty()) return exchanged;
  if (Leads()) return meetings_.Missing(spec, device);
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [number, waiting] : waiting_) {
      const CollectiveSpec& own = waiting.spec;
      if (waiting.member.device == device && own.group_key == spec.group_key &&
          own.instance_key == spec.instance_key && own.scope == spec.scope &&
          !waiting.missing.empty()) {
        return waiting.missing;
      }
    }
  }
  return absl::StrCat("the other members of ", NameOf(spec), ", of which ", leader_, " knows");
}

void ClusterCollectives::Beat() {
  exchanges_->Beat();
  if (Leads()) return AskMembers();
  AskLeader();
  JoinAgain();
}

void ClusterCollectives::AskMembers() {
  std::set<std::string> tasks;
  std::vector<std::string> lost;
  const bool has_waiting = meetings_.HasWaiting();
  {
    absl::MutexLock lock(&mutex_);
    if (has_waiting) tasks = watched_;
    if (!has_waiting) silence_.clear();
    for (const std::string& task : tasks) {
      if (++silence_[task] > kPatience) lost.push_back(task);
    }
  }
  for (const std::string& task : lost) {
    meetings_.LoseTask(task, absl::UnavailableError("it does not answer"));
  }
  for (const std::string& task : tasks) {
    const StatusOr<std::shared_ptr<Channel>> channel = peers_->ChannelTo(task);
    if (!channel.ok()) continue;
    StartRequest(channel->get(), "PingMember", EncodeMessage(proto::WatchCollectivesRequest()),
                 SteadyNow() + absl::Seconds(10),
                 [self = Self(), task](const Status& status, PayloadReader*) {
                   if (!status.ok()) return;
                   absl::MutexLock lock(&self->mutex_);
                   self->silence_.erase(task);
                 });
  }
}

void ClusterCollectives::AskLeader() {
  std::vector<std::pair<uint64_t, proto::MissingMembersRequest>> requests;
  bool is_lost = false;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [number, waiting] : waiting_) {
      if (waiting.awaits_leader) continue;
      auto& request = requests.emplace_back(number, proto::MissingMembersRequest()).second;
      EncodeSpec(waiting.spec, request.mutable_operation());
      request.set_member(waiting.member.device);
    }
    silence_[leader_] = requests.empty() ? 0 : silence_[leader_] + 1;
    is_lost = silence_[leader_] > kPatience;
  }
  if (is_lost) return LoseLeader();
  if (requests.empty()) return;
  const StatusOr<std::shared_ptr<Channel>> channel = peers_->ChannelTo(leader_);
  if (!channel.ok()) return;
  for (const auto& [number, request] : requests) {
    StartRequest(channel->get(), "MissingMembers", EncodeMessage(request),
                 SteadyNow() + absl::Seconds(10),
                 [self = Self(), number = number](const Status& status, PayloadReader* response) {
                   self->TakeMissing(number, status, response);
                 });
  }
}

void ClusterCollectives::LoseLeader() {
  std::map<uint64_t, Waiting> waiting;
  {
    absl::MutexLock lock(&mutex_);
    waiting.swap(waiting_);
    for (const auto& [number, one] : waiting) numbers_.erase(one.member.ticket);
    silence_.clear();
  }
  const Status lost =
      absl::UnavailableError(absl::StrCat("the task ", leader_,
                                          ", where members of collective operations meet, does not "
                                          "answer"));
  for (const auto& [number, one] : waiting) {
    Leave(number);  // should the leader go on
    one.member.done(lost, Tensor());
  }
}

void ClusterCollectives::TakeMissing(uint64_t number, const Status& status,
                                     PayloadReader* response) {
  proto::MissingMembersResponse message;
  const bool is_answer = status.ok() && DecodeMessage(response, &message).ok();
  absl::MutexLock lock(&mutex_);
  // One that has not come up as yet is awaited, see AwaitLeader.
  const bool is_absent = absl::IsUnavailable(status) && !IsPeerLost(status);
  if (is_absent && !has_leader_come_up_) silence_.erase(leader_);
  if (!is_answer) return;
  has_leader_come_up_ = true;
  silence_.erase(leader_);
  const auto found = waiting_.find(number);
  if (found != waiting_.end()) found->second.missing = message.text();
}

// ---- Requests of other tasks ----

bool ClusterCollectives::Handle(absl::string_view method, PayloadReader* request,
                                const Reply& reply) {
  if (exchanges_->Handle(method, request, reply)) return true;
  using Handler = void (ClusterCollectives::*)(PayloadReader*, const Reply&);
  struct Method {
    const char* name;
    Handler handler;
  };
  static constexpr Method kMethods[] = {
      {"JoinCollective", &ClusterCollectives::OnJoin},
      {"LeaveCollective", &ClusterCollectives::OnLeave},
      {"WatchCollectives", &ClusterCollectives::OnWatch},
      {"MissingMembers", &ClusterCollectives::OnMissing},
      {"PingMember", &ClusterCollectives::OnPing},
      {"Farewell", &ClusterCollectives::OnFarewell},
  };
  for (const Method& one : kMethods) {
    if (method != one.name) continue;
    (this->*one.handler)(request, reply);
    return true;
  }
  return false;
}

void ClusterCollectives::OnJoin(PayloadReader* request, const Reply& reply) {
  const size_t size = request->left();
  proto::JoinCollectiveRequest message;
  CollectiveArrival arrival;
  const auto read = [&]() -> StatusOr<CollectiveSpec> {
    MS_RETURN_IF_ERROR(DecodeMessage(request, &message));
    MS_RETURN_IF_ERROR(CheckMemberVersion(message.version(), message.task(), task_));
    MS_ASSIGN_OR_RETURN(const CollectiveSpec spec, DecodeSpec(message.operation()));
    if (!Leads()) {
      return errors::Internal("the tasks of the cluster do not agree: ", leader_,
                              " leads collective operations, not ", task_);
    }
    MS_ASSIGN_OR_RETURN(Tensor tensor, DecodeTensor(message.tensor(), request));
    arrival.gives = tensor.has_value();
    arrival.shape = tensor.shape();
    MS_RETURN_IF_ERROR(CheckGiven(spec, tensor));
    if (!message.tensor().is_shape_only()) arrival.tensor = std::move(tensor);
    return spec;
  };
  const StatusOr<CollectiveSpec> spec = read();
  if (!spec.ok()) return reply.Give(spec.status());
  arrival.ticket = {message.task(), message.ticket()};
  arrival.member = message.member();
  arrival.link = DecodeLink(message.link());
  const std::shared_ptr<Traffic> traffic = peers_->TrafficWith(message.task());
  traffic->AddReceived(size);
  arrival.done = AnswerBy(reply.Counted(traffic));
  NoteMet(message.task());
  Watch(message.task());
  meetings_.LeaveBefore({message.task(), message.oldest()}, "its step has ended");
  Arrive(*spec, std::move(arrival), SerialLoop);
}

void ClusterCollectives::OnLeave(PayloadReader* request, const Reply& reply) {
  proto::LeaveCollectiveRequest message;
  const Status status = DecodeMessage(request, &message);
  if (status.ok()) meetings_.Leave({message.task(), message.ticket()}, "its step has ended");
  reply.Give(status);
}

void ClusterCollectives::OnMissing(PayloadReader* request, const Reply& reply) {
  proto::MissingMembersRequest message;
  const Status status = DecodeMessage(request, &message);
  if (!status.ok()) return reply.Give(status);
  const StatusOr<CollectiveSpec> spec = DecodeSpec(message.operation());
  if (!spec.ok()) return reply.Give(spec.status());
  proto::MissingMembersResponse response;
  response.set_text(meetings_.Missing(*spec, message.member()));
  reply.Give(EncodeMessage(response));
}

// A task that was lost before is lost to who comes now as well.
void ClusterCollectives::WatchKnown(const CollectiveSpec& spec) {
  for (const std::string& task : meetings_.KnownTasks(spec)) Watch(task);
}

// The task of a member: the call lasts as long as the connection.
void ClusterCollectives::Watch(const std::string& task) {
  if (task == task_) return;
  {
    absl::MutexLock lock(&mutex_);
    if (has_stopped_ || !watched_.insert(task).second) return;
  }
  const StatusOr<std::shared_ptr<Channel>> channel = peers_->ChannelTo(task);
  if (!channel.ok()) return;
  StartRequest(channel->get(), "WatchCollectives", EncodeMessage(proto::WatchCollectivesRequest()),
               absl::InfiniteFuture(), [self = Self(), task](const Status& status, PayloadReader*) {
                 {
                   absl::MutexLock lock(&self->mutex_);
                   self->watched_.erase(task);
                 }
                 if (!status.ok()) self->meetings_.LoseTask(task, status);
               });
}

void ClusterCollectives::OnWatch(PayloadReader*, const Reply& reply) {
  bool has_stopped = false;
  {
    absl::MutexLock lock(&mutex_);
    has_stopped = has_stopped_;
    if (!has_stopped) watchers_.push_back(reply);
  }
  if (has_stopped) reply.Give(Stopped());
}

}  // namespace millstream
