// ClusterCollectives: the end, for which others may not be ready.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/graph/fork_guard.h"
#include "distributed_runtime/cluster_collectives.h"
#include "distributed_runtime/tensor_coding.h"
#include "framework/steady_time.h"
#include "millstream/distributed_runtime/protos/step_messages.pb.h"

namespace millstream {
namespace {

// How long a task that is about to stop waits for the answer of another one.
constexpr absl::Duration kAnswerPatience = absl::Seconds(5);
// After that it asks again who awaits something.
constexpr absl::Duration kPause = absl::Milliseconds(20);

}  // namespace

void ClusterCollectives::Drop() {
  meetings_.EndAll(errors::Cancelled("the container of the collective operations was cleared"));
}

bool ClusterCollectives::HasStopped() const {
  absl::MutexLock lock(&mutex_);
  return has_stopped_;
}

Status ClusterCollectives::Stopped() const {
  return absl::UnavailableError(absl::StrCat("the task ", task_, " has stopped"));
}

void ClusterCollectives::Stop() {
  const Status stopped = Stopped();
  StopMeetings(stopped);
  exchanges_->Stop(stopped);
}

void ClusterCollectives::Close(absl::Duration patience) {
  const Status stopped = Stopped();
  if (!StopMeetings(stopped)) return;
  if (!ForkGuard::Forked()) {  // a child has none of the threads that would answer
    const absl::Time deadline = SteadyNow() + patience;
    exchanges_->Close(stopped, deadline);
    AwaitOthers(deadline);
  }
  exchanges_->Stop(stopped);
}

bool ClusterCollectives::StopMeetings(const Status& stopped) {
  std::map<uint64_t, Waiting> waiting;
  std::vector<Reply> watchers;
  bool is_first = false;
  {
    absl::MutexLock lock(&mutex_);
    is_first = !has_stopped_;
    has_stopped_ = true;
    waiting.swap(waiting_);
    numbers_.clear();
    watchers.swap(watchers_);
  }
  meetings_.EndAll(stopped);
  for (const auto& [number, one] : waiting) one.member.done(stopped, Tensor());
  for (const Reply& watcher : watchers) watcher.Give(stopped);
  return is_first;
}

// What was given may still be on its way: behind other messages, or in this process, where it would
// end with it. So those who get it say when they have it.
void ClusterCollectives::AwaitOthers(absl::Time deadline) {
  std::set<std::string> tasks;
  {
    absl::MutexLock lock(&mutex_);
    tasks.insert(met_.begin(), met_.end());
  }
  while (!tasks.empty() && SteadyNow() < deadline) {
    tasks = AskWhoAwaits(tasks, deadline);
    if (!tasks.empty()) absl::SleepFor(kPause);
  }
}

// A task that does not answer is lost, or has ended.
std::set<std::string> ClusterCollectives::AskWhoAwaits(const std::set<std::string>& tasks,
                                                       absl::Time deadline) {
  proto::FarewellRequest question;
  question.set_task(task_);
  std::vector<TaskRequest> requests;
  std::vector<std::string> asked;
  for (const std::string& task : tasks) {
    StatusOr<std::shared_ptr<Channel>> channel = peers_->ChannelTo(task);
    if (!channel.ok()) continue;
    requests.push_back({task, *std::move(channel), EncodeMessage(question)});
    asked.push_back(task);
  }
  std::set<std::string> awaiting;
  const auto take = [&](size_t i, const Status& status, PayloadReader* response) {
    proto::FarewellResponse answer;
    if (!status.ok() || !DecodeMessage(response, &answer).ok()) return;
    if (answer.awaits()) awaiting.insert(asked[i]);
  };
  AskEach("Farewell", std::move(requests), std::min(deadline, SteadyNow() + kAnswerPatience), take);
  return awaiting;
}

// A leader that stops has answered all who wait for it.
void ClusterCollectives::OnFarewell(PayloadReader* request, const Reply& reply) {
  proto::FarewellRequest message;
  const Status status = DecodeMessage(request, &message);
  if (!status.ok()) return reply.Give(status);
  bool awaits = exchanges_->Awaits(message.task());
  if (message.task() == leader_) {
    absl::MutexLock lock(&mutex_);
    awaits = awaits || !waiting_.empty();
  }
  proto::FarewellResponse response;
  response.set_awaits(awaits);
  reply.Give(EncodeMessage(response));
}

}  // namespace millstream
