// What the runtime asks about a device, instead of its type's name.
#ifndef MILLSTREAM_CORE_DEVICE_DEVICE_TRAITS_H_
#define MILLSTREAM_CORE_DEVICE_DEVICE_TRAITS_H_

namespace millstream {

struct DeviceTraits {
  // Its kernels read and write host memory. Else tensors are copied to its memory and from it.
  bool host_memory = false;
  // A kernel has ended when its call returns. Else it may go on in a stream of the device.
  bool runs_on_callers_thread = false;
  // It is of the type that every session has: feeds and fetches are there, other devices are
  // preferred to it, and it may be split into several logical devices.
  bool is_default = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_TRAITS_H_
