"""Fields of messages: their types, checks and defaults."""

from __future__ import annotations

from typing import Any

from millstream._impl.protos import wire

_RANGES = {
    "int32": (-(1 << 31), (1 << 31) - 1),
    "sint32": (-(1 << 31), (1 << 31) - 1),
    "sfixed32": (-(1 << 31), (1 << 31) - 1),
    "enum": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "fixed32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "sint64": (-(1 << 63), (1 << 63) - 1),
    "sfixed64": (-(1 << 63), (1 << 63) - 1),
    "uint64": (0, (1 << 64) - 1),
    "fixed64": (0, (1 << 64) - 1),
}
# Values of unset fields, where they are not 0.
DEFAULTS: dict[str, Any] = {
    "string": "",
    "bytes": b"",
    "bool": False,
    "double": 0.0,
    "float": 0.0,
}

# Bytes of memory that values take in Python, at most: a number and where a list points to it, a
# text with nothing in it, each encoded byte of a text, and of a list of numbers.
_NUMBER = 40
_TEXT = 72
_TEXT_BYTE = 1
_PACKED_BYTE = 24


class Field:
    """One field of a message.

    Attributes
    ----------
    name, number
        As in the message's definition.
    type
        "message", "enum", "string", "bytes" or a number type.
    message
        Name of the message type, or None.
    enum_name, enum
        Name of the enum type and its values by name, or None.
    oneof
        Name of the oneof that it is in, or None.
    presence
        Whether a scalar that is set to its default counts as set.
    index
        Its place among the fields of its message.
    kinds
        The wire types that its payload may have; with others it counts as unknown.
    rivals
        The other fields of its oneof.
    inner
        The class of its messages, once it was asked for, or None.
    """

    __slots__ = (
        "enum",
        "enum_name",
        "index",
        "inner",
        "is_map",
        "is_repeated",
        "kinds",
        "message",
        "name",
        "number",
        "oneof",
        "packed",
        "presence",
        "rivals",
        "type",
    )

    def __init__(
        self, description: dict[str, Any], enums: dict[str, dict[str, int]], index: int
    ) -> None:
        self.index = index
        self.rivals: tuple[Field, ...] = ()
        self.inner: Any = None
        self.name: str = description["name"]
        self.number: int = description["number"]
        self.type: str = description["type"]
        self.message: str | None = description.get("message") or None
        self.is_map = bool(description.get("map"))
        self.is_repeated = bool(description.get("repeated")) and not self.is_map
        self.packed = bool(description.get("packed"))
        self.oneof: str | None = description.get("oneof") or None
        self.presence = bool(description.get("presence"))
        self.enum_name: str | None = description.get("enum") or None
        self.enum = None if self.enum_name is None else enums[self.enum_name]
        self.kinds = self._wire_types()

    @property
    def default(self) -> Any:
        """The value of a field that is not set."""
        return DEFAULTS.get(self.type, 0)

    def checked(self, value: Any) -> Any:
        """A scalar value in the field's type.

        Raises
        ------
        TypeError, ValueError
            The value is of another type, or out of range.
        """
        kind = self.type
        if kind == "string":
            if isinstance(value, bytes):
                return value.decode()
            if isinstance(value, str):
                return value
        elif kind == "bytes":
            if isinstance(value, bytes):
                return value
        elif kind in ("double", "float"):
            if hasattr(value, "__float__") and not isinstance(value, (str, bytes)):
                number = float(value)
                return (
                    wire.SCALARS["float"][2](wire.SCALARS["float"][1](number))
                    if kind == "float"
                    else number
                )
        elif kind == "bool":
            if isinstance(value, bool) or hasattr(value, "__index__"):
                return bool(value)
        else:
            return self._checked_integer(value)
        raise TypeError(f"field {self.name!r}: expected {kind}, got {value!r}")

    def _checked_integer(self, value: Any) -> int:
        if self.enum is not None and isinstance(value, str):
            if value not in self.enum:
                raise ValueError(f"field {self.name!r}: no enum value is called {value!r}")
            return self.enum[value]
        if not hasattr(value, "__index__"):
            raise TypeError(f"field {self.name!r}: expected {self.type}, got {value!r}")
        number = int(value)
        least, greatest = _RANGES[self.type]
        if not least <= number <= greatest:
            raise ValueError(f"field {self.name!r}: {number} does not fit {self.type}")
        return number

    def tag(self, kind: int) -> bytes:
        """The bytes before a payload of the wire type."""
        return wire.encode_varint(self.number << 3 | kind)

    def encode_scalar(self, value: Any) -> bytes:
        """One scalar value with its tag."""
        if self.type in ("string", "bytes"):
            payload = value.encode() if self.type == "string" else value
            return self.tag(wire.LENGTH_DELIMITED) + wire.encode_delimited(payload)
        kind, write, _ = wire.SCALARS[self.type]
        return self.tag(kind) + write(value)

    def _wire_types(self) -> tuple[int, ...]:
        if self.type in ("message", "string", "bytes"):
            return (wire.LENGTH_DELIMITED,)
        kind = wire.SCALARS[self.type][0]
        return (kind, wire.LENGTH_DELIMITED) if self.is_repeated else (kind,)

    def decode_scalar(
        self, kind: int, data: bytes, value: int, end: int, budget: wire.Budget
    ) -> Any:
        """A scalar that `wire.fields` found, a list of them where it is packed."""
        if kind == wire.VARINT:
            budget.take(_NUMBER)
            return wire.SCALARS[self.type][2](value)
        size = end - value
        if self.type in ("string", "bytes"):
            budget.take(_TEXT + _TEXT_BYTE * size)
            return data[value:end].decode() if self.type == "string" else data[value:end]
        wanted, _, read = wire.SCALARS[self.type]
        if kind == wire.LENGTH_DELIMITED:
            budget.take(_PACKED_BYTE * size)
            return wire.decode_packed(wanted, read, data[value:end])
        budget.take(_NUMBER)
        return read(data[value:end])
