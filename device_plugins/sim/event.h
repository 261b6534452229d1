// Events: marks in streams that others wait for.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_EVENT_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_EVENT_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "framework/plugin/plugin.hpp"

namespace millstream::sim {

class Device;
class Stream;

// Guards the state of all devices, streams and events of the plugin, and is held for moments only:
// never while work runs, sleeps or hangs, nor while memory is allocated or copied. It is one lock
// because an event of one device may be awaited on another, and a wait that cannot end must be
// found through any chain of streams and events.
inline std::mutex& StateMutex() {
  static std::mutex mutex;  // without a destructor: threads may run when the process ends
  return mutex;
}

// One recording of an event: who waits for it waits for this one, though the event may have been
// recorded anew since. Guarded by StateMutex().
struct Record {
  std::condition_variable changed;  // done, or a reason for one who waits to give up
  Stream* stream = nullptr;         // that will come to it; null when it is done
  bool done = false;
  int64_t time_ns = 0;  // when it was done
};

// The MS_Event of these tables. An event that was never recorded counts as done: nobody waits for
// it. Thread-safe.
class Event {
 public:
  explicit Event(Device* device) : device_(device) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  Device* device() const { return device_; }
  // The last recording, or null. REQUIRES: StateMutex() is held.
  const std::shared_ptr<Record>& latest() const { return latest_; }
  void set_latest(std::shared_ptr<Record> record) { latest_ = std::move(record); }

  // UNAVAILABLE when the device was lost before it was done.
  ms::Status Query(bool* done) const;
  ms::Status Sync() const;

 private:
  ms::Status Wait(std::unique_lock<std::mutex>* lock) const;

  Device* const device_;
  std::shared_ptr<Record> latest_;  // guarded by StateMutex()
};

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_EVENT_H_
