// The time of work on a device's stream, for traces.
#ifndef MILLSTREAM_CORE_DEVICE_STREAM_SPAN_H_
#define MILLSTREAM_CORE_DEVICE_STREAM_SPAN_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/device/device_stream.h"
#include "framework/status.h"

namespace millstream {

// The device's threads write it; it is read after the work is complete. A time of 0: not reached.
struct StreamSpan {
  explicit StreamSpan(int64_t (*clock)()) : now(clock) {}

  int64_t (*const now)();
  std::atomic<int64_t> start{0};
  std::atomic<int64_t> end{0};
  uint32_t stream = 0;  // its number; set when the work is enqueued
};
using SpanRef = std::shared_ptr<StreamSpan>;  // null: not traced

// Record the start and the end of the span when the work that was enqueued before is complete.
inline Status StartSpan(DeviceStream* stream, const SpanRef& span) {
  if (span == nullptr) return absl::OkStatus();
  span->stream = stream->number();
  return stream->CallAfter([span] { span->start.store(span->now()); });
}
inline Status EndSpan(DeviceStream* stream, const SpanRef& span) {
  if (span == nullptr) return absl::OkStatus();
  return stream->CallAfter([span] { span->end.store(span->now()); });
}

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_STREAM_SPAN_H_
