// Buffers in a device's memory.
#ifndef MILLSTREAM_CORE_DEVICE_DEVICE_BUFFER_H_
#define MILLSTREAM_CORE_DEVICE_DEVICE_BUFFER_H_

#include <cstddef>
#include <cstdint>

#include "framework/buffer.h"

namespace millstream {

class DeviceMemory;

// All buffers of MemorySpace::kDevice are of this class.
class DeviceBuffer : public Buffer {
 public:
  DeviceMemory* memory() const { return memory_; }

 protected:
  DeviceBuffer(DeviceMemory* memory, uint32_t ordinal, void* address, size_t size, bool writable)
      : Buffer(address, size, writable, MemorySpace::kDevice, ordinal), memory_(memory) {}

 private:
  DeviceMemory* const memory_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_BUFFER_H_
