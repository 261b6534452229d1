// What a plugin must have filled before the host trusts it.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_CHECK_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_CHECK_H_

#include "framework/plugin/plugin.h"
#include "framework/plugin/preflight.h"
#include "framework/status.h"

namespace millstream {

// What the entry point handed over. INVALID_ARGUMENT for a null or misaligned pointer, another
// magic, a struct shorter than the first release's, or a name that is not the note's;
// FAILED_PRECONDITION when its ABI does not fit this host's.
Status CheckPlugin(const MS_Plugin* plugin, const PluginFile& file);

// UNIMPLEMENTED naming the first mandatory function of the plugin, or of a table that it offers,
// that is null or beyond the table's end, such as "ms.device/1.copy_async". A plugin that says it
// has devices must offer ms.devices/1. REQUIRES: CheckPlugin passed.
Status CheckMandatoryFunctions(const MS_Plugin* plugin);

// The same for the functions of one device.
Status CheckDeviceTable(const MS_DeviceApi* table);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_CHECK_H_
