// The devices of a session.
#ifndef MILLSTREAM_CORE_DEVICE_DEVICE_H_
#define MILLSTREAM_CORE_DEVICE_DEVICE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/device/device_memory.h"
#include "core/device/device_name.h"
#include "core/device/device_traits.h"
#include "core/device/kernel_instance.h"
#include "framework/plugin/loader.h"
#include "framework/status.h"

namespace millstream {

// A logical device: one of possibly several that a plugin made of the same hardware. Constant after
// creation but for its kernels. Thread-safe.
class Device {
 public:
  // `memory` null: it works in the host's.
  Device(std::string name, OpenDevice open, std::unique_ptr<DeviceMemory> memory);
  // A device of kernels alone, which no plugin opened: for tests of placement and partition.
  Device(std::string name, DeviceTraits traits);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // "/job:localhost/replica:0/task:0/device:CPU:0"
  const std::string& name() const { return name_; }
  const DeviceName& parsed_name() const { return parsed_name_; }
  const std::string& type() const { return *parsed_name_.type; }
  const DeviceTraits& traits() const { return traits_; }
  // Bytes that it may use, as the plugin told; 0: not known.
  int64_t memory_limit() const { return memory_limit_; }
  // The kernels of nodes that run here.
  KernelCache* kernels() { return &kernels_; }
  // Its own memory and its streams; null: it works in the host's memory, and at once.
  DeviceMemory* memory() const { return memory_.get(); }

 private:
  // Gives the device back to its plugin, once nothing of it is left.
  struct Owner {
    ~Owner();
    const OpenDevice open;
  };

  const std::string name_;
  const DeviceName parsed_name_;
  const Owner owner_;
  int64_t memory_limit_ = 0;
  const std::unique_ptr<DeviceMemory> memory_;
  const DeviceTraits traits_;
  KernelCache kernels_;  // goes first: kernels may have memory there
};

// In a fixed order: by type as plugins registered them, then by index. Never empty.
using DeviceList = std::vector<std::unique_ptr<Device>>;

// The devices that the loaded plugins offer. `counts` bounds, and for the default type (CPU) may
// raise, how many there are of a type (ConfigProto.device_count). NOT_FOUND, with the reasons of
// plugins that failed, when no device is of the default type. A device of another type that cannot
// be created is left out, and the reason is recorded with the loader. The others keep their names.
StatusOr<DeviceList> CreateDevices(const std::map<std::string, int>& counts);

// Their names, one after the other, for messages.
std::string DeviceNames(const DeviceList& devices);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_H_
