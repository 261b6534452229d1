#include "core/session/session_gate.h"

#include <utility>

#include "core/graph/fork_guard.h"

namespace millstream {
namespace {

// What this thread works for, innermost first: a step may run a step of another session.
thread_local const SessionGate::Inside* innermost = nullptr;

}  // namespace

SessionGate::Inside::Inside(const SessionGate* gate)
    : gate_(gate), innermost_(innermost), outer_(innermost_) {
  innermost_ = this;
}

SessionGate::Inside::~Inside() { innermost_ = outer_; }

bool SessionGate::IsInside() const {
  for (const Inside* inside = innermost; inside != nullptr; inside = inside->outer_) {
    if (inside->gate_ == this) return true;
  }
  return false;
}

Status SessionGate::Enter() {
  if (ForkGuard::Forked()) return ForkGuard::Check();
  const int64_t before = word_.fetch_add(kStep, std::memory_order_acq_rel);
  if ((before & kClosed) == 0) return absl::OkStatus();
  LeaveClosed();
  return errors::FailedPrecondition("the session is closed");
}

// While the session is open, no thread waits for steps, so decrementing the count is enough. After
// it is closed, the count is decremented under the lock, so that a thread which waits for the last
// step wakes after that step has finished with the gate.
void SessionGate::Leave() {
  int64_t word = word_.load(std::memory_order_relaxed);
  while ((word & kClosed) == 0) {
    if (word_.compare_exchange_weak(word, word - kStep, std::memory_order_acq_rel)) return;
  }
  LeaveClosed();
}

void SessionGate::LeaveClosed() {
  if (ForkGuard::Forked()) return;
  std::function<void()> destroy;
  {
    absl::MutexLock lock(&mutex_);
    if (word_.fetch_sub(kStep, std::memory_order_acq_rel) == kClosed + kStep) {
      ReleaseOnce();
      emptied_.SignalAll();
      destroy = std::exchange(destroy_, nullptr);
    }
  }
  if (destroy != nullptr) destroy();
}

void SessionGate::ReleaseOnce() {
  const std::function<void()> release = std::exchange(release_, nullptr);
  if (release != nullptr) release();
}

void SessionGate::Close(absl::Duration patience, const std::function<void()>& say_so) {
  if (ForkGuard::Forked()) return;
  absl::MutexLock lock(&mutex_);
  word_.fetch_or(kClosed, std::memory_order_acq_rel);
  if (IsInside()) return;
  const auto is_empty = [this] { return IsEmpty(); };
  if (!emptied_.Await(&mutex_, SteadyNow() + patience, is_empty)) {
    mutex_.Unlock();  // steps leave meanwhile
    say_so();
    mutex_.Lock();
    emptied_.Await(&mutex_, absl::InfiniteFuture(), is_empty);
  }
  ReleaseOnce();
}

void SessionGate::Shut() {
  if (ForkGuard::Forked()) return;
  absl::MutexLock lock(&mutex_);
  word_.fetch_or(kClosed, std::memory_order_acq_rel);
  if (IsEmpty()) ReleaseOnce();
}

bool SessionGate::HasReleased() {
  absl::MutexLock lock(&mutex_);
  return release_ == nullptr;
}

void SessionGate::Free(std::function<void()> destroy) {
  if (ForkGuard::Forked()) return;
  Close();
  if (IsInside()) {
    absl::MutexLock lock(&mutex_);
    destroy_ = std::move(destroy);
    return;
  }
  destroy();
}

}  // namespace millstream
