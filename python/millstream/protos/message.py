"""The base of message classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from millstream import _runtime, errors
from millstream.protos import wire
from millstream.protos.containers import MapField, RepeatedMessage, RepeatedScalar
from millstream.protos.descriptors import Descriptor, FieldDescriptor
from millstream.protos.fields import Field


class DecodeError(ValueError):
    """Bytes or text that are no message of the type."""


class Message:
    """A message with named fields, as Python's protobuf classes have them.

    Fields are attributes. A message within a message is there when it is first asked for, and
    counts as set once something in it is. Classes are made by `message_class`.

    Parameters
    ----------
    values
        Fields by name; None leaves one unset. Messages are copied, dictionaries fill them.
    """

    __slots__ = ("_is_set", "_parent", "_unknown", "_values")

    _by_name: ClassVar[dict[str, Field]]
    _by_number: ClassVar[dict[int, Field]]
    _message_name: ClassVar[str]
    DESCRIPTOR: ClassVar[Descriptor]

    def __init__(self, **values: Any) -> None:
        object.__setattr__(self, "_values", {})
        object.__setattr__(self, "_unknown", [])
        object.__setattr__(self, "_parent", None)
        object.__setattr__(self, "_is_set", False)
        for name, value in values.items():
            if value is not None:
                self._assign(self._field(name), value)

    # ---- Fields ----

    @classmethod
    def _field(cls, name: str) -> Field:
        field = cls._by_name.get(name)
        if field is None:
            raise ValueError(f"{cls._message_name} has no field {name!r}")
        return field

    def _assign(self, field: Field, value: Any) -> None:
        """Sets a field as a keyword argument does."""
        if field.is_map:
            self._merge_map(field, value)
        elif field.is_repeated:
            self._extend(field, value)
        elif field.message is None:
            setattr(self, field.name, value)
        elif isinstance(value, dict):
            target = getattr(self, field.name)
            target.SetInParent()
            target.MergeFrom(type(target)(**value))
        else:
            target = getattr(self, field.name)
            if type(value) is not type(target):
                raise TypeError(
                    f"field {field.name!r}: expected a {target._message_name} or a dictionary, "
                    f"got {value!r}"
                )
            target.CopyFrom(value)

    def _extend(self, field: Field, value: Any) -> None:
        target = getattr(self, field.name)
        if not isinstance(value, Iterable) or isinstance(value, (str, bytes)):
            raise TypeError(f"field {field.name!r}: expected a list, got {value!r}")
        if field.message is None:
            target.extend(value)
            return
        for item in value:
            if isinstance(item, dict):
                target.add(**item)
            else:
                target.append(item)

    def _merge_map(self, field: Field, value: Any) -> None:
        target = getattr(self, field.name)
        if not isinstance(value, Mapping):
            raise TypeError(f"field {field.name!r}: expected a dictionary, got {value!r}")
        for key, item in value.items():
            if not target.holds_messages:
                target[key] = item
            elif isinstance(item, Message):
                target[key].CopyFrom(item)
            elif isinstance(item, dict):
                target[key].MergeFrom(type(target[key])(**item))
            else:
                raise TypeError(
                    f"field {field.name!r}: expected messages or dictionaries, got {item!r}"
                )

    def __getattr__(self, name: str) -> Any:
        field = type(self)._by_name.get(name)
        if field is None:
            raise AttributeError(f"{self._message_name} has no field {name!r}")
        values = self._values
        found = values.get(name)
        if found is not None:
            return found
        if not (field.is_map or field.is_repeated or field.message is not None):
            return field.default
        made = self._make_container(field)
        values[name] = made
        return made

    def _make_container(self, field: Field) -> Any:
        from millstream.protos.registry import message_class

        if field.is_map:
            entry = message_class(field.message or "")
            value = entry._by_name["value"]
            make = None if value.message is None else message_class(value.message)
            return MapField(entry._by_name["key"], value, make, self._touch)
        if field.is_repeated and field.message is None:
            return RepeatedScalar(field, self._touch)
        inner = message_class(field.message or "")
        if field.is_repeated:
            return RepeatedMessage(inner, self._touch)
        made = inner()
        object.__setattr__(made, "_parent", (self, field))
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        field = type(self)._by_name.get(name)
        if field is None:
            raise AttributeError(f"{self._message_name} has no field {name!r}")
        if field.is_map or field.is_repeated or field.message is not None:
            raise AttributeError(f"the field {name!r} is changed in place, not assigned")
        self._leave_oneof(field)
        self._values[name] = field.checked(value)
        self._touch()

    def _touch(self) -> None:
        """Counts as set from now on, and so do the messages that it is in."""
        if self._is_set:
            return
        object.__setattr__(self, "_is_set", True)
        if self._parent is not None:
            parent, field = self._parent
            parent._leave_oneof(field)
            parent._values[field.name] = self
            parent._touch()

    def _leave_oneof(self, chosen: Field) -> None:
        if chosen.oneof is None:
            return
        for name in list(self._values):
            field = self._by_name[name]
            if field.oneof == chosen.oneof and field is not chosen:
                self._forget(name)

    def _forget(self, name: str) -> None:
        dropped = self._values.pop(name, None)
        if isinstance(dropped, Message):
            object.__setattr__(dropped, "_parent", None)

    def _has(self, field: Field) -> bool:
        value = self._values.get(field.name)
        if value is None:
            return False
        if field.is_map or field.is_repeated:
            return len(value) > 0
        if field.message is not None:
            return bool(value._is_set)
        return field.presence or value != field.default or _is_negative_zero(value)

    def _set_fields(self) -> list[tuple[Field, Any]]:
        """The fields that are set, with their values, by number."""
        values = self._values
        return [
            (field, values[field.name])
            for field in self._by_number.values()
            if field.name in values and self._has(field)
        ]

    # ---- Protobuf's methods ----

    def HasField(self, field_name: str) -> bool:  # noqa: N802
        """Whether a message, or a field or name of a oneof, is set.

        Raises
        ------
        ValueError
            There is no such field, or it is a list or a number or text outside of a oneof: unset
            ones cannot be told from those at their default.
        """
        if any(field.oneof == field_name for field in self._by_number.values()):
            return self.WhichOneof(field_name) is not None
        field = self._field(field_name)
        if field.is_map or field.is_repeated:
            raise ValueError(f"the field {field_name!r} of {self._message_name} is a list")
        if not field.presence:
            raise ValueError(
                f"the field {field_name!r} of {self._message_name} has no presence: unset is its "
                "default"
            )
        return self._has(field)

    def WhichOneof(self, oneof_group: str) -> str | None:  # noqa: N802
        """The field of a oneof that is set, or None; ValueError when there is no such oneof."""
        members = [f for f in self._by_number.values() if f.oneof == oneof_group]
        if not members:
            raise ValueError(f"{self._message_name} has no oneof {oneof_group!r}")
        return next((field.name for field in members if self._has(field)), None)

    def ListFields(self) -> list[tuple[FieldDescriptor, Any]]:  # noqa: N802
        """The descriptors of the fields that are set, with the values, by number."""
        described = self.DESCRIPTOR.fields_by_number
        return [(described[field.number], value) for field, value in self._set_fields()]

    def ClearField(self, field_name: str) -> None:  # noqa: N802
        """Unset a field, or the field of a oneof that is set."""
        chosen = field_name if field_name in self._by_name else self.WhichOneof(field_name)
        if chosen is not None:
            self._forget(chosen)
        self._touch()

    def Clear(self) -> None:  # noqa: N802
        """Unset every field."""
        for name in list(self._values):
            self._forget(name)
        self._unknown.clear()
        self._touch()

    def SetInParent(self) -> None:  # noqa: N802
        """Count as set, even while empty."""
        self._touch()

    def IsInitialized(self) -> bool:  # noqa: N802
        """Whether all required fields are set: there are none."""
        return True

    def FindInitializationErrors(self) -> list[str]:  # noqa: N802
        """Names of required fields that are not set: none."""
        return []

    def DiscardUnknownFields(self) -> None:  # noqa: N802
        """Forget the fields that were read and have no name, here and in all messages inside."""
        self._unknown.clear()
        for field, value in self._set_fields():
            if field.message is None:
                continue
            if field.is_map:
                inner = [item for item in value.values() if isinstance(item, Message)]
            else:
                inner = list(value) if field.is_repeated else [value]
            for message in inner:
                message.DiscardUnknownFields()

    def MergeFrom(self, other: Message) -> None:  # noqa: N802
        """Take every field that `other` has; lists are appended to."""
        if type(other) is not type(self):
            raise TypeError(f"expected a {self._message_name}, got {type(other).__name__}")
        for field, value in other._set_fields():
            if field.is_map or field.is_repeated:
                target = getattr(self, field.name)
                target.extend(value) if field.is_repeated else target.MergeFrom(value)
            elif field.message is not None:
                target = getattr(self, field.name)
                target.SetInParent()
                target.MergeFrom(value)
            else:
                setattr(self, field.name, value)
        self._unknown.extend(other._unknown)
        self._touch()

    def CopyFrom(self, other: Message) -> None:  # noqa: N802
        """Become a copy of `other`."""
        if other is self:
            return
        if type(other) is not type(self):
            raise TypeError(f"expected a {self._message_name}, got {type(other).__name__}")
        self.Clear()
        self.MergeFrom(other)

    def SerializeToString(self, deterministic: bool = False) -> bytes:  # noqa: N802
        """The message as bytes; maps by key when `deterministic`."""
        parts: list[bytes] = []
        for field, value in self._set_fields():
            _encode(field, value, deterministic, parts)
        parts.extend(self._unknown)
        return b"".join(parts)

    SerializePartialToString = SerializeToString

    def ByteSize(self) -> int:  # noqa: N802
        """How many bytes the message takes."""
        return len(self.SerializeToString())

    def MergeFromString(self, serialized: bytes) -> int:  # noqa: N802
        """Take every field of a message in bytes; DecodeError when it is none of this type."""
        if not isinstance(serialized, (bytes, bytearray, memoryview)):
            raise TypeError(f"serialized: expected bytes, got {serialized!r}")
        data = bytes(serialized)
        try:
            for number, kind, payload, whole in wire.fields(data):
                field = self._by_number.get(number)
                if field is None or not field.accepts(kind):
                    self._unknown.append(whole)
                else:
                    self._decode(field, kind, payload)
        except (wire.TruncatedError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(f"{len(data)} bytes are no {self._message_name}: {error}") from None
        self._touch()
        return len(data)

    def _decode(self, field: Field, kind: int, payload: Any) -> None:
        if field.is_map:
            target = getattr(self, field.name)
            from millstream.protos.registry import message_class

            entry = message_class(field.message or "").FromString(payload)
            target.put(entry.key, entry.value)
        elif field.message is not None:
            target = getattr(self, field.name)
            if field.is_repeated:
                target = target.add()
            target.SetInParent()
            target.MergeFromString(payload)
        elif field.is_repeated:
            getattr(self, field.name).append_read(field.decode_scalar(kind, payload))
        else:
            self._leave_oneof(field)
            self._values[field.name] = field.decode_scalar(kind, payload)[-1]

    def ParseFromString(self, serialized: bytes) -> int:  # noqa: N802
        """Become the message in bytes; DecodeError when it is none of this type."""
        self.Clear()
        return self.MergeFromString(serialized)

    @classmethod
    def FromString(cls, serialized: bytes) -> Any:  # noqa: N802
        """The message in bytes; DecodeError when it is none of this type."""
        message = cls()
        message.MergeFromString(serialized)
        return message

    @classmethod
    def from_text(cls, text: str) -> Any:
        """The message in text; DecodeError says line and column."""
        try:
            return cls.FromString(_runtime.message_parse_text(cls._message_name, text))
        except _runtime.StatusError as error:
            raise DecodeError(error.args[1]) from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message) or type(other) is not type(self):
            return NotImplemented
        return self._set_fields() == other._set_fields() and self._unknown == other._unknown

    __hash__ = None  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._by_name})

    def __str__(self) -> str:
        try:
            return _runtime.message_print_text(self._message_name, self.SerializeToString())
        except _runtime.StatusError as error:
            raise errors.make(None, *error.args) from None

    __repr__ = __str__

    def __deepcopy__(self, memo: Any) -> Any:
        return self.FromString(self.SerializeToString())

    def __reduce__(self) -> Any:
        return _restore, (self._message_name, self.SerializeToString())


def _restore(name: str, data: bytes) -> Any:
    from millstream.protos.registry import message_class

    return message_class(name).FromString(data)


def _is_negative_zero(value: Any) -> bool:
    return isinstance(value, float) and value == 0.0 and str(value) == "-0.0"


def _encode(field: Field, value: Any, deterministic: bool, parts: list[bytes]) -> None:
    if field.is_map:
        keys = sorted(value) if deterministic else list(value)
        for key in keys:
            entry = value._key.encode_scalar(key)
            inner: list[bytes] = [entry]
            _encode_one(value._value, value.get(key), deterministic, inner)
            payload = b"".join(inner)
            parts.append(field.tag(wire.LENGTH_DELIMITED) + wire.encode_delimited(payload))
    elif not field.is_repeated:
        _encode_one(field, value, deterministic, parts)
    elif field.packed and field.message is None:
        _, write, _ = wire.SCALARS[field.type]
        payload = b"".join(write(item) for item in value)
        parts.append(field.tag(wire.LENGTH_DELIMITED) + wire.encode_delimited(payload))
    else:
        for item in value:
            _encode_one(field, item, deterministic, parts)


def _encode_one(field: Field, value: Any, deterministic: bool, parts: list[bytes]) -> None:
    if field.message is None:
        parts.append(field.encode_scalar(value))
    else:
        payload = value.SerializeToString(deterministic)
        parts.append(field.tag(wire.LENGTH_DELIMITED) + wire.encode_delimited(payload))
