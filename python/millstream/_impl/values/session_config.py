"""The options of sessions and imports, as they cross to the runtime."""

from __future__ import annotations

from typing import Any

from millstream._impl import protos


def config_bytes(config: Any) -> bytes:
    """The bytes of a ``ConfigProto``; none for None."""
    if config is None:
        return b""
    if not isinstance(config, protos.message_class("ConfigProto")):
        raise TypeError(f"config: expected a tf.ConfigProto, got {config!r}")
    return config.SerializeToString()
