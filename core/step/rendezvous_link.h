// Access to a step's rendezvous for sends that may happen after the step has ended.
#ifndef MILLSTREAM_CORE_STEP_RENDEZVOUS_LINK_H_
#define MILLSTREAM_CORE_STEP_RENDEZVOUS_LINK_H_

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/partition/rendezvous.h"
#include "core/step/step_scheduler.h"
#include "framework/status.h"

namespace millstream {

// A part of a step shares it with the copies that it enqueued on its device. Expected sends count
// as work outside of the step's parts (StepScheduler::StartOutside), so a step that waits for them
// is not stuck. Thread-safe.
class RendezvousLink {
 public:
  RendezvousLink(Rendezvous* rendezvous, StepScheduler* scheduler, StepPart* part)
      : scheduler_(scheduler), part_(part), rendezvous_(rendezvous) {}

  // Called by the part: one call of Send or Abort will follow.
  void Expect() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++expected_;
    scheduler_->StartOutside();
  }
  // Sends the tensor. Does nothing after Cut, like Abort.
  void Send(const RendezvousKey& key, Parcel parcel) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (rendezvous_ == nullptr) return;
    const Status sent = rendezvous_->Send(key, std::move(parcel));
    if (!sent.ok()) rendezvous_->Abort(sent);
    EndOne();
  }
  // Ends the step with an error, to which it adds what `key` stands for.
  void Abort(const RendezvousKey& key, const Status& error) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (rendezvous_ == nullptr) return;
    rendezvous_->Abort(WithTransfer(error, *key.transfer));
    EndOne();
  }
  // Called by the part: ends all expected sends. Idempotent.
  void Cut() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    rendezvous_ = nullptr;
    while (expected_ > 0) EndOne();
  }

 private:
  // Runs under the lock, so that the step cannot end meanwhile.
  void EndOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    --expected_;
    scheduler_->FinishOutside(part_);
  }

  StepScheduler* const scheduler_;
  StepPart* const part_;
  absl::Mutex mutex_;
  Rendezvous* rendezvous_ ABSL_GUARDED_BY(mutex_);  // null after Cut
  int expected_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_RENDEZVOUS_LINK_H_
