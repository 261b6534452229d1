#include "distributed_runtime/brief_look.h"

#include <sched.h>

#include <atomic>
#include <chrono>

namespace millstream {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds kMost{40'000};
constexpr std::chrono::nanoseconds kLeast{1'000};
constexpr uint32_t kWholeEvery = 64;
constexpr int kLooksPerClock = 16;

std::atomic<int> g_busy{0};
thread_local int t_depth = 0;  // of objects; a thread counts once

// That the process may use, as it was when it was first asked.
int Cores() {
  static const int cores = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  }();
  return cores;
}

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// The count is a hint: nothing is ordered by it.
BusyThread::BusyThread() {
  if (t_depth++ == 0) g_busy.fetch_add(1, std::memory_order_relaxed);
}

BusyThread::~BusyThread() {
  if (--t_depth == 0) g_busy.fetch_sub(1, std::memory_order_relaxed);
}

bool BusyThread::MayLook() {
  const int cores = Cores();
  return cores > 1 && g_busy.load(std::memory_order_relaxed) < cores;
}

bool BriefLook::Look(absl::FunctionRef<bool()> found) {
  if (!BusyThread::MayLook()) return found();
  if (looks_++ % kWholeEvery == 0) next_ = kMost;
  if (next_.count() == 0) {
    if (!found()) return false;
    next_ = kMost;
    return true;
  }
  const Clock::time_point end = Clock::now() + next_;
  do {
    for (int i = 0; i < kLooksPerClock; ++i) {
      if (found()) {
        next_ = kMost;
        return true;
      }
      Pause();
    }
  } while (Clock::now() < end);
  next_ = next_ >= 2 * kLeast ? next_ / 2 : std::chrono::nanoseconds(0);
  return false;
}

}  // namespace millstream
