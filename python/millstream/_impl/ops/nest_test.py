"""Nested structures."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import numpy as np
import pytest

import millstream as tf

Point = namedtuple("Point", "x y")

STRUCTURES: list[Any] = [
    [],
    (),
    {},
    5,
    [1, (2, [3]), {"b": 4, "a": 5}],
    Point(1, [2, 3]),
    OrderedDict([("z", 1), ("a", (2,))]),
    defaultdict(list, {"k": [1]}),
    [np.ones(2), "text", {1, 2}],
]


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_packing_what_was_flattened_gives_the_structure(structure: Any) -> None:
    packed = tf.nest.pack_sequence_as(structure, tf.nest.flatten(structure))
    assert type(packed) is type(structure)
    assert repr(packed) == repr(structure)


def test_dictionaries_are_taken_by_sorted_keys_and_keep_their_order() -> None:
    assert tf.nest.flatten({"b": 1, "a": {"d": 2, "c": 3}}) == [3, 2, 1]
    packed = tf.nest.pack_sequence_as(OrderedDict([("z", 0), ("a", 0)]), [1, 2])
    assert list(packed.items()) == [("z", 2), ("a", 1)]


def test_tensors_texts_and_arrays_are_leaves() -> None:
    with tf.Graph().as_default():
        leaves = [tf.constant([1, 2]), "ab", b"ab", np.zeros(2), None]
        assert [tf.nest.is_nested(leaf) for leaf in leaves] == [False] * 5
        assert tf.nest.flatten(leaves[0]) == [leaves[0]]


def test_slices_come_apart_when_asked() -> None:
    with tf.Graph().as_default():
        rows = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]))
        assert tf.nest.flatten([rows]) == [rows]
        assert tf.nest.flatten([rows], expand_composites=True) == [rows.values, rows.indices]
        mapped = tf.nest.map_structure(tf.identity, rows, expand_composites=True)
        assert isinstance(mapped, tf.IndexedSlices)


@pytest.mark.parametrize(
    ("one", "other", "error"),
    [
        ([1], 1, ValueError),
        ([1, 2], [1], ValueError),
        ({"a": 1}, {"b": 1}, ValueError),
        ([[1], 2], [1, [2]], ValueError),
        ([1], (1,), TypeError),
        (Point(1, 2), (1, 2), TypeError),
    ],
)
def test_structures_that_differ_are_refused(one: Any, other: Any, error: Any) -> None:
    with pytest.raises(error, match="nest1 and nest2"):
        tf.nest.assert_same_structure(one, other)


def test_types_count_only_when_asked() -> None:
    tf.nest.assert_same_structure([1], (2,), check_types=False)
    tf.nest.assert_same_structure({"a": 1}, OrderedDict(a=2))


def test_bad_calls_are_refused() -> None:
    with pytest.raises(TypeError, match="func"):
        tf.nest.map_structure(3, [1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="structure"):
        tf.nest.map_structure(len)
    with pytest.raises(ValueError, match="depth"):
        tf.nest.map_structure(len, ["a"], depth=3)
    with pytest.raises(ValueError, match="expected 2 elements"):
        tf.nest.pack_sequence_as([1, 2], [1])
    with pytest.raises(TypeError, match="flat_sequence"):
        tf.nest.pack_sequence_as([1], 3)
    with pytest.raises(TypeError, match="cannot be sorted"):
        tf.nest.flatten({"a": 1, 2: 3})
