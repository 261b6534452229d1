#include "framework/steady_time.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "absl/base/attributes.h"
#include "absl/time/clock.h"

// Waits on a word of memory, weak so that a program can have threads of its own kind (as in
// Abseil).
extern "C" {

// Sleeps while the word has the value, until `end` by CLOCK_MONOTONIC; null: for ever. May return
// sooner.
ABSL_ATTRIBUTE_WEAK void MillstreamSleepAt(const void* word, uint32_t value, const timespec* end) {
  // With FUTEX_WAIT_BITSET the limit is a time of CLOCK_MONOTONIC.
  syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, end, nullptr, FUTEX_BITSET_MATCH_ANY);
}

// Wakes so many of those who sleep there.
ABSL_ATTRIBUTE_WEAK void MillstreamWakeAt(const void* word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // extern "C"

namespace millstream {
namespace {

int64_t MonotonicNanos() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

// What is to be added to CLOCK_MONOTONIC.
int64_t Origin() {
  static const int64_t origin = absl::GetCurrentTimeNanos() - MonotonicNanos();
  return origin;
}

}  // namespace

absl::Time SteadyNow() {
  const int64_t origin = Origin();
  return absl::FromUnixNanos(origin + MonotonicNanos());
}

bool SteadyCondVar::WaitUntil(absl::Mutex* mutex, absl::Time deadline) {
  const bool has_limit = deadline != absl::InfiniteFuture();
  timespec end{};
  if (has_limit) {
    const absl::Duration monotonic = deadline - absl::FromUnixNanos(Origin());
    end = absl::ToTimespec(std::max(monotonic, absl::ZeroDuration()));
  }
  waiting_.fetch_add(1);
  const uint32_t signals = signals_.load();
  mutex->Unlock();
  // A signal after the mutex was released has changed the number: then the call returns at once.
  MillstreamSleepAt(&signals_, signals, has_limit ? &end : nullptr);
  mutex->Lock();
  waiting_.fetch_sub(1);
  return signals_.load() != signals || SteadyNow() < deadline;
}

void SteadyCondVar::WakeSleepers(int count) { MillstreamWakeAt(&signals_, count); }

}  // namespace millstream
