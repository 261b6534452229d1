"""The base of message classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from millstream import _runtime
from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.protos import wire
from millstream._impl.protos.containers import MapField, RepeatedMessage, RepeatedScalar
from millstream._impl.protos.descriptors import Descriptor, FieldDescriptor
from millstream._impl.protos.fields import Field
from millstream._impl.protos.pool import message_class

# Bytes of memory that these take at most: a message without its fields, each field that its class
# has, a list with something in it, a map, each of its entries, the first of the unknown fields.
_MESSAGE = 160
_FIELD = 8
_CONTAINER = 168
_MAP_CONTAINER = 272
_ENTRY = 72
_UNKNOWN = 112

_set = object.__setattr__  # past the checks of a message


@public("protos.message.Error")
class Error(Exception):
    """Base of the errors of messages. As in protobuf, it is no ``ValueError``."""


@public("protos.message.DecodeError", "protos.text_format.ParseError")
class DecodeError(Error):
    """Bytes or text that are no message of the type, nest too deep or take too much memory."""


@public("protos.message.Message")
class Message:
    """A message with named fields, as Python's protobuf classes have them.

    Fields are attributes. A message within a message is there when it is first asked for, and
    counts as set once something in it is. Classes are made by `message_class`.

    Parameters
    ----------
    values
        Fields by name; None leaves one unset. Messages are copied, dictionaries fill them.
    """

    # The values by the fields' indices, None where nothing was set or asked for; fields that were
    # read and have no name; the field of a message that this one is in.
    __slots__ = ("_field_within", "_is_set", "_parent", "_unknown", "_values")

    _by_name: ClassVar[dict[str, Field]]
    _by_number: ClassVar[dict[int, Field]]
    _message_name: ClassVar[str]
    DESCRIPTOR: ClassVar[Descriptor]

    def __init__(self, **values: Any) -> None:
        _set(self, "_values", [None] * len(self._by_number))
        _set(self, "_unknown", b"")
        _set(self, "_parent", None)
        _set(self, "_is_set", False)
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
        return self._get(field)

    def _get(self, field: Field) -> Any:
        found = self._values[field.index]
        if found is None:
            if not (field.is_map or field.is_repeated or field.message is not None):
                return field.default
            found = self._values[field.index] = self._make(field)
        return found

    def _make(self, field: Field) -> Any:
        """An empty list, map or message for a field."""
        inner: Any = None if field.message is None else _class_of(field)
        if field.is_map:
            value = inner._by_name["value"]
            make = None if value.message is None else _class_of(value)
            return MapField(inner, make, self)
        if field.is_repeated:
            return RepeatedScalar(field, self) if inner is None else RepeatedMessage(inner, self)
        made = inner()
        _set(made, "_parent", self)
        _set(made, "_field_within", field)
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        field = type(self)._by_name.get(name)
        if field is None:
            raise AttributeError(f"{self._message_name} has no field {name!r}")
        if field.is_map or field.is_repeated or field.message is not None:
            raise AttributeError(f"the field {name!r} is changed in place, not assigned")
        self._leave_oneof(field)
        self._values[field.index] = field.checked(value)
        self._touch()

    def _touch(self) -> None:
        """Counts as set from now on, and so do the messages that it is in."""
        if self._is_set:
            return
        _set(self, "_is_set", True)
        parent = self._parent
        if parent is not None:
            field = self._field_within
            parent._leave_oneof(field)
            parent._values[field.index] = self
            parent._touch()

    def _leave_oneof(self, chosen: Field) -> None:
        for field in chosen.rivals:
            if self._values[field.index] is not None:
                self._forget(field)

    def _forget(self, field: Field) -> None:
        dropped = self._values[field.index]
        self._values[field.index] = None
        if isinstance(dropped, Message):
            _set(dropped, "_parent", None)

    def _has(self, field: Field) -> bool:
        value = self._values[field.index]
        if value is None:
            return False
        if field.is_map or field.is_repeated:
            return len(value) > 0
        if field.message is not None:
            return bool(value._is_set)
        return field.presence or value != field.default or _is_negative_zero(value)

    def _set_fields(self) -> list[tuple[Field, Any]]:
        """The fields that are set, with their values, by number."""
        return [
            (field, value)
            for field, value in zip(self._by_number.values(), self._values, strict=True)
            if value is not None and self._has(field)
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
            self._forget(self._by_name[chosen])
        self._touch()

    def Clear(self) -> None:  # noqa: N802
        """Unset every field."""
        for field in self._by_number.values():
            self._forget(field)
        _set(self, "_unknown", b"")
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
        _set(self, "_unknown", b"")
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
        if other._unknown:
            self._keep_unknown(bytes(other._unknown))
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
        parts.append(self._unknown)
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
            self._read(data, 0, len(data), 0, wire.Budget(len(data)))
        except (wire.TruncatedError, wire.LimitError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(f"{len(data)} bytes are no {self._message_name}: {error}") from None
        return len(data)

    def _read(self, data: bytes, position: int, end: int, depth: int, budget: wire.Budget) -> None:
        """Takes every field of the message between two positions, which is in `depth` others."""
        wire.check_depth(depth)
        budget.take(_MESSAGE + _FIELD * len(self._values))
        self._touch()
        by_number = self._by_number
        for number, kind, value, start, stop in wire.fields(data, position, end, depth):
            field = by_number.get(number)
            if field is None or kind not in field.kinds:
                budget.take((0 if self._unknown else _UNKNOWN) + 2 * (stop - start))
                self._keep_unknown(data[start:stop])
            elif field.is_map:
                self._read_entry(field, data, value, stop, depth + 1, budget)
            elif field.message is not None:
                target = self._container(field, budget)
                target = target.add() if field.is_repeated else target
                target._read(data, value, stop, depth + 1, budget)
            elif field.is_repeated:
                target = self._container(field, budget)
                target.append_read(field.decode_scalar(kind, data, value, stop, budget))
            else:
                self._leave_oneof(field)
                self._values[field.index] = field.decode_scalar(kind, data, value, stop, budget)

    def _read_entry(
        self, field: Field, data: bytes, position: int, end: int, depth: int, budget: wire.Budget
    ) -> None:
        """Takes one entry of a map; where it says nothing, key and value are the defaults."""
        wire.check_depth(depth)
        budget.take(_ENTRY)
        target = self._container(field, budget)
        key, item = target.key_field.default, None
        for number, kind, value, _, stop in wire.fields(data, position, end, depth):
            if number == 1 and kind in target.key_field.kinds:
                key = target.key_field.decode_scalar(kind, data, value, stop, budget)
            elif number == 2 and kind in target.value_field.kinds:
                if target.holds_messages:
                    item = target.make_item() if item is None else item
                    item._read(data, value, stop, depth + 1, budget)
                else:
                    item = target.value_field.decode_scalar(kind, data, value, stop, budget)
        target.put(key, target.make_item() if item is None else item)

    def _container(self, field: Field, budget: wire.Budget) -> Any:
        """The list, map or message of a field, for something to be read into it."""
        if self._values[field.index] is None and (field.is_map or field.is_repeated):
            budget.take(_MAP_CONTAINER if field.is_map else _CONTAINER)
        return self._get(field)

    def _keep_unknown(self, data: bytes) -> None:
        """Keeps fields that have no name, as they came."""
        if not self._unknown:
            _set(self, "_unknown", bytearray())
        self._unknown.extend(data)

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
        copied = type(self)()
        copied.MergeFrom(self)
        return copied

    def __reduce__(self) -> Any:
        return _restore, (self._message_name, self.SerializeToString())


def _restore(name: str, data: bytes) -> Any:
    return message_class(name).FromString(data)


def _class_of(field: Field) -> Any:
    """The class of a field's messages."""
    if field.inner is None:
        field.inner = message_class(field.message or "")
    return field.inner


def _is_negative_zero(value: Any) -> bool:
    return isinstance(value, float) and value == 0.0 and str(value) == "-0.0"


def _encode(field: Field, value: Any, deterministic: bool, parts: list[bytes]) -> None:
    if field.is_map:
        keys = sorted(value) if deterministic else list(value)
        for key in keys:
            entry = value.key_field.encode_scalar(key)
            inner: list[bytes] = [entry]
            _encode_one(value.value_field, value.get(key), deterministic, inner)
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
