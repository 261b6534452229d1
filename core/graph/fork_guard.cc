#include "core/graph/fork_guard.h"

#include <pthread.h>

#include <new>
#include <set>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"

namespace millstream {
namespace {

// The locks of all FreeInForks of the process.
class ForkedLocks {
 public:
  static ForkedLocks* Global() {
    static auto* const locks = new ForkedLocks();
    return locks;
  }
  void Add(absl::Mutex* mutex) ABSL_LOCKS_EXCLUDED(own_) {
    absl::MutexLock lock(&own_);
    locks_.insert(mutex);
  }
  void Remove(absl::Mutex* mutex) ABSL_LOCKS_EXCLUDED(own_) {
    absl::MutexLock lock(&own_);
    locks_.erase(mutex);
  }

  // ---- Around a fork, on the thread that forks ----
  void Lock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    own_.Lock();
    for (absl::Mutex* mutex : locks_) mutex->Lock();
  }
  void Unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (absl::Mutex* mutex : locks_) mutex->Unlock();
    own_.Unlock();
  }
  // Who queued for a lock is not there to be woken: the child has them new.
  void Renew() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (absl::Mutex* mutex : locks_) new (mutex) absl::Mutex();
    new (&own_) absl::Mutex();
  }

 private:
  ForkedLocks() {
    // An Abseil that was built to look for cycles among locks, as Debian's is, does so under a lock
    // of its own whenever any is taken: it would stay taken in the child. And it would take a lock
    // that is made new for one that the thread still holds.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    pthread_atfork(
        +[] { Global()->Lock(); }, +[] { Global()->Unlock(); }, +[] { Global()->Renew(); });
  }

  absl::Mutex own_;
  std::set<absl::Mutex*> locks_ ABSL_GUARDED_BY(own_);
};

}  // namespace

std::atomic<bool> ForkGuard::forked_{false};

void ForkGuard::Arm() {
  static absl::once_flag once;
  absl::call_once(once, [] {
    pthread_atfork(
        nullptr, nullptr, +[] { forked_.store(true, std::memory_order_relaxed); });
  });
}

Status ForkGuard::Check() {
  if (!Forked()) return absl::OkStatus();
  return errors::FailedPrecondition(
      "this process was forked from one that had a session: the threads that run steps stayed in "
      "the parent. Fork before the first session is made, or start processes by 'spawn'");
}

FreeInForks::FreeInForks(absl::Mutex* mutex) : mutex_(mutex) { ForkedLocks::Global()->Add(mutex_); }

FreeInForks::~FreeInForks() { ForkedLocks::Global()->Remove(mutex_); }

}  // namespace millstream
