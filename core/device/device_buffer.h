// Buffers in a device's memory.
#ifndef MILLSTREAM_CORE_DEVICE_DEVICE_BUFFER_H_
#define MILLSTREAM_CORE_DEVICE_DEVICE_BUFFER_H_

#include <cstddef>
#include <cstdint>

#include "framework/buffer.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

class DeviceMemory;

// All buffers of MemorySpace::kDevice are of this class.
class DeviceBuffer : public Buffer {
 public:
  DeviceMemory* memory() const { return memory_; }
  int32_t dlpack_device_type() const override;
  Status AwaitWritten() const override;

 protected:
  // `place` as the plugin named it. Linear memory is known by its address.
  DeviceBuffer(DeviceMemory* memory, const MS_MemRef& place, bool is_opaque, size_t size,
               bool writable)
      : Buffer(is_opaque ? place.base : static_cast<char*>(place.base) + place.offset,
               is_opaque ? place.offset : 0, is_opaque, size, writable, place.device_index),
        memory_(memory) {}

 private:
  DeviceMemory* const memory_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_BUFFER_H_
