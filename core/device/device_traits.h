// The properties of a device. The runtime tests these and never the name of the type.
#ifndef MILLSTREAM_CORE_DEVICE_DEVICE_TRAITS_H_
#define MILLSTREAM_CORE_DEVICE_DEVICE_TRAITS_H_

namespace millstream {

struct DeviceTraits {
  // Kernels read and write host memory. False: tensors are copied to and from the device's memory.
  bool host_memory = false;
  // A kernel has ended when its call returns. False: it may continue on a stream of the device.
  bool runs_on_callers_thread = false;
  // The device is of the type that every session has (CPU). Feeds and fetches are on it, placement
  // prefers other devices, and it may be split into several logical devices.
  bool is_default = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_TRAITS_H_
