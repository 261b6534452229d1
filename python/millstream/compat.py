"""Names that programs use to run under several versions of Python and of the API.

``millstream.compat.v1`` is the package itself.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from millstream.missing_names import module_getattr as _module_getattr

__all__ = ["disable_v2_behavior"]

v1 = sys.modules["millstream"]
sys.modules["millstream.compat.v1"] = v1


def disable_v2_behavior() -> None:
    """Do nothing: graphs are all there is."""


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """The bytes of a text or of bytes; TypeError for anything else."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    raise TypeError(f"bytes_or_text: expected text or bytes, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """The text of bytes or of a text; TypeError for anything else."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text).decode(encoding)
    raise TypeError(f"bytes_or_text: expected text or bytes, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any) -> str:
    """The text of anything."""
    return as_text(value) if isinstance(value, (bytes, bytearray)) else str(value)


if not TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__)
