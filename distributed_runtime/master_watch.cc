#include "distributed_runtime/master_watch.h"

#include <vector>

#include "absl/time/time.h"
#include "distributed_runtime/rpc.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"

namespace millstream {

void MasterWatch::Watch(const LeaseHolder& master, const std::weak_ptr<Listener>& listener) {
  Asked asked{master, 0, /*is_held=*/false, listener};
  {
    absl::MutexLock lock(&mutex_);
    if (has_stopped_) return;
    Watched& watched = watched_[master];
    if (watched.request != 0) return;
    asked.request = Note(&watched, /*is_held=*/false);
  }
  Ask(asked);
}

void MasterWatch::Keep(const std::set<LeaseHolder>& masters,
                       const std::weak_ptr<Listener>& listener) {
  std::vector<std::shared_ptr<Channel::Call>> calls;
  {
    absl::MutexLock lock(&mutex_);
    for (auto at = watched_.begin(); at != watched_.end();) {
      const auto present = at++;
      if (masters.count(present->first) > 0) continue;
      if (present->second.call != nullptr) calls.push_back(std::move(present->second.call));
      watched_.erase(present);
    }
  }
  for (const std::shared_ptr<Channel::Call>& call : calls) call->Cancel();
  for (const LeaseHolder& master : masters) Watch(master, listener);
}

void MasterWatch::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    has_stopped_ = true;
  }
  Keep({}, {});
}

bool MasterWatch::IsWatched(const LeaseHolder& master) const {
  absl::MutexLock lock(&mutex_);
  const auto found = watched_.find(master);
  return found != watched_.end() && found->second.request != 0 && found->second.is_held;
}

std::set<LeaseHolder> MasterWatch::Lost() const {
  std::set<LeaseHolder> lost;
  absl::MutexLock lock(&mutex_);
  for (const auto& [master, watched] : watched_) {
    if (watched.is_lost) lost.insert(master);
  }
  return lost;
}

uint64_t MasterWatch::Note(Watched* watched, bool is_held) {
  watched->request = ++last_request_;
  watched->is_held = is_held;
  watched->call = nullptr;
  return watched->request;
}

void MasterWatch::Ask(const Asked& asked) {
  const StatusOr<std::shared_ptr<Channel>> channel = peers_->ChannelTo(asked.master.first);
  if (!channel.ok()) return TakeAnswer(asked, channel.status());
  proto::WatchMasterRequest message;
  message.set_task(task_);
  message.set_incarnation(asked.master.second);
  message.set_is_held(asked.is_held);
  const auto take = [weak = weak_from_this(), asked](const Status& status, PayloadReader*) {
    const std::shared_ptr<MasterWatch> self = weak.lock();
    if (self != nullptr) self->TakeAnswer(asked, status);
  };
  std::shared_ptr<Channel::Call> call = StartRequest(
      channel->get(), "WatchMaster", EncodeMessage(message), absl::InfiniteFuture(), take);
  {
    absl::MutexLock lock(&mutex_);
    if (Watched* const watched = Find(asked)) {
      watched->call = std::move(call);
      return;
    }
  }
  call->Cancel();  // which does nothing if the answer has come
}

MasterWatch::Watched* MasterWatch::Find(const Asked& asked) {
  const auto found = watched_.find(asked.master);
  if (found == watched_.end() || found->second.request != asked.request) return nullptr;
  return &found->second;
}

void MasterWatch::TakeAnswer(const Asked& asked, const Status& status) {
  std::shared_ptr<Channel::Call> ended;  // destroyed without the lock
  Asked next = asked;
  next.is_held = true;
  bool has_next = false;
  {
    absl::MutexLock lock(&mutex_);
    Watched* const watched = Find(asked);
    if (watched == nullptr) return;
    ended = std::move(watched->call);
    watched->request = 0;
    if (asked.is_held && absl::IsUnavailable(status)) watched->is_lost = true;
    if (!asked.is_held && status.ok()) {
      watched->is_lost = false;
      next.request = Note(watched, /*is_held=*/true);
      has_next = true;
    }
  }
  if (has_next) return Ask(next);
  const std::shared_ptr<Listener> listener = asked.listener.lock();
  if (listener == nullptr) return;
  if (asked.is_held && absl::IsUnavailable(status)) listener->LoseMaster(asked.master, status);
  if (absl::IsAborted(status)) listener->EndMaster(asked.master);
}

}  // namespace millstream
