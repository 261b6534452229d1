// The heartbeat of a process.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_PULSE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_PULSE_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"

namespace millstream {

// Calls a function regularly, on a thread of ThreadCache, so that simulations have the heartbeats
// of clients in their own time. Thread-safe.
class Pulse {
 public:
  // The first call comes after one period.
  Pulse(absl::Duration period, std::function<void()> beat);
  // Waits for a call that runs. REQUIRES: no call destroys the object.
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

// The time between two heartbeats of a task, and of a client. Losses are found by counting them, so
// that a process which was stopped for a while does not take the others for lost.
constexpr absl::Duration kHeartbeatPeriod = absl::Seconds(1);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_PULSE_H_
