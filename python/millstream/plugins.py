"""Plugins: the shared objects that bring kernels and devices."""

import typing as _typing

from millstream._impl.names.missing_names import module_getattr as _module_getattr
from millstream._impl.session.plugins import (
    PluginDevice,
    PluginInfo,
    find_packages,
    get_include,
    list_plugins,
    load_installed,
    load_plugin,
    reason_of,
    shutdown,
)

__all__ = [
    "PluginDevice",
    "PluginInfo",
    "find_packages",
    "get_include",
    "list_plugins",
    "load_installed",
    "load_plugin",
    "reason_of",
    "shutdown",
]

if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__)
