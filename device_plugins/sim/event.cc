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

}  // namespace millstream::sim
