// The functions of "ms.device/1" for simulated devices.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_DEVICE_TABLE_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_DEVICE_TABLE_H_

#include "device_plugins/sim/device.h"

namespace millstream::sim {

inline Device* Unwrap(MS_Device* device) { return reinterpret_cast<Device*>(device); }
inline MS_Device* Wrap(Device* device) { return reinterpret_cast<MS_Device*>(device); }
inline Stream* Unwrap(MS_Stream* stream) { return reinterpret_cast<Stream*>(stream); }
inline Event* Unwrap(MS_Event* event) { return reinterpret_cast<Event*>(event); }

// All devices share it; it lives for ever.
const MS_DeviceApi* DeviceTable();

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_DEVICE_TABLE_H_
