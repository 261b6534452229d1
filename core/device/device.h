// The devices of a session.
#ifndef MILLSTREAM_CORE_DEVICE_DEVICE_H_
#define MILLSTREAM_CORE_DEVICE_DEVICE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "core/device/device_memory.h"
#include "core/device/device_set.h"
#include "core/device/kernel_instance.h"
#include "framework/plugin/loader.h"
#include "framework/status.h"

namespace millstream {

// A logical device. A plugin may create several on the same hardware. Constant after creation,
// except for its kernels. Thread-safe.
class Device {
 public:
  // `memory` null: the device works in host memory.
  Device(std::string name, OpenDevice open, uint32_t ordinal, std::unique_ptr<DeviceMemory> memory);
  // The device `shared` for one more session, which has kernels of its own on it. REQUIRES:
  // `shared` has its own memory and outlives this object, and when this object is destroyed, no
  // work of its kernels is left.
  explicit Device(const Device* shared);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // The part of a device that placement and partition use.
  const DeviceDescription& description() const { return description_; }
  // "/job:localhost/replica:0/task:0/device:CPU:0"
  const std::string& name() const { return description_.name; }
  const std::string& type() const { return description_.type(); }
  const DeviceTraits& traits() const { return description_.traits; }
  // The bytes that it may use, from the plugin; 0: not known.
  int64_t memory_limit() const { return description_.memory_limit; }
  // The kernels of nodes that run here.
  KernelCache* kernels() { return &kernels_; }
  // Its own memory and its streams; null: it works in host memory, without streams.
  DeviceMemory* memory() const { return memory_; }

 private:
  // Destroys the plugin's device; of a device without memory the stream of its kernels, too.
  struct Owner {
    explicit Owner(const OpenDevice& open_device) : open(open_device) {}
    ~Owner();
    void MakeContext(uint32_t ordinal);
    const OpenDevice open;
    MS_DeviceContext context = kNoDevice;
  };

  const std::unique_ptr<Owner> owner_;  // destroyed last; null: another Device has it
  const std::unique_ptr<DeviceMemory> own_memory_;
  DeviceMemory* const memory_;
  const DeviceDescription description_;
  KernelCache kernels_;  // destroyed first: kernels may have memory on the device
};

// The name of the task of a session without a cluster.
inline constexpr char kLocalTask[] = "/job:localhost/replica:0/task:0";

// Devices in a fixed order: types in the order of registration, then by index. Never empty.
using DeviceList = std::vector<std::unique_ptr<Device>>;

// Creates the devices of the loaded plugins. `counts` limits the number of devices of a type
// (ConfigProto.device_count); for the default type (CPU) it may also raise it. The device names
// begin with `task`. NOT_FOUND, with the reasons of plugins that failed, if there is no device of
// the default type. A device of another type that cannot be created is left out, and the loader
// records the reason; the names of the other devices do not change. REQUIRES: `task` names a job, a
// replica and a task.
StatusOr<DeviceList> CreateDevices(const std::map<std::string, int>& counts,
                                   absl::string_view task = kLocalTask);
// The same with devices that `open` gives, by their full names.
using DeviceOpener = absl::FunctionRef<StatusOr<std::unique_ptr<Device>>(const PluginDevice& device,
                                                                         const std::string& name)>;
StatusOr<DeviceList> CreateDevices(const std::map<std::string, int>& counts, absl::string_view task,
                                   DeviceOpener open);
// Opens a device of a plugin.
StatusOr<std::unique_ptr<Device>> OpenLogicalDevice(const PluginDevice& device,
                                                    const std::string& name);

// The descriptions of the devices, in the order of the list, and the pairs of peers.
DeviceSet Describe(const DeviceList& devices);

// For each device of `all`, the device of `own` with the same name; null if there is none, for
// example for devices of other tasks. The pointers borrow from `own`.
std::vector<Device*> FindOwn(const DeviceSet& all, const DeviceList& own);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_H_
