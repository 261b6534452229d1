#include "device_plugins/sim/event.h"

#include "device_plugins/sim/device.h"

namespace millstream::sim {

ms::Status Event::Query(bool* done) const {
  std::unique_lock<std::mutex> lock(StateMutex());
  // Of a lost device it will be done in a moment; the caller is told once nothing runs any more.
  if (device_->lost()) return Wait(&lock);
  *done = latest_ == nullptr || latest_->done;
  return ms::Status();
}

ms::Status Event::Sync() const {
  std::unique_lock<std::mutex> lock(StateMutex());
  return Wait(&lock);
}

ms::Status Event::Wait(std::unique_lock<std::mutex>* lock) const {
  const std::shared_ptr<Record> record = latest_;
  if (record != nullptr) record->changed.wait(*lock, [&record] { return record->done; });
  return device_->LostStatus();
}

ms::Status Event::Elapsed(const Event& from, const Event& to, uint64_t* ns) {
  const std::lock_guard<std::mutex> lock(StateMutex());
  for (const Event* event : {&from, &to}) {
    MS_TRY(event->device_->LostStatus());
    if (event->latest_ == nullptr || !event->latest_->done) {
      return ms::Status(MS_FAILED_PRECONDITION,
                        ms::StrCat(event->device_->name(), ": time is asked of an event that is ",
                                   event->latest_ == nullptr ? "not recorded" : "not done"));
    }
  }
  const int64_t elapsed = to.latest_->time_ns - from.latest_->time_ns;
  *ns = elapsed > 0 ? static_cast<uint64_t>(elapsed) : 0;
  return ms::Status();
}

}  // namespace millstream::sim
