"""Descriptors have what protobuf's own ``text_format`` and ``json_format`` ask for."""

from __future__ import annotations

import pytest

import millstream as tf
from millstream.protos import message_class


def test_fields_have_the_names_and_kinds_of_the_mapping() -> None:
    fields = tf.ConfigProto.DESCRIPTOR.fields_by_name
    field = fields["allow_soft_placement"]
    assert (field.json_name, field.camelcase_name) == ("allowSoftPlacement", "allowSoftPlacement")
    assert tf.ConfigProto.DESCRIPTOR.fields_by_camelcase_name["allowSoftPlacement"] is field
    assert (field.is_repeated, field.is_required, field.is_extension) == (False, False, False)
    assert fields["device_count"].is_repeated
    assert fields["device_filters"].is_repeated
    assert not field.has_options
    assert not field.GetOptions().map_entry


def test_entries_of_maps_are_messages_that_say_so() -> None:
    entry = tf.NodeDef.DESCRIPTOR.fields_by_name["attr"].message_type
    assert entry is not None
    assert entry.has_options
    assert entry.GetOptions().map_entry
    assert not tf.NodeDef.DESCRIPTOR.has_options
    assert not tf.NodeDef.DESCRIPTOR.GetOptions().map_entry
    node = tf.NodeDef()
    made = node.attr.GetEntryClass()(key="k", value=tf.AttrValue(i=3))
    assert (made.DESCRIPTOR.full_name, made.key, made.value.i) == (entry.full_name, "k", 3)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("GraphDef", "millstream.proto"),
        ("google.protobuf.Any", "google/protobuf/any.proto"),
        ("google.protobuf.BoolValue", "google/protobuf/wrappers.proto"),
    ],
)
def test_messages_name_their_file_and_class(name: str, file: str) -> None:
    descriptor = message_class(name).DESCRIPTOR
    assert descriptor.file.name == file
    assert all(field.file is descriptor.file for field in descriptor.fields)
    assert descriptor._concrete_class is message_class(name)
    assert (descriptor.syntax, descriptor.is_extendable) == ("proto3", False)


def test_enums_have_no_options() -> None:
    enum = tf.AttrValue.DESCRIPTOR.fields_by_name["type"].enum_type
    assert enum is not None
    assert enum.file.name == "millstream.proto"
    assert not enum.values_by_name["DT_FLOAT"].GetOptions().HasExtension(None)
