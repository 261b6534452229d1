// An ACME device: memory of its own, which ends, and streams that do their work later, in order.
// What each function must do is said at MS_DeviceApi in millstream/plugin.h.
#ifndef MILLSTREAM_DEVICE_PLUGINS_TEMPLATE_DEVICE_H_
#define MILLSTREAM_DEVICE_PLUGINS_TEMPLATE_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "millstream/plugin.hpp"
#include "queue.h"

namespace acme {

inline constexpr char kDeviceType[] = "ACME";
// Every block starts at a multiple of this.
inline constexpr uint64_t kAlignment = 64;

class Device;
class Event;

// Any thread may call it, and the other two.
class Stream {
 public:
  explicit Stream(Device* device);
  ~Stream();  // finishes what was enqueued
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Copies and kernels. What fails in the stream's thread loses the device.
  ms::Status Enqueue(std::function<void()> work);
  Place End() const { return {queue_, queue_->End()}; }

  void* native() { return this; }
  ms::Status Query(bool* idle);
  ms::Status Sync();
  ms::Status Wait(Event& event);
  ms::Status Copy(const MS_MemRef& to, const MS_MemRef& from, uint64_t bytes);
  ms::Status CallHost(void (*function)(void*), void* user);

 private:
  Device* const device_;
  const std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
};

// One that was never recorded is done.
class Event {
 public:
  ms::Status Record(Stream& stream);
  ms::Status Query(bool* done);
  ms::Status Sync();
  Place place() const;

 private:
  mutable std::mutex mutex_;  // guards what follows
  Place place_;
};

// One logical device.
class Device {
 public:
  using Stream = acme::Stream;
  using Event = acme::Event;

  Device(uint32_t ordinal, uint64_t limit) : ordinal_(ordinal), limit_(limit) {}

  ms::Status Allocate(uint32_t space, uint64_t bytes, uint64_t alignment, MS_MemRef* out);
  void Free(const MS_MemRef& block);
  ms::Status MemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes);
  void FillStats(MS_MemStats* stats);

  ms::Status CreateStream(uint32_t role, int32_t priority, std::unique_ptr<Stream>* out);
  ms::Status CreateEvent(uint32_t flags, std::unique_ptr<Event>* out);
  ms::Status Sync();

  // OK, or for ever why the device is lost.
  ms::Status Error() const;
  void Lose(const std::string& why);

 private:
  friend class acme::Stream;
  const uint32_t ordinal_;
  const uint64_t limit_;
  mutable std::mutex mutex_;  // guards what follows
  uint64_t in_use_ = 0;
  std::set<Stream*> streams_;
  std::string lost_;
};

// Enqueues a kernel's work. It may keep addresses of the frame's tensors, whose memory stays until
// the stream has come this far; of shapes and host arguments, which end with Compute, it has
// copies.
inline ms::Status Launch(const ms::Frame& frame, std::function<void()> work) {
  return reinterpret_cast<Stream*>(frame.raw()->stream)->Enqueue(std::move(work));
}

}  // namespace acme

#endif  // MILLSTREAM_DEVICE_PLUGINS_TEMPLATE_DEVICE_H_
