// One stream of a device, its place in time, and the events that say how far it is.
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

// A recorded event. Whoever holds it may wait for it; it is recorded again once nobody does.
using EventRef = std::shared_ptr<MS_Event>;

// The events of one device that nobody uses. Thread-safe; outlives the events that it gave.
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

// Calls functions once events have happened, for devices that have no stream_host_fn: a thread,
// begun with the first call, asks for the events. Thread-safe.
class EventPoller {
 public:
  explicit EventPoller(const MS_DeviceApi* functions) : functions_(*functions) {}
  ~EventPoller() { End(); }
  EventPoller(const EventPoller&) = delete;
  EventPoller& operator=(const EventPoller&) = delete;

  // `event` is of that stream; calls of one stream come in order.
  void CallAfter(uint32_t stream, EventRef event, std::function<void()> call)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls what is left, and waits for that. REQUIRES: the streams have ended.
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

// Thread-safe, but for Destroy. All functions return at once.
class DeviceStream {
 public:
  // What the streams of a device share; outlives them.
  struct Shared {
    const MS_DeviceApi* functions = nullptr;
    MS_Device* device = nullptr;
    EventPool* events = nullptr;
    EventPoller* poller = nullptr;
    StreamProgress* progress = nullptr;
  };
  // `role` is an MS_STREAM_*; `number` its place in StreamProgress.
  static StatusOr<std::unique_ptr<DeviceStream>> Create(const Shared& shared, uint32_t role,
                                                        uint32_t number);
  ~DeviceStream() { Destroy(); }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  MS_Stream* raw() const { return stream_; }
  uint32_t number() const { return number_; }

  // A point that passes when all has been done that was enqueued before this call, and is known to
  // have once the stream is marked behind it.
  StreamPoint Now() {
    const StreamPoint now{number_, marks_.load() + 1};
    is_asked_.store(true);  // behind the load: a mark that did not count for it leaves it set
    return now;
  }
  // An event that happens when all has been done that was enqueued before this call.
  StatusOr<EventRef> Mark() ABSL_LOCKS_EXCLUDED(mutex_);
  // An event that happens at `point` of this stream, or later; null when it is known to have
  // passed.
  StatusOr<EventRef> EventAt(const StreamPoint& point) ABSL_LOCKS_EXCLUDED(mutex_);
  // What is enqueued from now on waits for it. The event may be another device's of the same
  // plugin.
  Status Wait(const EventRef& event);
  // Calls `call` once all has been done that was enqueued before; in a thread of the plugin's, so
  // it is to be short and to enqueue nothing. An error: it is not called.
  Status CallAfter(std::function<void()> call);
  // Marks the stream if a point was given that lies behind all marks.
  void MarkAsked();
  // Asks the device for the marks, and tells the progress.
  void Poll() ABSL_LOCKS_EXCLUDED(mutex_);
  // OK when the stream is idle and nothing went wrong in it; *idle false while it works. What went
  // wrong is told once.
  Status Query(bool* idle);
  // Waits for all that was enqueued.
  Status Sync();
  // Ends the stream, which the plugin does without waiting for what will never end. Nothing may be
  // enqueued afterwards.
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
  // Raised before the event is recorded, so that who reads it after having enqueued something knows
  // that the next mark lies behind.
  std::atomic<uint64_t> marks_{0};
  std::atomic<bool> is_asked_{false};  // a point was given since the last mark
  absl::Mutex mutex_;                  // held as an event is recorded, so that they are in order
  std::deque<Marked> marked_ ABSL_GUARDED_BY(mutex_);  // those that are not known to have passed
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_STREAM_H_
