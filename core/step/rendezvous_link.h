// A way into a step's rendezvous for what may come after the step has ended.
#ifndef MILLSTREAM_CORE_STEP_RENDEZVOUS_LINK_H_
#define MILLSTREAM_CORE_STEP_RENDEZVOUS_LINK_H_

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/partition/rendezvous.h"
#include "core/step/step_scheduler.h"
#include "framework/status.h"

namespace millstream {

// Shared by a part of a step and by the copies that it has enqueued on its device. What is on its
// way counts as work outside of the step's parts (StepScheduler::StartOutside): a step in which all
// others wait for it is not stuck. Thread-safe.
class RendezvousLink {
 public:
  RendezvousLink(Rendezvous* rendezvous, StepScheduler* scheduler, StepPart* part)
      : scheduler_(scheduler), part_(part), rendezvous_(rendezvous) {}

  // By the part: a tensor will come, by Send or Abort.
  void Expect() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++expected_;
    scheduler_->StartOutside();
  }
  // After Cut: does nothing.
  void Send(const RendezvousKey& key, Parcel parcel) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (rendezvous_ == nullptr) return;
    const Status sent = rendezvous_->Send(key, std::move(parcel));
    if (!sent.ok()) rendezvous_->Abort(sent);
    EndOne();
  }
  void Abort(const Status& error) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (rendezvous_ == nullptr) return;
    rendezvous_->Abort(error);
    EndOne();
  }
  // By the part, which waits for nothing of it any more. Idempotent.
  void Cut() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    rendezvous_ = nullptr;
    while (expected_ > 0) EndOne();
  }

 private:
  // The lock is held: the step cannot end meanwhile.
  void EndOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    --expected_;
    scheduler_->FinishOutside(part_);
  }

  StepScheduler* const scheduler_;
  StepPart* const part_;
  absl::Mutex mutex_;
  Rendezvous* rendezvous_ ABSL_GUARDED_BY(mutex_);  // null: nobody waits
  int expected_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_RENDEZVOUS_LINK_H_
