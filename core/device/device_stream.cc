#include "core/device/device_stream.h"

#include <iterator>
#include <utility>

#include "absl/time/time.h"
#include "framework/plugin/host_status.h"

namespace millstream {
namespace {

// Between two looks of the poller: less than a copy of a page takes on most devices.
constexpr absl::Duration kPollInterval = absl::Microseconds(50);

constexpr size_t kMarksBetweenPolls = 64;

}  // namespace

// ---- EventPool ----

EventPool::~EventPool() {
  for (MS_Event* event : unused_) functions_.event_destroy(event);
}

StatusOr<EventRef> EventPool::Take() {
  MS_Event* event = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    if (!unused_.empty()) {
      event = unused_.back();
      unused_.pop_back();
    }
  }
  if (event == nullptr) {
    MS_RETURN_IF_ERROR(TakeAbiStatus(functions_.event_create(device_, 0, &event)));
  }
  return EventRef(event, [this](MS_Event* unused) { Return(unused); });
}

void EventPool::Return(MS_Event* event) {
  absl::MutexLock lock(&mutex_);
  unused_.push_back(event);
}

// ---- EventPoller ----

void EventPoller::End() {
  std::thread thread;
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

void EventPoller::CallAfter(uint32_t stream, EventRef event, std::function<void()> call) {
  absl::MutexLock lock(&mutex_);
  awaited_.push_back(Awaited{stream, std::move(event), std::move(call)});
  if (!thread_.joinable()) thread_ = std::thread([this] { Loop(); });
}

// If the event cannot be queried because the device is lost, it counts as happened.
bool EventPoller::HasHappened(const EventRef& event) const {
  uint8_t done = 0;
  const Status asked = TakeAbiStatus(functions_.event_query(event.get(), &done));
  return !asked.ok() || done != 0;
}

void EventPoller::Loop() {
  while (true) {
    std::deque<Awaited> looked_at;
    bool ending = false;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return ending_ || !awaited_.empty();
      };
      mutex_.Await(absl::Condition(&has_work));
      looked_at.swap(awaited_);
      ending = ending_;
    }
    if (ending && looked_at.empty()) return;
    std::deque<Awaited> left;
    uint64_t streams_left = 0;  // what comes later on these is not asked for: calls are in order
    for (Awaited& awaited : looked_at) {
      const uint64_t stream = uint64_t{1} << awaited.stream;
      if (!ending && ((streams_left & stream) != 0 || !HasHappened(awaited.event))) {
        streams_left |= stream;
        left.push_back(std::move(awaited));
      } else {
        std::exchange(awaited.call, nullptr)();  // what it holds goes at once
      }
    }
    if (left.empty()) continue;
    {
      absl::MutexLock lock(&mutex_);
      awaited_.insert(awaited_.begin(), std::make_move_iterator(left.begin()),
                      std::make_move_iterator(left.end()));
    }
    std::this_thread::sleep_for(absl::ToChronoMicroseconds(kPollInterval));
  }
}

// ---- DeviceStream ----

StatusOr<std::unique_ptr<DeviceStream>> DeviceStream::Create(const Shared& shared, uint32_t role,
                                                             uint32_t number) {
  std::unique_ptr<DeviceStream> stream(new DeviceStream(shared, number));
  MS_RETURN_IF_ERROR(TakeAbiStatus(
      shared.functions->stream_create(shared.device, role, /*priority=*/0, &stream->stream_)));
  return stream;
}

void DeviceStream::Destroy() {
  if (stream_ == nullptr) return;
  shared_.functions->stream_destroy(std::exchange(stream_, nullptr));
}

StatusOr<EventRef> DeviceStream::Mark() {
  MS_ASSIGN_OR_RETURN(EventRef event, shared_.events->Take());
  bool are_many = false;
  {
    absl::MutexLock lock(&mutex_);
    is_asked_.store(false);  // before the mark is counted, see Now
    const uint64_t sequence = marks_.fetch_add(1) + 1;
    MS_RETURN_IF_ERROR(TakeAbiStatus(shared_.functions->event_record(event.get(), stream_)));
    marked_.push_back(Marked{sequence, event});
    are_many = marked_.size() % kMarksBetweenPolls == 0;
  }
  if (are_many) Poll();  // in a step of many iterations, no other caller may poll for a long time
  return event;
}

StatusOr<EventRef> DeviceStream::EventAt(const StreamPoint& point) {
  if (shared_.progress->HasPassed(point)) return EventRef();
  {
    absl::MutexLock lock(&mutex_);
    for (const Marked& marked : marked_) {
      if (marked.sequence >= point.sequence) return marked.event;
    }
  }
  return Mark();
}

Status DeviceStream::Wait(const EventRef& event) {
  if (event == nullptr) return absl::OkStatus();
  return TakeAbiStatus(shared_.functions->stream_wait_event(stream_, event.get()));
}

Status DeviceStream::CallAfter(std::function<void()> call) {
  if (shared_.functions->stream_host_fn == nullptr) {
    MS_ASSIGN_OR_RETURN(EventRef event, Mark());
    shared_.poller->CallAfter(number_, std::move(event), std::move(call));
    return absl::OkStatus();
  }
  auto owned = std::make_unique<std::function<void()>>(std::move(call));
  const auto run = [](void* user) {
    const std::unique_ptr<std::function<void()>> taken(static_cast<std::function<void()>*>(user));
    (*taken)();
  };
  MS_RETURN_IF_ERROR(TakeAbiStatus(shared_.functions->stream_host_fn(stream_, run, owned.get())));
  owned.release();
  return absl::OkStatus();
}

void DeviceStream::MarkAsked() {
  if (stream_ != nullptr && is_asked_.load()) Mark().IgnoreError();
}

// If an event cannot be queried, its mark stays, and memory that waits for it stays unused.
void DeviceStream::Poll() {
  std::vector<Marked> passed;  // given back without the lock
  absl::MutexLock lock(&mutex_);
  while (!marked_.empty()) {
    uint8_t done = 0;
    const Status asked =
        TakeAbiStatus(shared_.functions->event_query(marked_.front().event.get(), &done));
    if (!asked.ok() || done == 0) break;
    shared_.progress->Pass({number_, marked_.front().sequence});
    passed.push_back(std::move(marked_.front()));
    marked_.pop_front();
  }
}

Status DeviceStream::Query(bool* idle) {
  uint8_t is_idle = 0;
  MS_RETURN_IF_ERROR(TakeAbiStatus(shared_.functions->stream_query(stream_, &is_idle)));
  *idle = is_idle != 0;
  return absl::OkStatus();
}

Status DeviceStream::Sync() { return TakeAbiStatus(shared_.functions->stream_sync(stream_)); }

}  // namespace millstream
