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
//
// No lock is held while a tensor is sent, which may copy it, encode it and call who waits for it. A
// send that has begun counts as such work until it has ended, so the step ends after it.
class RendezvousLink {
 public:
  RendezvousLink(Rendezvous* rendezvous, StepScheduler* scheduler, StepPart* part)
      : scheduler_(scheduler), part_(part), rendezvous_(rendezvous) {}

  // Called by the part: one call of Send or Abort will follow.
  void Expect() ABSL_LOCKS_EXCLUDED(mutex_) {
    scheduler_->StartOutside();
    absl::MutexLock lock(&mutex_);
    ++expected_;
  }
  // Sends the tensor. Does nothing after Cut, like Abort.
  void Send(const RendezvousKey& key, Parcel parcel) ABSL_LOCKS_EXCLUDED(mutex_) {
    Rendezvous* const rendezvous = TakeExpected();
    if (rendezvous == nullptr) return;
    const Status sent = rendezvous->Send(key, std::move(parcel));
    if (!sent.ok()) rendezvous->Abort(sent);
    scheduler_->FinishOutside(part_);
  }
  // Ends the step with an error, to which it adds what `key` stands for.
  void Abort(const RendezvousKey& key, const Status& error) ABSL_LOCKS_EXCLUDED(mutex_) {
    Rendezvous* const rendezvous = TakeExpected();
    if (rendezvous == nullptr) return;
    rendezvous->Abort(WithTransfer(error, *key.transfer));
    scheduler_->FinishOutside(part_);
  }
  // Called by the part: ends all expected sends but those that have begun, which end by themselves.
  // Idempotent.
  void Cut() ABSL_LOCKS_EXCLUDED(mutex_) {
    int cut = 0;
    {
      absl::MutexLock lock(&mutex_);
      rendezvous_ = nullptr;
      cut = std::exchange(expected_, 0);
    }
    for (; cut > 0; --cut) scheduler_->FinishOutside(part_);
  }

 private:
  // An expected send begins, which FinishOutside is to end: the step, which has the rendezvous,
  // does not end before. Null after Cut.
  Rendezvous* TakeExpected() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (rendezvous_ != nullptr) --expected_;
    return rendezvous_;
  }

  StepScheduler* const scheduler_;
  StepPart* const part_;
  absl::Mutex mutex_;
  Rendezvous* rendezvous_ ABSL_GUARDED_BY(mutex_);  // null after Cut
  int expected_ ABSL_GUARDED_BY(mutex_) = 0;        // of those that have not begun
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_RENDEZVOUS_LINK_H_
