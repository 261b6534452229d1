"""Python functions on tensors whose values are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize(("x", "value", "slope"), [(0.5, 0.25, 1.0), (3.0, 5.0, 2.0)])
def test_a_value_decides_what_is_computed(
    x: float, value: float, slope: float, session: tf.Session
) -> None:
    def huber(x: Any) -> Any:
        return x * x if tf.abs(x) < 1.0 else 2.0 * tf.abs(x) - 1.0

    fed = tf.placeholder(tf.float32, [])
    y = tf.py_function(huber, [fed], tf.float32)
    (gradient,) = tf.gradients(3.0 * y, fed)
    assert session.run([y, gradient], {fed: x}) == [value, 3.0 * slope]


def test_tensors_are_numbers_and_rows(session: tf.Session) -> None:
    def ask(rows: Any, count: Any, name: Any) -> tuple[Any, ...]:
        sums: list[Any] = [tf.reduce_sum(row) for row in rows]
        total = sum(float(one) for one in sums)
        chosen = rows[int(count)]
        text = name.numpy().decode() + str(len(rows))
        return np.float32(total), chosen, text, np.asarray(rows).astype(np.int64)

    given = [[[1.0, 2.0], [3.0, 4.0]], 1, "n"]
    results = tf.py_function(ask, given, [tf.float32, tf.float32, tf.string, tf.int64])
    total, chosen, text, whole = session.run(results)
    assert total == 10.0
    assert chosen.tolist() == [3.0, 4.0]
    assert text == b"n2"
    assert whole.tolist() == [[1, 2], [3, 4]]


def test_random_numbers_stay_what_they_were(session: tf.Session) -> None:
    def draw(x: Any) -> Any:
        drawn = tf.random_uniform([4]) + x
        return drawn.numpy(), drawn, drawn * 2.0

    first, second, twice = session.run(tf.py_function(draw, [1.0], [tf.float32] * 3))
    assert first.tolist() == second.tolist()
    assert twice.tolist() == (2.0 * first).tolist()


def test_gradients_pass_by_numbers_alone(session: tf.Session) -> None:
    def mix(a: Any, n: Any, b: Any) -> Any:
        return [a * a * b, n + 1, b * float(a)]

    a, n, b = tf.constant(2.0), tf.constant(5), tf.constant([1.0, 3.0])
    product, more, scaled = tf.py_function(mix, [a, n, b], [tf.float32, tf.int32, tf.float32])
    by_a, by_n, by_b = tf.gradients([product, scaled], [a, n, b])
    assert by_n is None
    assert by_b.shape.as_list() == [2]
    # What was asked for as a number is a constant of the gradient.
    assert session.run(by_a) == 2 * 2.0 * 4.0
    assert session.run(by_b).tolist() == [4.0 + 2.0] * 2
    assert session.run(more) == 6


def test_without_results_it_is_an_operation(session: tf.Session) -> None:
    seen: list[Any] = []
    operation = tf.py_function(lambda x: seen.append(x.numpy()), [2.0], [])
    assert isinstance(operation, tf.Operation)
    session.run(operation)
    assert seen == [2.0]


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda x: [x, x], tf.errors.InvalidArgumentError, "expected 1 results, got 2"),
        (lambda x: tf.cast(x, tf.int32), tf.errors.InvalidArgumentError, "float32"),
        (lambda x: dict[str, int]()["none"], tf.errors.UnknownError, "KeyError: 'none'"),
    ],
)
def test_what_a_function_does_wrong_is_the_steps_error(
    function: Callable[[Any], Any], error: type[Exception], words: str, session: tf.Session
) -> None:
    with pytest.raises(error, match=words):
        session.run(tf.py_function(function, [1.0], tf.float32))


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(ValueError, match="func: Expected func to be callable"):
        tf.py_function(3, [1.0], tf.float32)  # type: ignore[arg-type]
