#include "core/step/task_rendezvous.h"

#include <utility>

namespace millstream {

// The receivers of one step that wait for other tasks.
class TaskRendezvous::Waits {
 public:
  explicit Waits(StepScheduler* scheduler) : scheduler_(scheduler) {}

  // Returns the error of Abort if it was called; then the receiver does not wait.
  Status Add(const Wait* wait, Receiver* receiver) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return aborted_;
    receivers_[wait] = receiver;
    scheduler_->StartOutside();
    return absl::OkStatus();
  }
  // The wait is over without a call of the receiver. False: it was called, or is being called.
  bool Remove(const Wait* wait) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (Take(wait) == nullptr) return false;
    scheduler_->FinishOutside(nullptr);
    return true;
  }
  // Calls the receiver, unless it was called before. The step lasts until FinishOutside.
  void Give(const Wait* wait, Status status, Parcel parcel) ABSL_LOCKS_EXCLUDED(mutex_) {
    Receiver* const receiver = Take(wait);
    if (receiver == nullptr) return;
    receiver->Receive(std::move(status), std::move(parcel));
    scheduler_->FinishOutside(nullptr);
  }
  void Abort(const Status& error) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::flat_hash_map<const Wait*, Receiver*> left;
    {
      absl::MutexLock lock(&mutex_);
      if (!aborted_.ok()) return;
      aborted_ = error;
      left.swap(receivers_);
    }
    for (const auto& [wait, receiver] : left) {
      receiver->Receive(error, Parcel());
      scheduler_->FinishOutside(nullptr);
    }
  }

 private:
  // Null: it was taken before.
  Receiver* Take(const Wait* wait) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = receivers_.find(wait);
    if (found == receivers_.end()) return nullptr;
    Receiver* const receiver = found->second;
    receivers_.erase(found);
    return receiver;
  }

  StepScheduler* const scheduler_;
  absl::Mutex mutex_;
  absl::flat_hash_map<const Wait*, Receiver*> receivers_ ABSL_GUARDED_BY(mutex_);
  Status aborted_ ABSL_GUARDED_BY(mutex_);
};

// What the shared rendezvous calls, perhaps after the step has ended. Deletes itself then.
class TaskRendezvous::Wait final : public Receiver {
 public:
  explicit Wait(std::shared_ptr<Waits> waits) : waits_(std::move(waits)) {}
  void Receive(Status status, Parcel parcel) override {
    waits_->Give(this, std::move(status), std::move(parcel));
    delete this;
  }

 private:
  const std::shared_ptr<Waits> waits_;
};

TaskRendezvous::TaskRendezvous(Rendezvous* shared, std::vector<bool> is_shared,
                               StepScheduler* scheduler)
    : shared_(shared),
      is_shared_(std::move(is_shared)),
      waits_(std::make_shared<Waits>(scheduler)) {}

bool TaskRendezvous::IsShared(const RendezvousKey& key) const {
  return is_shared_[static_cast<size_t>(key.edge)];
}

Status TaskRendezvous::Send(const RendezvousKey& key, Parcel parcel) {
  if (IsShared(key)) return shared_->Send(key, std::move(parcel));
  return own_.Send(key, std::move(parcel));
}

StatusOr<bool> TaskRendezvous::Receive(const RendezvousKey& key, Receiver* receiver,
                                       Parcel* parcel) {
  if (!IsShared(key)) return own_.Receive(key, receiver, parcel);
  auto wait = std::make_unique<Wait>(waits_);
  MS_RETURN_IF_ERROR(waits_->Add(wait.get(), receiver));
  // Once it waits, the shared rendezvous may call it, and so delete it, at any time.
  Wait* const waiting = wait.release();
  StatusOr<bool> here = shared_->Receive(key, waiting, parcel);
  if (here.ok() && !*here) return false;
  const std::unique_ptr<Wait> back(waiting);
  if (waits_->Remove(waiting)) return here;
  return false;  // Abort was faster
}

void TaskRendezvous::Abort(const Status& error) {
  own_.Abort(error);
  waits_->Abort(error);
  shared_->Abort(error);
}

}  // namespace millstream
