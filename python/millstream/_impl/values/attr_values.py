"""Values of attributes, read from ``AttrValue`` bytes."""

from __future__ import annotations

from typing import Any

from millstream._impl import protos
from millstream._impl.values import dtypes


def decode(data: bytes) -> Any:
    """The Python value of an attribute: number, bytes, `DType`, message, or list of those."""
    value = protos.message_class("AttrValue").FromString(data)
    field = value.WhichOneof("value")
    if field is None:
        return None
    if field != "list":
        return _scalar(field, getattr(value, field))
    for name in ("s", "i", "f", "b", "type", "shape", "tensor", "func"):
        items = getattr(value.list, name)
        if len(items) > 0:
            return [_scalar(name, item) for item in items]
    return []


def _scalar(field: str, value: Any) -> Any:
    return dtypes.of_number(value) if field == "type" else value
