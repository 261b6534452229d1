// An ACME device: limited memory of its own, and streams that run work asynchronously, in order.
// MS_DeviceApi in millstream/plugin.h has the contract of each function.
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
// The alignment of every block, in bytes.
inline constexpr uint64_t kAlignment = 64;

class Device;
class Event;

// Thread-safe, as Event and Device are.
class Stream {
 public:
  explicit Stream(Device* device);
  ~Stream();  // finishes what was enqueued
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Enqueues a copy or a kernel. If work fails on the stream's thread, the device is lost.
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

// An event that was never recorded is done.
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

  // Returns OK, or from the loss of the device on always the reason.
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

// Enqueues the work of a kernel. The work may use addresses of the frame's tensors: their memory is
// valid until the stream has completed the work. It must copy shapes and host arguments, which are
// valid until Compute returns.
inline ms::Status Launch(const ms::Frame& frame, std::function<void()> work) {
  return reinterpret_cast<Stream*>(frame.raw()->stream)->Enqueue(std::move(work));
}

}  // namespace acme

#endif  // MILLSTREAM_DEVICE_PLUGINS_TEMPLATE_DEVICE_H_
