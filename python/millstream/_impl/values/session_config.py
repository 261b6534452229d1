"""The options of sessions and imports, as they cross to the runtime."""

from __future__ import annotations

from typing import Any

from millstream._impl import protos

# Fields of the ``ConfigProto`` of sessions that are made without one; `tf.config` sets them.
default_options: dict[str, bool] = {}


def session_bytes(config: Any) -> bytes:
    """The bytes of a session's ``ConfigProto``, which the default options stand for when None."""
    if config is None and default_options:
        config = protos.message_class("ConfigProto")(**default_options)
    return config_bytes(config)


def config_bytes(config: Any) -> bytes:
    """The bytes of a ``ConfigProto``; none for None."""
    if config is None:
        return b""
    if not isinstance(config, protos.message_class("ConfigProto")):
        raise TypeError(f"config: expected a tf.ConfigProto, got {config!r}")
    return config.SerializeToString()
