"""Plugins: the shared objects that bring kernels and devices.

They are looked for when the first session is made: where ``MILLSTREAM_PLUGIN_PATH`` says, in what
the entry points of the group ``millstream.plugins`` name, and beside the library itself. An entry
point is a function without arguments that returns the path of a file or folder, or a list of such.
``MILLSTREAM_PLUGINS=a,b`` leaves out all plugins but those (``none``: all). The command
``millstream plugins`` prints what `list_plugins` gives.

A plugin that brings ops of its own is loaded by `load_plugin` before graphs with them are built.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from types import ModuleType
from typing import Any

from millstream import _runtime
from millstream._impl.base import errors, package
from millstream._impl.base.public import public
from millstream._impl.graph import op_defs, op_functions

_GROUP = "millstream.plugins"


@public("plugins.PluginDevice")
@dataclasses.dataclass(frozen=True)
class PluginDevice:
    """A device that a plugin found.

    Parameters
    ----------
    type
        Such as ``"CPU"``; the type in device names.
    name, vendor, arch
        What the plugin says of it.
    ordinal
        Its number among the plugin's devices.
    memory
        In bytes.
    numa
        The nearest of the host's nodes of memory; -1 if it is not known.
    """

    type: str
    name: str
    vendor: str
    arch: str
    ordinal: int
    memory: int
    numa: int = -1


@public("plugins.PluginInfo")
@dataclasses.dataclass(frozen=True)
class PluginInfo:
    """The state of one file, or of an entry of the search path without a plugin.

    Parameters
    ----------
    path
        The file.
    origin
        Who named it: ``"explicit"``, ``"user path"``, ``"package"`` or ``"installed"``.
    name, family
        Of its note; of one family one file is loaded. Empty when it could not be read.
    vendor, version
        What it says of itself, once it was opened.
    state
        ``"READY"``; ``"READY_NO_DEVICE"``, its kernels can be used; ``"SHADOWED"``, another file of
        its family was chosen or this machine cannot run it; ``"DISABLED"`` by the user;
        ``"REJECTED"`` before it was opened; ``"FAILED"`` afterwards; ``"FOUND"``.
    stage
        How far it came, ``"done"`` for all the way.
    code, text
        Why it is not ready: one of the numbers of `millstream.errors`, and a sentence.
    kernels
        How many it has that can be used.
    kernels_skipped, skipped
        How many this version of Millstream cannot take, and why: a sentence for each kernel, op or
        gradient that was skipped.
    ties
        A sentence for each two kernels of one priority for the same nodes, with which one serves.
    ops
        Names of the ops that it registered.
    devices
        What it found, if it is ready.
    built_abi, needed_abi
        Versions of the plugin interface: what it was compiled with, and the least that it needs.
    rank
        Of the files of one family that can run, the one of the highest rank is loaded.
    cpu
        The instruction sets that it needs beyond those of any x86-64 processor.
    """

    path: str
    origin: str
    name: str
    family: str
    vendor: str
    version: str
    state: str
    stage: str
    code: int
    text: str
    kernels: int
    devices: tuple[PluginDevice, ...]
    built_abi: str = ""
    needed_abi: str = ""
    rank: int = 0
    cpu: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    kernels_skipped: int = 0
    skipped: tuple[str, ...] = ()
    ties: tuple[str, ...] = ()


@public("plugins.load_plugin")
def load_plugin(path: str | os.PathLike[str], options: dict[str, str] | None = None) -> ModuleType:
    """Load one plugin now, before those of the search path.

    Loading it again gives its functions again.

    Parameters
    ----------
    path
        The shared object.
    options
        Names and values for the plugin.

    Returns
    -------
    module
        A function for each op that the plugin brings, named as those of the package are:
        ``AcmeCube`` is ``acme_cube``.

    Raises
    ------
    TypeError
        An argument is of another type.
    millstream.errors.OpError
        The plugin cannot be loaded; the message has the path and the reason, and nothing of it is
        registered.
    """
    file = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(file, str):
        raise TypeError(f"path: expected a string or path, got {path!r}")
    pairs = list((options or {}).items())
    for name, value in pairs:
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"options: expected strings, got {name!r}: {value!r}")
    ops = json.loads(_call(_runtime.plugin_load, file, pairs))
    op_defs.forget()
    return op_functions.module_of(os.path.basename(file), ops)


@public("plugins.get_include")
def get_include() -> str:
    """The include folder for the compiler of plugins.

    Returns
    -------
    str
        The folder in which ``millstream/plugin.h`` lies, with the headers for C++ beside it.

    Examples
    --------
    >>> from millstream import plugins
    >>> os.path.exists(os.path.join(plugins.get_include(), "millstream", "plugin.h"))
    True
    """
    return os.path.join(package.FOLDER, "include")


@public("plugins.list_plugins")
def list_plugins() -> list[PluginInfo]:
    """All plugin files that were found so far, and their states.

    Loaded plugins are asked for their devices. Before the first session only what `load_plugin`
    loaded is there; `load_installed` does what the first session does.

    Returns
    -------
    list of PluginInfo
        In the order in which the files were found.

    Examples
    --------
    >>> from millstream import plugins
    >>> plugins.load_installed()
    >>> {device.type for plugin in plugins.list_plugins() for device in plugin.devices}
    {'CPU'}
    """
    return [_plugin_info(record) for record in json.loads(_runtime.plugin_list())]


def reason_of(plugin: PluginInfo) -> str:
    """Why a plugin is not ready, without its path.

    Parameters
    ----------
    plugin
        What became of it.

    Returns
    -------
    str
        Its text; empty when it is ready.
    """
    reason = plugin.text.replace(f"plugin {plugin.path} ", "")
    return reason.replace(f"plugin {plugin.path}: ", "").replace(f"{plugin.path}: ", "")


@public("plugins.load_installed")
def load_installed() -> None:
    """Load the plugins of the search path, as the first session does.

    Raises
    ------
    millstream.errors.OpError
        An entry of ``MILLSTREAM_PLUGIN_PATH`` cannot be read, or, where
        ``MILLSTREAM_PLUGIN_STRICT=1``, a plugin failed.
    """
    find_packages()
    _call(_runtime.plugin_load_installed)


@public("plugins.shutdown")
def shutdown() -> None:
    """Shut all plugins down: no session can be made afterwards.

    There is no need to call it before the process ends.

    Raises
    ------
    millstream.errors.FailedPreconditionError
        There is a session; one that is closed but still referred to counts.
    """
    _call(_runtime.plugin_shutdown)


@functools.cache
def find_packages() -> None:
    """Ask the installed packages, once, where their plugins are. Errors are listed as records."""
    # Slow to import, and not needed before the first session.
    import importlib.metadata  # lazy: takes long to load

    for entry_point in importlib.metadata.entry_points(group=_GROUP):
        package = f"entry point {entry_point.name} = {entry_point.value}"
        try:
            for path in _paths_of(entry_point.load()()):
                _runtime.plugin_add_path(path)
        # It is code of strangers: whatever it raises, our user's program goes on.
        except Exception as error:
            _runtime.plugin_add_error(package, f"{type(error).__name__}: {error}")


def _paths_of(result: Any) -> list[str]:
    paths = [result] if isinstance(result, (str, os.PathLike)) else list(result)
    for path in paths:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"expected paths, got {path!r}")
    return [os.fspath(path) for path in paths]


def _plugin_info(record: dict[str, Any]) -> PluginInfo:
    devices = tuple(PluginDevice(**device) for device in record.pop("devices"))
    for name in ("cpu", "ops", "skipped", "ties"):
        record[name] = tuple(record.get(name, ()))
    return PluginInfo(devices=devices, **record)


def _call(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except _runtime.StatusError as error:
        code, message = error.args[:2]
        raise errors.CLASSES[code](None, None, message, code) from None
