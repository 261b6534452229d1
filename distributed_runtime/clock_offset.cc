#include "distributed_runtime/clock_offset.h"

#include <chrono>

#include "distributed_runtime/rpc.h"
#include "millstream/distributed_runtime/protos/trace_messages.pb.h"

namespace millstream {
namespace {

// The first one may have to connect; of some others one meets no other work.
constexpr int kReadings = 8;

}  // namespace

void ClockReadings::Add(int64_t sent, int64_t read, int64_t received) {
  // Half of an odd number is rounded up.
  const int64_t error = (received - sent + 1) / 2;
  if (received < sent || (best_.has_value() && best_->error <= error)) return;
  best_ = ClockOffset{read - sent - (received - sent) / 2, error};
}

StatusOr<ClockOffset> MeasureClock(Channel* channel, absl::Time deadline) {
  ClockReadings readings;
  for (int i = 0; i < kReadings; ++i) {
    const int64_t sent = ReadOwnClock();
    proto::ReadClockResponse response;
    MS_RETURN_IF_ERROR(
        RequestMessage(channel, "ReadClock", proto::NothingResponse(), deadline, &response));
    readings.Add(sent, response.nanos(), ReadOwnClock());
  }
  const std::optional<ClockOffset> offset = readings.offset();
  if (!offset.has_value()) return errors::Internal("the clock of this task went backwards");
  return *offset;
}

// Traces read it, too.
int64_t ReadOwnClock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace millstream
