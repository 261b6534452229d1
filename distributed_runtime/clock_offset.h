// How much the clock of another task differs from that of this one.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_CLOCK_OFFSET_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_CLOCK_OFFSET_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "distributed_runtime/transport.h"
#include "framework/status.h"

namespace millstream {

// All in nanoseconds.
struct ClockOffset {
  int64_t ahead = 0;  // what the other clock is before this one
  int64_t error = 0;  // `ahead` is wrong by this much at most
};

// Combines readings of the other clock as NTP does (RFC 5905, section 8): the other task reads its
// clock at some time between the request and the response, so the middle is wrong by half of the
// round trip at most. The shortest round trip counts.
class ClockReadings {
 public:
  // `sent` and `received`: times of this clock; `read`: what the other clock showed in between.
  void Add(int64_t sent, int64_t read, int64_t received);
  // Empty without readings.
  std::optional<ClockOffset> offset() const { return best_; }

 private:
  std::optional<ClockOffset> best_;
};

// Reads the clock of the task behind the channel some times. The errors are those of the channel.
StatusOr<ClockOffset> MeasureClock(Channel* channel, absl::Time deadline);

// Nanoseconds since 1970 of the clock of this task.
int64_t ReadOwnClock();

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_CLOCK_OFFSET_H_
