"""Variable scopes and shared variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def test_names_follow_variable_scopes_and_not_name_scopes() -> None:
    with tf.variable_scope("a") as scope, tf.name_scope("n"):
        v = tf.get_variable("v", [2])
        op = tf.identity(v, name="op")
    with tf.variable_scope(scope, reuse=True):
        again = tf.identity(v, name="op")
    assert v.name == "a/v:0"
    assert op.op.name == "a/n/op"
    assert again.op.name == "a_1/op"
    assert scope.original_name_scope == "a/"
    assert tf.get_variable_scope().name == ""


def test_sharing_needs_leave() -> None:
    with tf.variable_scope("a"):
        v = tf.get_variable("v", [2])
        with pytest.raises(ValueError, match="already exists"):
            tf.get_variable("v", [2])
    with tf.variable_scope("a", reuse=True):
        assert tf.get_variable("v", [2]) is v
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("w", [2])
        with pytest.raises(ValueError, match="shape"):
            tf.get_variable("v", [3])
        with pytest.raises(ValueError, match="dtype"):
            tf.get_variable("v", [2], tf.int32)
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("v", [2]) is v
        assert tf.get_variable("new", [2]) is tf.get_variable("new", [2])


def test_scopes_hand_defaults_down() -> None:
    def double(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        return getter(name, *args, **kwargs) * 2.0

    with tf.variable_scope("s", initializer=tf.ones_initializer(), dtype=tf.float64):
        with tf.variable_scope("inner"):
            v = tf.get_variable("v", [2])
        with tf.variable_scope("custom", custom_getter=double):
            doubled = tf.get_variable("v", [2])
    assert v.dtype == tf.float64
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([v, doubled])[1].tolist() == [2.0, 2.0]


def test_a_captured_scope_keeps_its_own_leave_to_share() -> None:
    with tf.variable_scope("captured") as captured:
        pass
    with tf.variable_scope("shared", reuse=True) as shared:
        pass
    with tf.variable_scope("outer", reuse=True):
        with tf.variable_scope(captured) as again:
            assert again.reuse is False
            v = tf.get_variable("v", [1])
            with tf.variable_scope("inner"):
                tf.get_variable("v", [1])
        with tf.variable_scope(captured, reuse=True):
            assert tf.get_variable("v", [1]) is v
        with tf.variable_scope("inner") as inner:
            assert inner.reuse is True
    with tf.variable_scope(shared) as again:
        assert again.reuse is True
    assert [variable.name for variable in tf.global_variables()] == [
        "captured/v:0",
        "captured/inner/v:0",
    ]


def test_collections_by_name_are_those_of_the_program(graph: tf.Graph) -> None:
    tf.get_variable("v", [2])
    assert set(graph.get_all_collection_keys()) == {"variables", "trainable_variables"}


def test_default_names_are_numbered() -> None:
    names = []
    for _ in range(2):
        with tf.variable_scope(None, default_name="unit") as scope:
            names.append(scope.name)
    assert names == ["unit", "unit_1"]


def test_regularizers_leave_losses() -> None:
    tf.get_variable("v", [2], regularizer=tf.reduce_sum)
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1


def test_new_variables_need_a_name_and_a_shape() -> None:
    with pytest.raises(ValueError, match="must be known"):
        tf.get_variable("v")
    with pytest.raises(ValueError, match="name"):
        tf.get_variable("", [1])
    with pytest.raises(ValueError, match="If initializer is a constant, do not specify shape"):
        tf.get_variable("v", [1], initializer=1.0)
    with pytest.raises(ValueError, match=r"shape: .*-2"):
        tf.get_variable("v", [-2])


def test_first_values_have_the_dtype_that_is_asked_for() -> None:
    for value in (tf.constant([1, 2]), [1, 2], np.array([1, 2], np.int32)):
        with pytest.raises(ValueError, match=r"Initializer type int32 and explicit dtype float32"):
            tf.get_variable("v", initializer=value, dtype=tf.float32)
    assert tf.get_variable("v", initializer=[1, 2]).dtype is tf.int32
    assert tf.get_variable("w", initializer=1.5, dtype=tf.float32).dtype is tf.float32
    with tf.variable_scope("scope", dtype=tf.float64):  # a default, which asks for nothing
        assert tf.get_variable("x", initializer=1.5).dtype is tf.float32


def test_getters_add_operations_outside_of_the_scope_of_names() -> None:
    def pair(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        first = getter(name + "/0", *args, **kwargs)
        return first + getter(name + "/1", *args, **kwargs)

    with tf.variable_scope("scope", custom_getter=pair):
        total = tf.get_variable("v", [2])
        assert tf.constant(1).name == "scope/Const:0"
    assert total.name == "add:0"
    assert [v.name for v in tf.global_variables()] == ["scope/v/0:0", "scope/v/1:0"]


def test_getters_call_getters_with_shapes_and_types_by_position() -> None:
    def in_float(
        getter: Any, name: str, shape: Any = None, dtype: Any = None, **kwargs: Any
    ) -> Any:
        if dtype == tf.float16:
            return tf.cast(getter(name, shape, tf.float32, **kwargs), tf.float16)
        return getter(name, shape, dtype, **kwargs)

    def named(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        return getter(f"{name}_inner", *args, **kwargs)

    with (
        tf.variable_scope("outer", custom_getter=in_float),
        tf.variable_scope("inner", custom_getter=named),
    ):
        half = tf.get_variable("v", [2], tf.float16)
    assert half.dtype == tf.float16
    (kept,) = tf.global_variables()
    assert kept.name == "outer/inner/v_inner:0"
    assert kept.dtype.base_dtype == tf.float32
    assert kept.shape.as_list() == [2]


def test_a_getter_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(ValueError, match="custom_getter: expected a callable, got 3"):
        tf.variable_scope("s", custom_getter=3)


def test_scopes_hand_a_caching_device_down() -> None:
    with tf.variable_scope("s", caching_device="/job:ps"):
        v = tf.get_variable("v", [2])
        w = tf.get_variable("w", [2], caching_device="/job:worker")
    assert v.value().device == "/job:ps"
    assert v.device == ""
    assert w.value().device == "/job:worker"
    assert tf.get_variable("free", [2]).value().op.type == "ReadVariableOp"
