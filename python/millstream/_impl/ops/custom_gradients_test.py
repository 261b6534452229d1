"""Functions with a gradient of their own: arguments, results, variables, second derivatives."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_the_gradient_is_that_of_the_function() -> None:
    @tf.custom_gradient
    def log1pexp(x: tf.Tensor) -> Any:
        """The logarithm of 1 + e^x."""
        e = tf.exp(x)
        return tf.log(1.0 + e), lambda dy: dy * (1.0 - 1.0 / (1.0 + e))

    assert (log1pexp.__name__, log1pexp.__doc__) == ("log1pexp", "The logarithm of 1 + e^x.")
    x = tf.constant(100.0)
    (dx,) = tf.gradients(log1pexp(x), x)
    assert dx.eval() == 1.0
    near = tf.constant(0.5)
    (first,) = tf.gradients(log1pexp(near), near)
    (second,) = tf.gradients(first, near)
    share = 1.0 / (1.0 + np.exp(-0.5))
    np.testing.assert_allclose(first.eval(), share, rtol=1e-6)
    np.testing.assert_allclose(second.eval(), share * (1.0 - share), rtol=1e-5)


def test_a_gradient_may_have_a_gradient_of_its_own() -> None:
    @tf.custom_gradient
    def outer(x: tf.Tensor) -> Any:
        @tf.custom_gradient
        def slope(dy: tf.Tensor, at: tf.Tensor) -> Any:
            return dy * 3.0, lambda ddy: (ddy * 5.0, ddy * 7.0)

        return x * 2.0, lambda dy: slope(dy, x)

    x = tf.constant(1.0)
    (first,) = tf.gradients(outer(x), x)
    assert (first.eval(), tf.gradients(first, x)[0].eval()) == (3.0, 7.0)


class _Pair(NamedTuple):
    one: Any
    rest: Any


def test_results_keep_their_structure() -> None:
    @tf.custom_gradient
    def spread(x: tf.Tensor) -> Any:
        def gradient(*dys: tf.Tensor) -> tf.Tensor:
            assert len(dys) == 3
            return dys[0] + 10.0 * dys[1] + 100.0 * dys[2]

        return _Pair(x, {"b": 3.0, "a": [x * x]}), gradient

    x = tf.constant(2.0)
    y = spread(x)
    assert isinstance(y, _Pair)
    assert isinstance(y.rest["a"], list)
    assert [y.one.eval(), y.rest["a"][0].eval(), y.rest["b"].eval()] == [2.0, 4.0, 3.0]
    found = tf.gradients([y.one, y.rest["a"][0], y.rest["b"]], x)
    assert found[0].eval() == 111.0
    assert tf.gradients(y.rest["a"][0], x)[0].eval() == 10.0, "the others have zeros"


def test_arguments_become_tensors(session: tf.Session) -> None:
    @tf.custom_gradient
    def scaled(x: Any, factors: Any, n: Any) -> Any:
        assert all(isinstance(argument, tf.Tensor) for argument in (x, factors, n))
        return x * factors, lambda dy: [dy * factors, [None], None]

    x = tf.Variable([1.0, 2.0])
    y = scaled(x, [3.0, tf.constant(4.0)], np.int64(3))
    session.run(x.initializer)
    assert tf.gradients(y, x)[0].eval().tolist() == [3.0, 4.0], "a variable is read"


def test_no_gradient_gets_into_the_function_another_way() -> None:
    outside = tf.constant(2.0)

    @tf.custom_gradient
    def product(x: tf.Tensor) -> Any:
        return x * outside, lambda dy: dy

    x = tf.constant(3.0)
    assert tf.gradients(product(x), outside) == [None]
    assert tf.gradients(product(outside), outside)[0].eval() == 1.0


def test_variables_that_are_read_are_given_to_the_gradient(session: tf.Session) -> None:
    w = tf.get_variable("w", initializer=[2.0, 3.0])
    table = tf.get_variable("table", initializer=[[1.0], [5.0]])
    frozen = tf.get_variable("frozen", initializer=7.0, trainable=False)

    @tf.custom_gradient
    def layer(x: tf.Tensor) -> Any:
        bias = tf.get_variable("bias", initializer=1.0)

        def gradient(dy: tf.Tensor, variables: Any = None) -> Any:
            assert variables == [w, table, bias]
            return dy * 10.0, [dy * 20.0, tf.ones_like(table) * 30.0, tf.reduce_sum(dy)]

        return x * w + tf.gather(table, 1) + bias + frozen, gradient

    x = tf.constant([1.0, 1.0])
    y = layer(x)
    bias = tf.trainable_variables()[-1]
    found = tf.gradients(y, [x, w, table, bias, frozen])
    session.run(tf.global_variables_initializer())
    assert session.run(y).tolist() == [15.0, 16.0]
    assert found.pop() is None
    by_x, by_w, by_table, by_bias = session.run(found)
    assert (by_x.tolist(), by_w.tolist()) == ([10.0, 10.0], [20.0, 20.0])
    assert (by_table.tolist(), by_bias) == ([[30.0], [30.0]], 2.0)


def test_variables_are_found_in_branches_and_on_caching_devices(session: tf.Session) -> None:
    w = tf.get_variable("w", initializer=2.0)
    cached = tf.get_variable("cached", initializer=3.0, caching_device="/cpu:0")

    @tf.custom_gradient
    def chosen(x: tf.Tensor) -> Any:
        def gradient(dy: tf.Tensor, variables: Any) -> Any:
            assert set(variables) == {w, cached}
            return dy, [dy * 4.0 for _ in variables]

        return tf.cond(x > 0.0, lambda: x * w, lambda: x) * cached, gradient

    x = tf.constant(1.0)
    found = tf.gradients(chosen(x), [x, w, cached])
    session.run(tf.global_variables_initializer())
    assert session.run(found) == [1.0, 4.0, 4.0]


def test_a_training_step_changes_variables_of_the_function(session: tf.Session) -> None:
    w = tf.get_variable("w", initializer=1.0)

    @tf.custom_gradient
    def reversed_slope(x: tf.Tensor) -> Any:
        return x * w, lambda dy, variables: (dy, [-dy * x for _ in variables])

    step = tf.train.GradientDescentOptimizer(0.5).minimize(reversed_slope(tf.constant(4.0)))
    session.run(tf.global_variables_initializer())
    session.run(step)
    assert session.run(w) == 3.0


def test_what_does_not_follow_the_contract_is_refused() -> None:
    x = tf.constant(1.0)
    w = tf.get_variable("w", initializer=1.0)
    with pytest.raises(ValueError, match="no keyword arguments in graphs, got y"):
        tf.custom_gradient(lambda x, y: (x, lambda dy: dy))(x, y=1.0)
    with pytest.raises(TypeError, match=r"must accept a 'variables' keyword argument.*w:0"):
        tf.custom_gradient(lambda x: (x * w, lambda dy: dy))(x)
    with pytest.raises(TypeError, match="returns its result and a gradient function"):
        tf.custom_gradient(lambda x: x)(x)
    y = tf.custom_gradient(lambda x: (x, lambda dy: [dy, dy]))(x)
    with pytest.raises(ValueError, match=r"Must return gradient for each argument.*1, got 2"):
        tf.gradients(y, x)
    y = tf.custom_gradient(lambda x: (x * w, lambda dy, variables: (dy, [])))(x)
    with pytest.raises(ValueError, match=r"Must return gradient for each variable.*1, got 0"):
        tf.gradients(y, x)


def test_arguments_may_be_bound_before() -> None:
    def power(x: tf.Tensor, *, exponent: float) -> Any:
        return tf.pow(x, exponent), lambda dy: dy * exponent

    x = tf.constant(3.0)
    y = tf.custom_gradient(functools.partial(power, exponent=2.0))(x)
    assert (y.eval(), tf.gradients(y, x)[0].eval()) == (9.0, 2.0)


def test_a_graph_keeps_the_functions_and_nothing_else_does() -> None:
    class Slope:
        def __call__(self, dy: tf.Tensor) -> tf.Tensor:
            return dy

    slope = Slope()
    kept = weakref.ref(slope)
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant(1.0)
        y = tf.custom_gradient(lambda x, slope=slope: (x, slope))(x)
        del slope
        gc.collect()
        assert kept() is not None
        assert tf.gradients(y, x)[0] is not None
    del graph, x, y
    gc.collect()
    assert kept() is None


def test_a_gradient_is_passed_through(session: tf.Session) -> None:
    w = tf.get_variable("w", initializer=2.0)
    rounded = tf.grad_pass_through(tf.round)
    assert rounded.__name__ == "round"
    x = tf.constant([0.4, 1.6])
    y = rounded(x)
    assert y.eval().tolist() == [0.0, 2.0]
    assert tf.gradients(y * 3.0, x)[0].eval().tolist() == [3.0, 3.0]
    scaled = tf.grad_pass_through(lambda x, z: (x * w, z))(x, x * 5.0)
    session.run(w.initializer)
    assert tf.gradients(list(scaled), x)[0].eval().tolist() == [6.0, 6.0]
    assert tf.gradients(scaled[0], w) == [None], "variables have no gradient"
