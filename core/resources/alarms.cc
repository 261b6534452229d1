#include "core/resources/alarms.h"

#include <thread>

#include "framework/steady_time.h"

namespace millstream {

Alarms* Alarms::Global() {
  static auto* const alarms = new Alarms();
  return alarms;
}

uint64_t Alarms::Set(absl::Duration limit, std::function<void()> ring) {
  if (limit > kLongest) return kNone;
  const absl::Time time = SteadyNow() + limit;
  absl::MutexLock lock(&mutex_);
  const uint64_t alarm = ++last_;
  alarms_.emplace(Key(time, alarm), std::move(ring));
  times_.emplace(alarm, time);
  if (!has_thread_) {
    std::thread([this] { Ring(); }).detach();
    has_thread_ = true;
  }
  if (alarms_.begin()->first.second == alarm) changed_.Signal();
  return alarm;
}

void Alarms::Forget(uint64_t alarm) {
  std::function<void()> forgotten;  // freed without the lock
  absl::MutexLock lock(&mutex_);
  const auto time = times_.find(alarm);
  if (time == times_.end()) return;
  const auto found = alarms_.find(Key(time->second, alarm));
  forgotten = std::move(found->second);
  alarms_.erase(found);
  times_.erase(time);
}

void Alarms::Ring() {
  mutex_.Lock();
  for (;;) {
    if (alarms_.empty()) {
      changed_.Wait(&mutex_);
      continue;
    }
    const auto next = alarms_.begin();
    if (SteadyNow() < next->first.first) {
      changed_.WaitUntil(&mutex_, next->first.first);
      continue;
    }
    std::function<void()> ring = std::move(next->second);
    times_.erase(next->first.second);
    alarms_.erase(next);
    mutex_.Unlock();
    ring();
    ring = nullptr;  // what it holds is freed without the lock
    mutex_.Lock();
  }
}

}  // namespace millstream
