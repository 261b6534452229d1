// A way into a step's rendezvous for what may come after the step has ended.
#ifndef MILLSTREAM_CORE_RENDEZVOUS_LINK_H_
#define MILLSTREAM_CORE_RENDEZVOUS_LINK_H_

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/rendezvous.h"
#include "framework/status.h"

namespace millstream {

// Shared by a part of a step and by the copies that it has enqueued on its device. Thread-safe.
class RendezvousLink {
 public:
  explicit RendezvousLink(Rendezvous* rendezvous) : rendezvous_(rendezvous) {}

  // After Cut: does nothing.
  void Send(RendezvousKey key, Parcel parcel) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (rendezvous_ == nullptr) return;
    const Status sent = rendezvous_->Send(key, std::move(parcel));
    if (!sent.ok()) rendezvous_->Abort(sent);
  }
  void Abort(const Status& error) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (rendezvous_ != nullptr) rendezvous_->Abort(error);
  }
  // The step ends.
  void Cut() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    rendezvous_ = nullptr;
  }

 private:
  absl::Mutex mutex_;
  Rendezvous* rendezvous_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RENDEZVOUS_LINK_H_
