#include "framework/testing/moved_clock.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace {

std::atomic<int64_t> jump_seconds{0};

}  // namespace

// They stand before the functions of the C library, for all libraries of the program.
extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_REALTIME) time->tv_sec += jump_seconds.load();
  return result;
}

int gettimeofday(timeval* time, void* /*zone*/) noexcept {
  timespec now;
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  *time = absl::ToTimeval(absl::TimeFromTimespec(now));
  return result;
}

}  // extern "C"

namespace millstream {

MovedClock::MovedClock(absl::Duration jump) { jump_seconds = absl::ToInt64Seconds(jump); }

MovedClock::~MovedClock() { jump_seconds = 0; }

}  // namespace millstream
