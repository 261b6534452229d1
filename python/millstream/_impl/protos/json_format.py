"""Messages as JSON, by the functions that protobuf's ``json_format`` has.

The mapping is protobuf's own: names in lowerCamelCase, 64-bit integers as texts, bytes in base64,
enums by name. Reference: https://protobuf.dev/programming-guides/json/
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from typing import Any

import numpy as np

from millstream._impl.base.public import public
from millstream._impl.protos.descriptors import json_name
from millstream._impl.protos.fields import Field
from millstream._impl.protos.message import Message
from millstream._impl.protos.pool import message_class, message_names

_TEXT_INTEGERS = {"int64", "uint64", "sint64", "fixed64", "sfixed64"}
_SPECIAL_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_GREATEST_FLOAT = float(np.finfo(np.float32).max)
_ANY = "google.protobuf.Any"
_WRAPPERS = {"google.protobuf.BoolValue"}


@public("protos.json_format.Error")
class Error(Exception):
    """Base of the errors of this module."""


@public("protos.json_format.ParseError")
class ParseError(Error):
    """A text is no JSON, or no message of the type; the error says where."""


@public("protos.json_format.SerializeToJsonError")
class SerializeToJsonError(Error):
    """A message has no form in JSON."""


# ---- Writing ----


@public("protos.json_format.MessageToDict")
def MessageToDict(  # noqa: N802  (protobuf's name)
    message: Any,
    always_print_fields_with_no_presence: bool = False,
    preserving_proto_field_name: bool = False,
    use_integers_for_enums: bool = False,
    descriptor_pool: Any = None,
    float_precision: int | None = None,
    including_default_value_fields: bool = False,
) -> Any:
    """A message as a dictionary that ``json.dumps`` takes.

    Parameters
    ----------
    message
        A message of any type.
    always_print_fields_with_no_presence
        Whether numbers, texts, lists and maps are there that are not set.
    preserving_proto_field_name
        Whether fields have the names of the definition, not those in lowerCamelCase.
    use_integers_for_enums
        Whether enums are numbers, not names.
    descriptor_pool
        Not used.
    float_precision
        Digits of floating-point numbers; by default as many as tell them apart.
    including_default_value_fields
        Old name of `always_print_fields_with_no_presence`.

    Raises
    ------
    TypeError
        It is no message.
    SerializeToJsonError
        An ``Any`` holds a message of an unknown type.

    Examples
    --------
    >>> import millstream as tf
    >>> from millstream.protos import json_format
    >>> json_format.MessageToDict(tf.NodeDef(name="n", input=["a"]))
    {'name': 'n', 'input': ['a']}
    """
    if not isinstance(message, Message):
        raise TypeError(f"message: expected a message, got {message!r}")
    defaults = always_print_fields_with_no_presence or including_default_value_fields
    writer = _Writer(defaults, preserving_proto_field_name, use_integers_for_enums, float_precision)
    return writer.message(message)


@public("protos.json_format.MessageToJson")
def MessageToJson(  # noqa: N802  (protobuf's name)
    message: Any,
    always_print_fields_with_no_presence: bool = False,
    preserving_proto_field_name: bool = False,
    indent: int | None = 2,
    sort_keys: bool = False,
    use_integers_for_enums: bool = False,
    descriptor_pool: Any = None,
    float_precision: int | None = None,
    ensure_ascii: bool = True,
    including_default_value_fields: bool = False,
) -> str:
    """A message as JSON.

    Parameters
    ----------
    message, always_print_fields_with_no_presence, preserving_proto_field_name,
    use_integers_for_enums, descriptor_pool, float_precision, including_default_value_fields
        As for `MessageToDict`.
    indent, sort_keys, ensure_ascii
        As for ``json.dumps``.

    Examples
    --------
    >>> import millstream as tf
    >>> from millstream.protos import json_format
    >>> json_format.MessageToJson(tf.NodeDef(name="n"), indent=None)
    '{"name": "n"}'
    """
    tree = MessageToDict(
        message,
        always_print_fields_with_no_presence or including_default_value_fields,
        preserving_proto_field_name,
        use_integers_for_enums,
        descriptor_pool,
        float_precision,
    )
    return json.dumps(tree, indent=indent, sort_keys=sort_keys, ensure_ascii=ensure_ascii)


class _Writer:
    """Makes values of JSON from messages."""

    def __init__(
        self, defaults: bool, own_names: bool, numbers: bool, precision: int | None
    ) -> None:
        self._defaults = defaults
        self._own_names = own_names
        self._numbers = numbers
        self._precision = precision

    def message(self, message: Any) -> Any:
        if message._message_name in _WRAPPERS:
            return self._scalar(message._by_name["value"], message.value)
        if message._message_name == _ANY:
            return self._any(message)
        set_fields = dict(message._set_fields())
        found = {}
        for field in message._by_number.values():
            if field in set_fields or (self._defaults and _has_no_presence(field)):
                name = field.name if self._own_names else json_name(field.name)
                found[name] = self._value(field, message._get(field))
        return found

    def _any(self, message: Any) -> Any:
        if not message.type_url:
            return {}
        held = _held_class(message.type_url)
        if held is None:
            raise SerializeToJsonError(
                f"Can not find message descriptor by type_url: {message.type_url}"
            )
        inner = self.message(held.FromString(message.value))
        known = {"@type": message.type_url}
        return {**known, **inner} if isinstance(inner, dict) else {**known, "value": inner}

    def _value(self, field: Field, value: Any) -> Any:
        if field.is_map:
            return {_key_text(key): self._item(value.value_field, value[key]) for key in value}
        if field.is_repeated:
            return [self._item(field, item) for item in value]
        return self._item(field, value)

    def _item(self, field: Field, value: Any) -> Any:
        return self.message(value) if field.message is not None else self._scalar(field, value)

    def _scalar(self, field: Field, value: Any) -> Any:
        if field.enum is not None:
            if self._numbers:
                return value
            return next((name for name, number in field.enum.items() if number == value), value)
        if field.type in _TEXT_INTEGERS:
            return str(value)
        if field.type == "bytes":
            return base64.b64encode(value).decode()
        if field.type in ("float", "double"):
            return self._number(field, value)
        return value

    def _number(self, field: Field, value: float) -> Any:
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        if self._precision is not None:
            return float(f"{value:.{self._precision}g}")
        return float(str(np.float32(value))) if field.type == "float" else value


def _has_no_presence(field: Field) -> bool:
    return field.is_map or field.is_repeated or (field.message is None and not field.presence)


def _key_text(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _held_class(type_url: str) -> Any:
    """The class of what an ``Any`` holds; None for an unknown type."""
    full = type_url.rpartition("/")[2]
    for name in (full, full.partition(".")[2]):
        if name in message_names():
            return message_class(name)
    return None


# ---- Reading ----


@public("protos.json_format.Parse")
def Parse(  # noqa: N802  (protobuf's name)
    text: str | bytes,
    message: Any,
    ignore_unknown_fields: bool = False,
    descriptor_pool: Any = None,
    max_recursion_depth: int = 100,
) -> Any:
    """Fill a message with what JSON says.

    Parameters
    ----------
    text
        The JSON. Fields may have either of their names.
    message
        The message. Lists and maps that the text has are replaced.
    ignore_unknown_fields
        Whether names that the message does not have are left out, instead of an error.
    descriptor_pool
        Not used.
    max_recursion_depth
        How deep messages may nest.

    Returns
    -------
    Message
        The message itself.

    Raises
    ------
    TypeError
        An argument is of another type.
    ParseError
        The text is no JSON, or no message of the type.

    Examples
    --------
    >>> import millstream as tf
    >>> from millstream.protos import json_format
    >>> json_format.Parse('{"node": [{"name": "a", "op": "NoOp"}]}', tf.GraphDef()).node[0].op
    'NoOp'
    """
    if isinstance(text, (bytes, bytearray)):
        text = bytes(text).decode()
    if not isinstance(text, str):
        raise TypeError(f"text: expected a text, got {text!r}")
    try:
        tree = json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"Failed to load JSON: {error}") from None
    return ParseDict(tree, message, ignore_unknown_fields, descriptor_pool, max_recursion_depth)


@public("protos.json_format.ParseDict")
def ParseDict(  # noqa: N802  (protobuf's name)
    js_dict: Any,
    message: Any,
    ignore_unknown_fields: bool = False,
    descriptor_pool: Any = None,
    max_recursion_depth: int = 100,
) -> Any:
    """Fill a message with what a dictionary of `MessageToDict` says.

    Parameters
    ----------
    js_dict
        The dictionary.
    message, ignore_unknown_fields, descriptor_pool, max_recursion_depth
        As for `Parse`, like the result and the errors.

    Examples
    --------
    >>> import millstream as tf
    >>> from millstream.protos import json_format
    >>> json_format.ParseDict({"name": "a"}, tf.NodeDef()).name
    'a'
    """
    if not isinstance(message, Message):
        raise TypeError(f"message: expected a message, got {message!r}")
    _Reader(bool(ignore_unknown_fields), max_recursion_depth).message(js_dict, message, "", 0)
    return message


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ParseError(f"Failed to load JSON: duplicate key {key}")
        found[key] = value
    return found


class _Reader:
    """Fills messages with values of JSON; `path` says where a value stands."""

    def __init__(self, ignore_unknown: bool, most_depth: int) -> None:
        self._ignore_unknown = ignore_unknown
        self._most_depth = most_depth

    def message(self, tree: Any, message: Any, path: str, depth: int) -> None:
        if depth >= self._most_depth:
            raise ParseError(f"Message too deep. Max recursion depth is {self._most_depth}")
        name = message._message_name
        if name in _WRAPPERS:
            message.value = self._scalar(message._by_name["value"], tree, path)
            return
        if not isinstance(tree, dict):
            raise ParseError(f"{path or name}: expected an object for {name}, got {tree!r}")
        if name == _ANY:
            self._any(tree, message, path, depth)
            return
        fields = {json_name(field.name): field for field in message._by_number.values()}
        seen: dict[str, str] = {}
        for key, value in tree.items():
            field = fields.get(key) or message._by_name.get(key)
            where = f"{path}.{key}" if path else key
            if field is None:
                if self._ignore_unknown:
                    continue
                raise ParseError(f'{where}: Message type "{name}" has no field named "{key}"')
            slot = field.oneof or field.name
            if seen.get(slot) and value is not None:
                raise ParseError(
                    f'{where}: Message type "{name}" should not have multiple "{slot}" fields, '
                    f'got "{seen[slot]}" as well'
                )
            if value is None:
                message.ClearField(field.name)
                continue
            seen[slot] = key
            self._field(field, value, message, where, depth)

    def _field(self, field: Field, value: Any, message: Any, path: str, depth: int) -> None:
        if field.is_map:
            self._map(field, value, message, path, depth)
        elif field.is_repeated:
            self._list(field, value, message, path, depth)
        elif field.message is not None:
            target = message._get(field)
            target.SetInParent()
            self.message(value, target, path, depth + 1)
        else:
            setattr(message, field.name, self._scalar(field, value, path))

    def _list(self, field: Field, value: Any, message: Any, path: str, depth: int) -> None:
        if not isinstance(value, (list, tuple)):
            raise ParseError(f"{path}: expected a list, got {value!r}")
        message.ClearField(field.name)
        target = message._get(field)
        for index, item in enumerate(value):
            where = f"{path}[{index}]"
            if item is None:
                raise ParseError(f"{where}: null is not allowed in a list")
            if field.message is not None:
                self.message(item, target.add(), where, depth + 1)
            else:
                target.append(self._scalar(field, item, where))

    def _map(self, field: Field, value: Any, message: Any, path: str, depth: int) -> None:
        if not isinstance(value, dict):
            raise ParseError(f"{path}: expected an object for a map, got {value!r}")
        message.ClearField(field.name)
        target = message._get(field)
        for text, item in value.items():
            where = f"{path}[{text!r}]"
            key = self._key(target.key_field, text, where)
            if item is None:
                raise ParseError(f"{where}: null is not allowed in a map")
            if target.holds_messages:
                self.message(item, target[key], where, depth + 1)
            else:
                target[key] = self._scalar(target.value_field, item, where)

    def _key(self, field: Field, text: str, path: str) -> Any:
        if field.type == "bool":
            if text not in ("true", "false"):
                raise ParseError(f"{path}: expected true or false as a key")
            return text == "true"
        return self._scalar(field, text, path)

    def _any(self, tree: dict[str, Any], message: Any, path: str, depth: int) -> None:
        if not tree:
            return
        type_url = tree.get("@type")
        held = _held_class(type_url) if isinstance(type_url, str) else None
        if held is None:
            raise ParseError(f"{path}: expected '@type' with a known message, got {type_url!r}")
        inner = held()
        rest = {key: value for key, value in tree.items() if key != "@type"}
        is_bare = held._message_name in _WRAPPERS
        self.message(rest.get("value") if is_bare else rest, inner, path, depth + 1)
        message.type_url = type_url
        message.value = inner.SerializeToString()

    def _scalar(self, field: Field, value: Any, path: str) -> Any:
        try:
            return field.checked(_converted(field, value))
        except (TypeError, ValueError, OverflowError) as error:
            raise ParseError(f"{path}: expected {field.enum_name or field.type}: {error}") from None


def _converted(field: Field, value: Any) -> Any:
    """A value of JSON as `Field.checked` takes it."""
    if field.enum is not None:
        return int(value) if isinstance(value, str) and value.lstrip("-").isdigit() else value
    if field.type == "bytes":
        return _bytes(value)
    if field.type == "bool":
        if not isinstance(value, bool):
            raise TypeError(f"got {value!r}")
        return value
    if field.type == "string":
        if not isinstance(value, str):
            raise TypeError(f"got {value!r}")
        return value
    if isinstance(value, bool):
        raise TypeError(f"got {value!r}")
    return _number(field, value)


def _bytes(value: Any) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"got {value!r}")
    text = value.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        raise ValueError(f"no base64 in {value!r}") from None


def _number(field: Field, value: Any) -> Any:
    if field.type in ("float", "double"):
        if not isinstance(value, str):
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{value} is a text in JSON")
            number = float(value)
        else:
            number = _SPECIAL_NUMBERS[value] if value in _SPECIAL_NUMBERS else _finite(value)
        if field.type == "float" and math.isfinite(number) and abs(number) > _GREATEST_FLOAT:
            raise ValueError(f"{value} does not fit float")
        return number
    if isinstance(value, str):
        if value != value.strip() or "_" in value:
            raise ValueError(f"got {value!r}")
        return int(value)
    if isinstance(value, float):
        if not value.is_integer():
            raise ValueError(f"{value} is no integer")
        return int(value)
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number) or "_" in text:
        raise ValueError(f"got {text!r}")
    return number
