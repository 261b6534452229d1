"""The headers that plugins see, which are installed for those that are built elsewhere."""

PLUGIN_HEADERS = [
    "host_device.hpp",
    "kernel_extensions.h",
    "option_schema.hpp",
    "plugin.h",
    "plugin.hpp",
    "plugin_bind.hpp",
    "plugin_device.hpp",
    "plugin_entry.hpp",
    "plugin_execution.hpp",
    "plugin_ops.hpp",
    "plugin_resource.hpp",
    "plugin_status.hpp",
    "plugin_tensor.hpp",
]
