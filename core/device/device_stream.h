// One stream of a device, and the events that report its progress.
#ifndef MILLSTREAM_CORE_DEVICE_DEVICE_STREAM_H_
#define MILLSTREAM_CORE_DEVICE_DEVICE_STREAM_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/device/stream_point.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

// A recorded event. Holders may wait for it. It is recorded again after the last holder released
// it.
using EventRef = std::shared_ptr<MS_Event>;

// The unused events of one device. Thread-safe. Must outlive the events that Take returned.
class EventPool {
 public:
  EventPool(const MS_DeviceApi* functions, MS_Device* device)
      : functions_(*functions), device_(device) {}
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  StatusOr<EventRef> Take() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Return(MS_Event* event) ABSL_LOCKS_EXCLUDED(mutex_);

  const MS_DeviceApi& functions_;
  MS_Device* const device_;
  absl::Mutex mutex_;
  std::vector<MS_Event*> unused_ ABSL_GUARDED_BY(mutex_);
};

// Calls functions after events, for devices without stream_host_fn. A thread, which the first call
// starts, queries the events. Thread-safe.
class EventPoller {
 public:
  explicit EventPoller(const MS_DeviceApi* functions) : functions_(*functions) {}
  ~EventPoller() { End(); }
  EventPoller(const EventPoller&) = delete;
  EventPoller& operator=(const EventPoller&) = delete;

  // Calls `call` after `event` of `stream`. The calls of one stream are in order.
  void CallAfter(uint32_t stream, EventRef event, std::function<void()> call)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes all remaining calls and waits for them. REQUIRES: the streams were destroyed.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Awaited {
    uint32_t stream;
    EventRef event;
    std::function<void()> call;
  };
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasHappened(const EventRef& event) const;

  const MS_DeviceApi& functions_;
  absl::Mutex mutex_;
  std::deque<Awaited> awaited_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

// Thread-safe, except for Destroy. All functions except Sync return at once.
class DeviceStream {
 public:
  // The data that the streams of a device share. The objects must outlive the streams.
  struct Shared {
    const MS_DeviceApi* functions = nullptr;
    MS_Device* device = nullptr;
    EventPool* events = nullptr;
    EventPoller* poller = nullptr;
    StreamProgress* progress = nullptr;
  };
  // `role` is an MS_STREAM_*; `number` is the stream's index in StreamProgress.
  static StatusOr<std::unique_ptr<DeviceStream>> Create(const Shared& shared, uint32_t role,
                                                        uint32_t number);
  ~DeviceStream() { Destroy(); }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  MS_Stream* raw() const { return stream_; }
  uint32_t number() const { return number_; }

  // A point after all work that was enqueued before this call. StreamProgress can report it only
  // after a later mark of the stream.
  StreamPoint Now() {
    const StreamPoint now{number_, marks_.load() + 1};
    is_asked_.store(true);  // after the load, so that a mark before the point does not clear it
    return now;
  }
  // Records an event after all work that was enqueued before this call.
  StatusOr<EventRef> Mark() ABSL_LOCKS_EXCLUDED(mutex_);
  // An event at `point` of this stream, or later; null if the point is known to have passed.
  StatusOr<EventRef> EventAt(const StreamPoint& point) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes work that is enqueued later wait for the event, which may belong to another device of the
  // same plugin.
  Status Wait(const EventRef& event);
  // Calls `call` after the work that was enqueued before, on a thread of the plugin. `call` must be
  // short and enqueue nothing. It is not called if this function returns an error.
  Status CallAfter(std::function<void()> call);
  // Marks the stream if Now() returned a point after the last mark.
  void MarkAsked();
  // Queries the marks and updates the StreamProgress.
  void Poll() ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets *idle to whether the stream has completed its work. Returns an error of its work, once.
  Status Query(bool* idle);
  // Waits for all enqueued work. Returns an error of it, once.
  Status Sync();
  // Destroys the stream. The plugin does not wait for work that cannot end. Nothing may be enqueued
  // afterwards.
  void Destroy();

 private:
  struct Marked {
    uint64_t sequence;
    EventRef event;
  };
  DeviceStream(const Shared& shared, uint32_t number) : shared_(shared), number_(number) {}

  const Shared shared_;
  const uint32_t number_;
  MS_Stream* stream_ = nullptr;
  // Incremented before the event is recorded. So if a thread reads it after it enqueued work, the
  // next mark is after that work.
  std::atomic<uint64_t> marks_{0};
  std::atomic<bool> is_asked_{false};  // Now() was called since the last mark
  absl::Mutex mutex_;                  // held while an event is recorded, to keep their order
  std::deque<Marked> marked_ ABSL_GUARDED_BY(mutex_);  // marks that are not known to have passed
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_STREAM_H_
