// Checks what a plugin says of a device.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_DEVICE_CHECK_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_DEVICE_CHECK_H_

#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

// INVALID_ARGUMENT for a description that no host could take: null, short, a bad name, a value
// above a bound of plugin_limits.h. UNIMPLEMENTED for flags, spaces, modes and features that this
// host does not know: such a device is left out, and the others are used.
Status CheckDeviceDescription(const MS_DeviceDesc* device);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_DEVICE_CHECK_H_
