// The functions of "ms.devices/1": which simulated devices there are, and their making.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_DEVICE_LIST_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_DEVICE_LIST_H_

#include "device_plugins/sim/switches.h"

namespace millstream::sim {

// What enumerate and device_create go by from now on. Not thread-safe: for init, which runs before
// everything else.
void SetSettings(Settings settings);

// It lives for ever.
const MS_DevicesApi* DevicesTable();

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_DEVICE_LIST_H_
