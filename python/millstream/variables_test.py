"""Variables: state between steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def test_names_follow_the_variable() -> None:
    v = tf.Variable([1.0, 2.0], name="w")
    assert v.name == "w:0"
    assert v.op.name == "w"
    assert v.initial_value.name == "w/initial_value:0"
    assert tf.Variable(0).name == "Variable:0"
    assert tf.Variable(0, name="w").name == "w_1:0"


def test_value_stays_between_steps_and_apart_between_sessions() -> None:
    v = tf.Variable(1.0)
    bump = v.assign_add(2.0)
    with tf.Session() as one, tf.Session() as two:
        one.run(v.initializer)
        two.run(v.initializer)
        assert one.run(bump) == 3.0
        assert one.run(bump) == 5.0
        assert two.run(v) == 1.0


def test_assign_gives_the_value_after_the_write() -> None:
    v = tf.Variable([1.0, 2.0])
    changed = tf.assign_sub(v, [1.0, 1.0])
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(changed).tolist() == [0.0, 1.0]
        session.run(changed.op)
        assert session.run(v).tolist() == [-1.0, 0.0]


def test_assign_checks_shapes_when_built() -> None:
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="expected the variable's shape"):
        v.assign([1.0, 2.0, 3.0])


def test_operators_and_slices_read_the_variable() -> None:
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v[1:] * 2.0 - v[0]).tolist() == [3.0, 5.0]
        assert session.run(10.0 / v).tolist() == pytest.approx([10.0, 5.0, 10.0 / 3.0])
        assert session.run(np.float32(1) + v).tolist() == [2.0, 3.0, 4.0]


def test_reads_inside_control_dependencies_see_the_write() -> None:
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign(5.0)]):
        after = v + 0.0
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(after) == 5.0


def test_load_and_eval_use_the_session() -> None:
    v = tf.Variable([1.0])
    with tf.Session():
        v.load([4.0])
        assert v.eval().tolist() == [4.0]


def test_collections_hold_variables_in_order() -> None:
    a = tf.Variable(1.0, name="a")
    b = tf.Variable(1.0, name="b", trainable=False)
    assert tf.global_variables() == [a, b]
    assert tf.trainable_variables() == [a]


def test_initializer_function_and_dtype() -> None:
    v = tf.Variable(lambda: tf.ones([2]), dtype=tf.float32)
    w = tf.Variable(1, dtype=tf.float64)
    assert v.shape.as_list() == [2]
    assert w.dtype == tf.float64
    with pytest.raises(ValueError, match="initial_value"):
        tf.Variable()


def test_is_initialized_says_so() -> None:
    v = tf.Variable(1.0)
    known = tf.is_variable_initialized(v)
    with tf.Session() as session:
        assert not session.run(known)
        session.run(tf.global_variables_initializer())
        assert session.run(known)


def test_feeding_a_variable_replaces_its_fetched_value() -> None:
    v = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v, {v: 8.0}) == 8.0
