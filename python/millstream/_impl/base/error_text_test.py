"""Errors name what helps to find the mistake, in a few lines."""

from __future__ import annotations

import linecache
from collections.abc import Iterator

import numpy as np
import pytest

import millstream as tf
from millstream._impl.base import error_text


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def test_the_text_of_the_line_stands_below_the_line_that_names_it() -> None:
    linecache.cache["model.py"] = (9, None, ["first\n", "    y = f(x)  # why\n"], "model.py")
    said = error_text.of_node("it is wrong", "y", "F", "model.py:2 in build", ["float32[2] x:0"])
    assert said == (
        "it is wrong\n"
        "  node 'y' (op F), made at model.py:2 in build\n"
        "    y = f(x)  # why\n"
        "  inputs: float32[2] x:0"
    )


def test_a_source_that_cannot_be_read_leaves_its_text_out() -> None:
    for source in ("<stdin>:1 in <module>", "gone.py:7 in f", "model.py:999 in f"):
        said = error_text.of_node("it is wrong", "y", "F", source)
        assert said == f"it is wrong\n  node 'y' (op F), made at {source}"
    assert error_text.of_node("it is wrong", "y", "F", "") == "it is wrong\n  node 'y' (op F)"


def test_of_many_inputs_the_first_are_named() -> None:
    many = [f"float32[] x{i}:0" for i in range(10)]
    assert error_text.joined(many[:8]).endswith("x7:0")
    assert error_text.joined(many).endswith("x7:0 and 2 more")


def test_the_nearest_name_is_offered() -> None:
    assert error_text.nearest("weigths", ["bias", "weights"]) == " Did you mean 'weights'?"
    assert error_text.nearest("weigths", ["bias"]) == ""


def test_errors_of_a_step_show_the_users_line_and_the_inputs() -> None:
    x = tf.placeholder(tf.int32, name="x")
    quotient = tf.floordiv(10, x, name="quotient")  # the line that is shown
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(quotient, {x: np.zeros([2], np.int32)})
    lines = str(caught.value).splitlines()
    assert lines[1].startswith("  node 'quotient' (op FloorDiv), made at ")
    assert lines[2].startswith('    quotient = tf.floordiv(10, x, name="quotient")  # the line')
    assert lines[3:] == [
        "  inputs: int32[], int32[2]",
        "  device: /job:localhost/replica:0/task:0/device:CPU:0",
    ]


def test_an_operation_knows_the_text_of_its_line() -> None:
    one = tf.constant(1.0)
    filename, line, function, text = one.op.traceback[0]
    assert filename.endswith("error_text_test.py")
    assert line > 0
    assert (function, text) == (
        "test_an_operation_knows_the_text_of_its_line",
        "one = tf.constant(1.0)",
    )


def minimized(loss: tf.Tensor) -> str:
    """What is said of a loss that has no gradients."""
    with pytest.raises(ValueError, match="No gradients provided") as caught:
        tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return str(caught.value)


def test_where_a_gradient_ends_is_told() -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    assert "hint: nothing of the loss is computed" in minimized(tf.square(tf.constant(3.0)))
    stopped = tf.stop_gradient(w * 2.0, name="stopped")
    assert "The gradient ends at stopped:0, which stops it:\n  node 'stopped'" in minimized(
        tf.reduce_sum(stopped)
    )
    counted = tf.cast(tf.argmax(tf.square(w), name="largest"), tf.float32)
    assert "The gradient ends at largest:0, as int64 has none:\n  node 'largest'" in minimized(
        counted
    )


def test_a_callable_names_the_values_that_it_takes() -> None:
    x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32, name="y")
    with tf.Session() as session:
        step = session.make_callable(x + y, [x, y])
        for wrong in ((), (1.0,), (1.0, 2.0, 3.0)):
            with pytest.raises(TypeError, match=rf"2 arguments, got {len(wrong)}.*x:0, y:0"):
                step(*wrong)
        assert step(1.0, 2.0) == 3.0
