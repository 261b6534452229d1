#include "core/resources/unbatcher.h"

#include "core/resources/alarms.h"

namespace millstream {
namespace {

Status TakeCancelled() {
  return errors::Cancelled("the wait for a part of the batch was cancelled");
}

WaitingList::Line LineOf(int64_t id) { return {0, id}; }

}  // namespace

Status Unbatcher::Give(int64_t id, Tensor tensor, absl::Duration limit) {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    const auto [given, is_new] = given_.try_emplace(id);
    if (!is_new) {
      return errors::AlreadyExists("another step has given the part of this id in the batch");
    }
    given->second.tensor = std::move(tensor);
    const auto awaited = awaited_.find(id);
    if (awaited == awaited_.end()) {
      auto self = ResourceRef<Unbatcher>::Share(this);
      given->second.alarm = Alarms::Global()->Set(limit, [self, id] { self->Forget(id); });
    } else {
      waiting_.Wake(LineOf(takers_.find(awaited->second)->second.ids[0]));
      waiting_.Advance(&ended);
    }
  }
  ended.Tell();
  return absl::OkStatus();
}

bool Unbatcher::TryTake(Ticket ticket, const Ids& ids, std::vector<Tensor>* tensors) {
  for (const int64_t id : ids) {
    if (!given_.contains(id)) return false;
  }
  for (const int64_t id : ids) {
    const auto given = given_.find(id);
    Alarms::Global()->Forget(given->second.alarm);
    tensors->push_back(std::move(given->second.tensor));
    given_.erase(given);
  }
  Remove(ticket);
  return true;
}

void Unbatcher::Take(Ticket ticket, Ids ids, absl::Duration limit, std::vector<Tensor>* tensors,
                     Done done) {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    bool is_awaited = false;
    for (const int64_t id : ids) is_awaited |= !awaited_.try_emplace(id, ticket).second;
    if (is_awaited) {
      for (const int64_t id : ids) {
        const auto awaited = awaited_.find(id);
        if (awaited != awaited_.end() && awaited->second == ticket) awaited_.erase(awaited);
      }
      ended.Add(std::move(done),
                errors::AlreadyExists("another call waits for the part of this id"));
    } else {
      takers_[ticket].ids = ids;
      waiting_.Add(
          ticket, LineOf(ids[0]),
          [this, ticket, ids, tensors](Status*) {
            mutex_.AssertHeld();
            return TryTake(ticket, ids, tensors);
          },
          std::move(done));
      waiting_.Advance(&ended);
      const auto taker = takers_.find(ticket);
      if (taker != takers_.end()) {
        auto self = ResourceRef<Unbatcher>::Share(this);
        taker->second.alarm = Alarms::Global()->Set(limit, [self, id = ids[0]] {
          self->Fail(id, absl::DeadlineExceededError(
                             "Batched data did not arrive within timeout window."));
        });
      }
    }
  }
  ended.Tell();
}

void Unbatcher::Remove(Ticket ticket) {
  const auto taker = takers_.find(ticket);
  for (const int64_t id : taker->second.ids) awaited_.erase(id);
  Alarms::Global()->Forget(taker->second.alarm);
  takers_.erase(taker);
}

void Unbatcher::End(Ticket ticket, const Status& status, WaitingList::Ended* ended) {
  Remove(ticket);
  waiting_.Cancel(ticket, status, ended);
  waiting_.Advance(ended);
}

void Unbatcher::Fail(int64_t id, const Status& status) {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    const auto awaited = awaited_.find(id);
    if (awaited == awaited_.end() || given_.contains(id)) return;
    End(awaited->second, status, &ended);
  }
  ended.Tell();
}

void Unbatcher::Forget(int64_t id) {
  Given forgotten;  // goes without the lock
  absl::MutexLock lock(&mutex_);
  const auto given = given_.find(id);
  if (given == given_.end()) return;
  forgotten = std::move(given->second);
  Alarms::Global()->Forget(forgotten.alarm);
  given_.erase(given);
}

void Unbatcher::Cancel(Ticket ticket) {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    if (!takers_.contains(ticket)) return;
    End(ticket, TakeCancelled(), &ended);
  }
  ended.Tell();
}

void Unbatcher::Drop() {
  WaitingList::Ended ended;
  absl::flat_hash_map<int64_t, Given> dropped;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [ticket, taker] : takers_) Alarms::Global()->Forget(taker.alarm);
    takers_.clear();
    awaited_.clear();
    dropped.swap(given_);
    waiting_.CancelAll(TakeCancelled(), &ended);
  }
  for (const auto& [id, given] : dropped) Alarms::Global()->Forget(given.alarm);
  ended.Tell();
}

}  // namespace millstream
