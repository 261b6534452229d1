"""A run in parts gives what one step gives, and runs what has state once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as running:
        yield running


def _scalars(count: int) -> list[tf.Tensor]:
    return [tf.placeholder(tf.float32, []) for _ in range(count)]


def test_later_parts_continue_with_what_was_computed(session: tf.Session) -> None:
    a, b, c = _scalars(3)
    first = a + b
    second = first * c
    handle = session.partial_run_setup([first, second], [a, b, c])
    one = session.partial_run(handle, first, {a: 1.0, b: 2.0})
    assert float(one) == 3.0
    assert float(session.partial_run(handle, second, {c: one * 17.0})) == 153.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="its run is over"):
        session.partial_run(handle, second, {c: 1.0})


def test_structures_are_fetched_as_by_run(session: tf.Session) -> None:
    a, b = _scalars(2)
    handle = session.partial_run_setup({"x": a + 1.0, "y": [a * b]}, [a, b])
    handle = session.partial_run_setup([first := a + 1.0, second := a * b], [a, b])
    assert session.partial_run(handle, {"x": first}, {a: 2.0}) == {"x": 3.0}
    assert session.partial_run(handle, [second], {b: 5.0}) == [10.0]


def test_a_key_may_stand_for_several_tensors(session: tf.Session) -> None:
    (a,) = _scalars(1)
    sparse = tf.sparse.placeholder(tf.float32, [None, 2])
    first = tf.reduce_sum(sparse.values)
    second = first * a
    handle = session.partial_run_setup([first, second], [sparse, a])
    value = tf.SparseTensorValue([[0, 1], [1, 0]], [3.0, 4.0], [2, 2])
    assert float(session.partial_run(handle, first, {sparse: value})) == 7.0
    assert float(session.partial_run(handle, second, {a: 2.0})) == 14.0


def test_random_numbers_are_drawn_once(session: tf.Session) -> None:
    a, b = _scalars(2)
    drawn = tf.random_uniform([3], seed=1)
    first, second = drawn + a, drawn + b
    handle = session.partial_run_setup([first, second], [a, b])
    one = session.partial_run(handle, first, {a: 0.0})
    assert session.partial_run(handle, second, {b: 0.0}).tolist() == one.tolist()


def test_variables_are_read_and_changed_once(session: tf.Session) -> None:
    a, b = _scalars(2)
    count = tf.Variable(1.0, use_resource=True)
    session.run(count.initializer)
    added = tf.assign_add(count, a)
    second = added * b
    handle = session.partial_run_setup([added, second], [a, b])
    assert float(session.partial_run(handle, added, {a: 2.0})) == 3.0
    session.run(tf.assign(count, 100.0))
    assert float(session.partial_run(handle, second, {b: 2.0})) == 6.0
    assert float(session.run(count)) == 100.0


def test_what_has_run_is_not_run_again_for_the_order_alone(session: tf.Session) -> None:
    a, b = _scalars(2)
    queue = tf.FIFOQueue(5, tf.float32)
    with tf.control_dependencies([queue.enqueue(a)]):
        first = tf.identity(a)
        second = tf.identity(b)
    handle = session.partial_run_setup([first, second], [a, b])
    session.partial_run(handle, first, {a: 1.0})
    with pytest.raises(tf.errors.UnimplementedError, match="would run a second time"):
        session.partial_run(handle, second, {b: 1.0})
    assert int(session.run(queue.size())) == 1


def test_branches_may_depend_on_later_feeds(session: tf.Session) -> None:
    a, b = _scalars(2)
    which = tf.cond(a > 0.0, lambda: a * 10.0, lambda: a * b)
    first = a + 1.0
    handle = session.partial_run_setup([first, which], [a, b])
    assert float(session.partial_run(handle, first, {a: 2.0})) == 3.0
    assert float(session.partial_run(handle, which, {b: 7.0})) == 20.0


def _refusals() -> list[Any]:
    return [
        pytest.param(
            lambda run, first, second, a, c: run(second, {a: 1.0, c: 1.0}), "already been fed"
        ),
        pytest.param(lambda run, first, second, a, c: run(first), "already been fetched"),
        pytest.param(lambda run, first, second, a, c: run(first + 1.0), "not among the fetches"),
        pytest.param(
            lambda run, first, second, a, c: run(first + 1.0),
            r"The fetch \S+ was not specified in partial_run_setup",
        ),
        pytest.param(
            lambda run, first, second, a, c: run(second), "can't be computed from the feeds that"
        ),
        pytest.param(lambda run, first, second, a, c: run(second), "has not been fed so far"),
        pytest.param(
            lambda run, first, second, a, c: run(second, {first: 1.0}), "not among the feeds"
        ),
    ]


@pytest.mark.parametrize(("call", "message"), _refusals())
def test_what_was_not_prepared_is_refused(session: tf.Session, call: Any, message: str) -> None:
    a, c = _scalars(2)
    first = a + 1.0
    second = first * c
    handle = session.partial_run_setup([first, second], [a, c])
    session.partial_run(handle, first, {a: 1.0})

    def run(*arguments: Any) -> Any:
        return session.partial_run(handle, *arguments)

    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call(run, first, second, a, c)
    assert float(run(second, {c: 3.0})) == 6.0


def test_an_unknown_handle_is_refused(session: tf.Session) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="'zzz' is none of"):
        session.partial_run("zzz", tf.constant(1.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Must run 'setup' before"):
        session.partial_run("zzz", tf.constant(1.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least one target to fetch"):
        session.partial_run_setup([], [])
    with pytest.raises(TypeError, match="feeds: expected a list"):
        session.partial_run_setup([tf.constant(1.0)], "x")
