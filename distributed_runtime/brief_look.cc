#include "distributed_runtime/brief_look.h"

#include <chrono>

namespace millstream {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLooksPerClock = 16;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

bool LookFor(std::chrono::nanoseconds time, absl::FunctionRef<bool()> found) {
  const Clock::time_point end = Clock::now() + time;
  do {
    for (int i = 0; i < kLooksPerClock; ++i) {
      if (found()) return true;
      Pause();
    }
  } while (Clock::now() < end);
  return false;
}

}  // namespace

bool BriefLook::Look(absl::FunctionRef<bool()> found) {
  if (!BusyThread::MayLook()) return found();
  const std::chrono::nanoseconds time(time_.Begin());
  const bool has_found = time.count() == 0 ? found() : LookFor(time, found);
  time_.End(has_found);
  return has_found;
}

}  // namespace millstream
