// Checks the structs and tables of a plugin before the host uses them.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_CHECK_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_CHECK_H_

#include "framework/plugin/plugin.h"
#include "framework/plugin/preflight.h"
#include "framework/status.h"

namespace millstream {

// Checks the result of the entry point. INVALID_ARGUMENT for a null or misaligned pointer, a wrong
// magic number, a struct shorter than in the first release, or a name that differs from the note;
// FAILED_PRECONDITION if its ABI version does not fit this host.
Status CheckPlugin(const MS_Plugin* plugin, const PluginFile& file);

// The tables of a plugin that the host uses. Null: the plugin does not have it.
struct PluginTables {
  const MS_DevicesApi* devices = nullptr;
  const MS_OptionsApi* options = nullptr;
  const MS_ProfilerApi* profiler = nullptr;
  const MS_CaptureApi* capture = nullptr;
};

// Asks for each table once. Sets *tables, unless it is null, to those that were checked: asked
// again, a plugin might give others. UNIMPLEMENTED names the first mandatory function of the
// plugin, or of one of its tables, that is null or beyond the end of the table, such as
// "ms.device/1.copy_async"; INVALID_ARGUMENT for a table of another interface than the one that was
// asked for. A plugin whose note declares devices must have ms.devices/1. REQUIRES: CheckPlugin
// passed.
Status CheckMandatoryFunctions(const MS_Plugin* plugin, PluginTables* tables = nullptr);

// The same for the functions of one device.
Status CheckDeviceTable(const MS_DeviceApi* table);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_CHECK_H_
