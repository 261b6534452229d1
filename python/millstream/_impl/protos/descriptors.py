"""Descriptors: what message classes say of their own types.

The names and numbers are those of protobuf's Python descriptors; there is one descriptor object for
each type, field and oneof, made when first asked for.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any, ClassVar

from millstream._impl.protos.fields import DEFAULTS, Field
from millstream._impl.protos.pool import (
    enum_values,
    message_class,
    message_names,
    nested_enums,
    nested_messages,
)

PACKAGE = "millstream"

# Number of each wire-level type, and of the class of values that it has in C++. Reference:
# FieldDescriptorProto.Type in protobuf's descriptor.proto, FieldDescriptor.CppType.
_TYPES = {
    "double": (1, 5), "float": (2, 6), "int64": (3, 2), "uint64": (4, 4), "int32": (5, 1),
    "fixed64": (6, 4), "fixed32": (7, 3), "bool": (8, 7), "string": (9, 9), "message": (11, 10),
    "bytes": (12, 9), "uint32": (13, 3), "enum": (14, 8), "sfixed32": (15, 1),
    "sfixed64": (16, 2), "sint32": (17, 1), "sint64": (18, 2),
}  # fmt: skip


def full_name_of(name: str) -> str:
    """``"millstream.GraphDef"`` for ``"GraphDef"``; protobuf's own types keep their package."""
    return name if name.startswith("google.protobuf.") else f"{PACKAGE}.{name}"


class Options:
    """The options of a definition: none but that a message is the entry of a map."""

    message_set_wire_format: ClassVar[bool] = False
    deprecated: ClassVar[bool] = False

    def __init__(self, map_entry: bool = False) -> None:
        self.map_entry = map_entry

    def HasExtension(self, extension: Any) -> bool:  # noqa: N802  (protobuf's name)
        """Whether an option that another file declares is set: never."""
        return False


class FileDescriptor:
    """The file of a definition: its ``name`` and ``package``."""

    syntax: ClassVar[str] = "proto3"

    def __init__(self, name: str, package: str) -> None:
        self.name = name
        self.package = package

    def __repr__(self) -> str:
        return f"<FileDescriptor {self.name}>"


@cache
def file_descriptor(name: str) -> FileDescriptor:
    """The file of a message type; one stands for all of ours."""
    if name.startswith("google.protobuf.") and name != "google.protobuf.Any":
        return FileDescriptor("google/protobuf/wrappers.proto", "google.protobuf")
    if name == "google.protobuf.Any":
        return FileDescriptor("google/protobuf/any.proto", "google.protobuf")
    return FileDescriptor(f"{PACKAGE}.proto", PACKAGE)


def json_name(name: str) -> str:
    """The name of a field in JSON: ``"attrValue"`` for ``"attr_value"``."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


class EnumValueDescriptor:
    """A value of an enum: its ``name`` and ``number``."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number

    def GetOptions(self) -> Options:  # noqa: N802  (protobuf's name)
        """Its options: none."""
        return Options()

    def __repr__(self) -> str:
        return f"<EnumValueDescriptor {self.name} = {self.number}>"


class EnumDescriptor:
    """An enum type.

    Attributes
    ----------
    name, full_name
        Its name, without and with what it is nested in.
    values, values_by_name, values_by_number
        Its values.
    """

    def __init__(self, name: str, values: dict[str, int]) -> None:
        self.name = name.rpartition(".")[2]
        self.full_name = full_name_of(name)
        self.values = [EnumValueDescriptor(*item) for item in values.items()]
        self.values_by_name = {value.name: value for value in self.values}
        self.values_by_number = {value.number: value for value in reversed(self.values)}
        self.file = file_descriptor(name)
        self.is_closed = False

    def __repr__(self) -> str:
        return f"<EnumDescriptor {self.full_name}>"


@cache
def enum_descriptor(name: str) -> EnumDescriptor:
    """The descriptor of an enum type; KeyError when there is none of that name."""
    return EnumDescriptor(name, enum_values(name))


class OneofDescriptor:
    """A group of fields of which at most one is set.

    Attributes
    ----------
    name, full_name
        Its name, without and with that of the message.
    containing_type
        The message.
    fields
        Its fields.
    """

    def __init__(self, name: str, containing_type: Descriptor) -> None:
        self.name = name
        self.full_name = f"{containing_type.full_name}.{name}"
        self.containing_type = containing_type
        self.fields: list[FieldDescriptor] = []

    def __repr__(self) -> str:
        return f"<OneofDescriptor {self.full_name}>"


class FieldDescriptor:
    """A field of a message.

    Attributes
    ----------
    name, full_name, number
        As in the message's definition.
    type, cpp_type, label
        The numbers ``TYPE_...``, ``CPPTYPE_...`` and ``LABEL_...``.
    has_presence
        Whether an unset field differs from one at its default.
    has_default_value
        False: no field declares one.
    default_value
        The value of an unset field; None for a message.
    containing_type
        The message that it belongs to.
    containing_oneof
        The oneof that it is in, or None.
    is_repeated, is_required, is_extension, has_options
        Whether it is a list or a map; the others are False.
    json_name, camelcase_name
        Its name in JSON.
    file
        The file of the message.
    """

    TYPE_DOUBLE, TYPE_FLOAT, TYPE_INT64, TYPE_UINT64, TYPE_INT32 = 1, 2, 3, 4, 5
    TYPE_FIXED64, TYPE_FIXED32, TYPE_BOOL, TYPE_STRING, TYPE_GROUP = 6, 7, 8, 9, 10
    TYPE_MESSAGE, TYPE_BYTES, TYPE_UINT32, TYPE_ENUM = 11, 12, 13, 14
    TYPE_SFIXED32, TYPE_SFIXED64, TYPE_SINT32, TYPE_SINT64 = 15, 16, 17, 18
    CPPTYPE_INT32, CPPTYPE_INT64, CPPTYPE_UINT32, CPPTYPE_UINT64 = 1, 2, 3, 4
    CPPTYPE_DOUBLE, CPPTYPE_FLOAT, CPPTYPE_BOOL = 5, 6, 7
    CPPTYPE_ENUM, CPPTYPE_STRING, CPPTYPE_MESSAGE = 8, 9, 10
    LABEL_OPTIONAL, LABEL_REQUIRED, LABEL_REPEATED = 1, 2, 3

    has_default_value: ClassVar[bool] = False
    is_extension: ClassVar[bool] = False
    is_required: ClassVar[bool] = False
    has_options: ClassVar[bool] = False

    def __init__(self, field: Field, containing_type: Descriptor) -> None:
        self._field = field
        self.name = field.name
        self.full_name = f"{containing_type.full_name}.{field.name}"
        self.number = field.number
        self.type, self.cpp_type = _TYPES[field.type]
        is_list = field.is_repeated or field.is_map
        self.is_repeated = is_list
        self.label = self.LABEL_REPEATED if is_list else self.LABEL_OPTIONAL
        self.json_name = self.camelcase_name = json_name(field.name)
        self.file = containing_type.file
        self.has_presence = field.presence
        self.default_value: Any = [] if is_list else DEFAULTS.get(field.type, 0)
        if field.type == "message" and not is_list:
            self.default_value = None
        self.containing_type = containing_type
        self.containing_oneof: OneofDescriptor | None = None

    @property
    def message_type(self) -> Descriptor | None:
        """The type of a message field, or None; of a map, that of its entries."""
        if self._field.message is None:
            return None
        found: Descriptor = message_class(self._field.message).DESCRIPTOR
        return found

    @property
    def enum_type(self) -> EnumDescriptor | None:
        """The type of an enum field, or None."""
        return None if self._field.enum_name is None else enum_descriptor(self._field.enum_name)

    def GetOptions(self) -> Options:  # noqa: N802  (protobuf's name)
        """Its options: none."""
        return Options()

    def __repr__(self) -> str:
        return f"<FieldDescriptor {self.full_name}>"


class Descriptor:
    """A message type.

    Attributes
    ----------
    name, full_name
        Its name, without and with what it is nested in.
    file
        The file that it is defined in.
    is_extendable, syntax
        False and "proto3".
    """

    is_extendable: ClassVar[bool] = False
    syntax: ClassVar[str] = "proto3"

    def __init__(self, name: str, fields: list[Field]) -> None:
        self._name = name
        self._fields = fields
        self.name = name.rpartition(".")[2]
        self.full_name = full_name_of(name)
        self.file = file_descriptor(name)

    @cached_property
    def has_options(self) -> bool:
        """Whether it is the entry of a map."""
        outer = self._name.rpartition(".")[0]
        if outer not in message_names():
            return False
        fields = message_class(outer)._by_number.values()
        return any(field.is_map and field.message == self._name for field in fields)

    def GetOptions(self) -> Options:  # noqa: N802  (protobuf's name)
        """Its options."""
        return Options(map_entry=self.has_options)

    @cached_property
    def fields(self) -> list[FieldDescriptor]:
        """Its fields by number."""
        return [FieldDescriptor(field, self) for field in self._fields]

    @cached_property
    def fields_by_name(self) -> dict[str, FieldDescriptor]:
        """Its fields by name."""
        return {field.name: field for field in self.fields}

    @cached_property
    def fields_by_camelcase_name(self) -> dict[str, FieldDescriptor]:
        """Its fields by their names in JSON."""
        return {field.camelcase_name: field for field in self.fields}

    @cached_property
    def fields_by_number(self) -> dict[int, FieldDescriptor]:
        """Its fields by number."""
        return {field.number: field for field in self.fields}

    @cached_property
    def oneofs_by_name(self) -> dict[str, OneofDescriptor]:
        """Its oneofs by name."""
        found: dict[str, OneofDescriptor] = {}
        for field, described in zip(self._fields, self.fields, strict=True):
            if field.oneof is not None:
                if field.oneof not in found:
                    found[field.oneof] = OneofDescriptor(field.oneof, self)
                described.containing_oneof = found[field.oneof]
                found[field.oneof].fields.append(described)
        return found

    @property
    def oneofs(self) -> list[OneofDescriptor]:
        """Its oneofs."""
        return list(self.oneofs_by_name.values())

    @property
    def nested_types(self) -> list[Descriptor]:
        """The message types that are nested in it."""
        return [message_class(name).DESCRIPTOR for name in nested_messages(self._name)]

    @property
    def nested_types_by_name(self) -> dict[str, Descriptor]:
        """The message types that are nested in it, by name."""
        return {nested.name: nested for nested in self.nested_types}

    @property
    def enum_types(self) -> list[EnumDescriptor]:
        """The enum types that are nested in it."""
        return [enum_descriptor(name) for name in nested_enums(self._name)]

    @property
    def enum_types_by_name(self) -> dict[str, EnumDescriptor]:
        """The enum types that are nested in it, by name."""
        return {nested.name: nested for nested in self.enum_types}

    @property
    def _concrete_class(self) -> Any:
        """The class of its messages."""
        return message_class(self._name)

    @property
    def containing_type(self) -> Descriptor | None:
        """The message type that it is nested in, or None."""
        outer = self._name.rpartition(".")[0]
        if outer not in message_names():
            return None
        found: Descriptor = message_class(outer).DESCRIPTOR
        return found

    def __repr__(self) -> str:
        return f"<Descriptor {self.full_name}>"


class LazyDescriptor:
    """The class attribute ``DESCRIPTOR``, made when it is first looked at."""

    def __init__(self, name: str, fields: list[Field]) -> None:
        self._made: Descriptor | None = None
        self._name = name
        self._fields = fields

    def __get__(self, instance: Any, owner: Any) -> Descriptor:
        if self._made is None:
            self._made = Descriptor(self._name, self._fields)
            self._made.oneofs_by_name  # noqa: B018  (notes the oneof of each field)
        return self._made
