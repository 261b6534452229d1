// A clock of the system that a test has set.
#ifndef MILLSTREAM_FRAMEWORK_TESTING_MOVED_CLOCK_H_
#define MILLSTREAM_FRAMEWORK_TESTING_MOVED_CLOCK_H_

#include "absl/time/time.h"

namespace millstream {

// As long as it lives, this program reads a time from CLOCK_REALTIME that is later by the jump. The
// kernel keeps its own time: what waits until a time of this clock waits longer by the jump, as
// after a clock that was set back. One at a time. The program that links it has its own
// clock_gettime.
class MovedClock {
 public:
  explicit MovedClock(absl::Duration jump);
  ~MovedClock();
  MovedClock(const MovedClock&) = delete;
  MovedClock& operator=(const MovedClock&) = delete;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_TESTING_MOVED_CLOCK_H_
