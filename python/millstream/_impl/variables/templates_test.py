"""Functions that share their variables between calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def scaled(x: Any, by: float = 1.0) -> Any:
    """A function with a variable."""
    return x * by * tf.get_variable("k", initializer=3.0)


def test_calls_share_variables_and_templates_do_not() -> None:
    one, two = tf.make_template("t", scaled), tf.make_template("t", scaled, by=2.0)
    results = [one(tf.constant(1.0)), one(tf.constant(2.0)), two(tf.constant(1.0))]
    assert [v.op.name for v in tf.trainable_variables()] == ["t/k", "t_1/k"]
    assert (one.name, two.name) == ("t", "t_1")
    assert [v.op.name for v in two.trainable_variables] == ["t_1/k"]
    assert [one.op.name for one in results] == ["t/mul_1", "t_1/mul_1", "t_2/mul_1"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(results) == [3.0, 6.0, 6.0]


def test_a_scope_may_be_made_at_once_or_have_its_name_as_it_is() -> None:
    first = tf.make_template("t", scaled, create_scope_now_=True)
    second = tf.make_template("t", scaled)
    second(tf.constant(1.0))
    assert first(tf.constant(1.0)).op.name == "t_1/mul_1"
    assert [v.op.name for v in tf.trainable_variables()] == ["t_1/k", "t/k"]
    third = tf.make_template("t", scaled, unique_name_="mine")
    third(tf.constant(1.0))
    assert [v.op.name for v in third.variables] == ["mine/k"]


def test_what_is_new_in_a_later_call_is_refused() -> None:
    names = iter("ab")
    template = tf.make_template("t", lambda: tf.get_variable(next(names), []))
    template()
    with pytest.raises(ValueError, match="Variable t/b does not exist"):
        template()


def test_a_call_in_another_graph_is_refused() -> None:
    template = tf.make_template("t", scaled)
    template(tf.constant(1.0))
    with tf.Graph().as_default(), pytest.raises(ValueError, match="'t' has its variables in anot"):
        template(tf.constant(1.0))


def test_a_getter_sees_the_variables() -> None:
    def ten(getter: Any, name: str, **arguments: Any) -> Any:
        return getter(name, **arguments) * 10.0

    template = tf.make_template("t", scaled, custom_getter_=ten)
    result = template(tf.constant(1.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(result) == 30.0


def test_a_first_call_that_fails_may_be_made_again() -> None:
    factors = iter([None, 2.0])
    template = tf.make_template("t", lambda: tf.get_variable("k", [2]) * next(factors))
    with pytest.raises((TypeError, ValueError)):
        template()
    assert template().shape == [2]
    assert [v.op.name for v in template.variables] == ["t/k"]


@pytest.mark.parametrize("at_once", [False, True])
def test_two_templates_of_one_unique_name_do_not_share(at_once: bool) -> None:
    first, second = (
        tf.make_template("t", scaled, create_scope_now_=at_once, unique_name_="mine")
        for _ in range(2)
    )
    first(tf.constant(1.0))
    with pytest.raises(ValueError, match="Variable mine/k already exists"):
        second(tf.constant(1.0))


def test_a_variable_that_is_made_twice_is_refused() -> None:
    template = tf.make_template("t", lambda: scaled(1.0) + scaled(1.0), create_scope_now_=True)
    with pytest.raises(ValueError, match="Variable t/k already exists"):
        template()
