// The devices of a session.
#ifndef MILLSTREAM_CORE_DEVICE_DEVICE_H_
#define MILLSTREAM_CORE_DEVICE_DEVICE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/device/device_memory.h"
#include "core/device/device_set.h"
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
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // What placement and partition see of it.
  const DeviceDescription& description() const { return description_; }
  // "/job:localhost/replica:0/task:0/device:CPU:0"
  const std::string& name() const { return description_.name; }
  const std::string& type() const { return description_.type(); }
  const DeviceTraits& traits() const { return description_.traits; }
  // Bytes that it may use, as the plugin told; 0: not known.
  int64_t memory_limit() const { return description_.memory_limit; }
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

  const Owner owner_;
  const std::unique_ptr<DeviceMemory> memory_;
  const DeviceDescription description_;
  KernelCache kernels_;  // goes first: kernels may have memory there
};

// The task whose devices a session has that belongs to no cluster.
inline constexpr char kLocalTask[] = "/job:localhost/replica:0/task:0";

// In a fixed order: by type as plugins registered them, then by index. Never empty.
using DeviceList = std::vector<std::unique_ptr<Device>>;

// The devices that the loaded plugins offer. `counts` bounds, and for the default type (CPU) may
// raise, how many there are of a type (ConfigProto.device_count). NOT_FOUND, with the reasons of
// plugins that failed, when no device is of the default type. A device of another type that cannot
// be created is left out, and the reason is recorded with the loader. The others keep their names.
// `task` begins the names. REQUIRES: it names a job, a replica and a task.
StatusOr<DeviceList> CreateDevices(const std::map<std::string, int>& counts,
                                   absl::string_view task = kLocalTask);

// The descriptions of devices of this task, in the order of the list, and which of them are peers.
DeviceSet Describe(const DeviceList& devices);

// For each device of `all` the one of `own` that has its name; null where there is none, as for
// devices of other tasks. The pointers borrow from `own`.
std::vector<Device*> FindOwn(const DeviceSet& all, const DeviceList& own);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_H_
