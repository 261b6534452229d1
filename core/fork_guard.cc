#include "core/fork_guard.h"

#include <pthread.h>

#include "absl/base/call_once.h"

namespace millstream {

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

}  // namespace millstream
