"""Optimizers outside of the graph: one in NumPy, and SciPy's."""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a default session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


class Descent(tf.contrib.opt.ExternalOptimizerInterface):
    """Gradient descent in NumPy, within bounds."""

    def _minimize(self, initial_val: Any, loss_grad_func: Any, *more: Any, **rest: Any) -> Any:
        self.given = rest
        values = initial_val
        for _ in range(rest["optimizer_kwargs"]["steps"]):
            _, gradient = loss_grad_func(values)
            values = values - 0.1 * gradient
            if rest["packed_bounds"] is not None:
                lower, upper = np.array(rest["packed_bounds"]).T
                values = np.clip(values, lower, upper)
            if rest["step_callback"] is not None:
                rest["step_callback"](values)
        return values


def _square_loss(*variables: tf.Variable | tf.Tensor) -> tf.Tensor:
    return tf.add_n([tf.reduce_sum(tf.square(tf.cast(v, tf.float32) - 3.0)) for v in variables])


def test_variables_of_several_shapes_and_types_are_one_vector(session: tf.Session) -> None:
    a, b = tf.Variable(0.0), tf.Variable([[1.0, 2.0], [3.0, 4.0]], dtype=tf.float64)
    unused = tf.Variable([5.0])
    optimizer = Descent(_square_loss(a, b), [a, unused, b], steps=100)
    session.run(tf.global_variables_initializer())
    optimizer.minimize(session)
    found = session.run([a, b, unused])
    np.testing.assert_allclose(found[0], 3.0, atol=1e-5)
    np.testing.assert_allclose(found[1], np.full([2, 2], 3.0), atol=1e-5)
    assert found[1].dtype == np.float64
    assert found[2].tolist() == [5.0]


def test_the_variables_stay_until_the_program_has_ended(session: tf.Session) -> None:
    v = tf.Variable([1.0])
    scale = tf.placeholder(tf.float32, [])
    seen: list[Any] = []
    steps: list[Any] = []
    optimizer = Descent(scale * _square_loss(v), steps=2)
    session.run(tf.global_variables_initializer())
    optimizer.minimize(
        feed_dict={scale: 0.5},
        fetches=[scale, v],
        loss_callback=lambda *values: seen.append([float(np.squeeze(x)) for x in values]),
        step_callback=lambda values: steps.append((float(values[0]), float(v.eval()[0]))),
    )
    # 1, then 1 + 0.1 * 2, then 1.2 + 0.1 * 1.8: the gradient of half the loss is v - 3.
    np.testing.assert_allclose(seen, [[0.5, 1.0], [0.5, 1.2]], rtol=1e-6)
    np.testing.assert_allclose(steps, [(1.2, 1.0), (1.38, 1.0)], rtol=1e-6)
    np.testing.assert_allclose(v.eval(), [1.38], rtol=1e-6)


def test_rows_are_a_gradient_too(session: tf.Session) -> None:
    table = tf.Variable([[1.0], [2.0], [9.0]])
    optimizer = Descent(_square_loss(tf.gather(table, [0, 0, 1])), [table], steps=60)
    session.run(tf.global_variables_initializer())
    optimizer.minimize()
    np.testing.assert_allclose(table.eval(), [[3.0], [3.0], [9.0]], atol=1e-4)


def test_bounds_and_constraints_are_handed_on(session: tf.Session) -> None:
    a, b = tf.Variable([0.0, 0.0]), tf.Variable(0.0)
    optimizer = Descent(
        _square_loss(a, b),
        equalities=[a[0] + 2.0 * b],
        inequalities=[b - 1.0],
        var_to_bounds={a: ([1.0, -np.inf], 2.0)},
        steps=50,
    )
    session.run(tf.global_variables_initializer())
    optimizer.minimize()
    given = optimizer.given
    assert given["packed_bounds"] == [(1.0, 2.0), (-np.inf, 2.0), (-np.inf, np.inf)]
    at = np.array([5.0, 6.0, 7.0])
    assert given["equality_funcs"][0](at) == 19.0
    assert given["equality_grad_funcs"][0](at).tolist() == [1.0, 0.0, 2.0]
    assert given["inequality_funcs"][0](at) == 6.0
    assert given["inequality_grad_funcs"][0](at).tolist() == [0.0, 0.0, 1.0]
    np.testing.assert_allclose(a.eval(), [2.0, 2.0])


def test_what_makes_no_sense_is_refused() -> None:
    v = tf.Variable(1.0)
    loss = tf.square(v)
    interface = tf.contrib.opt.ExternalOptimizerInterface
    with pytest.raises(ValueError, match="var_list: there are no variables"):
        interface(loss, [])
    with pytest.raises(ValueError, match=r"var_list: the shape of .* must be known"):
        interface(loss, [tf.Variable([1.0], validate_shape=False)])
    with pytest.raises(ValueError, match=r"var_to_bounds: .* is none of the variables"):
        interface(loss, [v], var_to_bounds={tf.Variable(1.0): (0.0, 1.0)})
    with pytest.raises(ValueError, match="expected a scalar"):
        interface(tf.stack([loss, loss]), [v])
    v.initializer.run()
    with pytest.raises(NotImplementedError, match="ExternalOptimizerInterface has no _minimize"):
        interface(loss, [v]).minimize()


def test_scipy_is_called_as_its_function_wants(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[dict[str, Any]] = []

    def minimize(function: Any, start: Any, **arguments: Any) -> dict[str, Any]:
        loss, gradient = function(start)
        calls.append({"loss": loss, "gradient": gradient.tolist(), **arguments})
        return {"x": np.array([8.0]), "fun": 0.0, "message": "done"}

    stub = types.ModuleType("scipy.optimize")
    vars(stub)["minimize"] = minimize
    monkeypatch.setitem(sys.modules, "scipy", types.ModuleType("scipy"))
    monkeypatch.setitem(sys.modules, "scipy.optimize", stub)
    v = tf.Variable([1.0])
    optimizer = tf.contrib.opt.ScipyOptimizerInterface(
        _square_loss(v), inequalities=[v[0]], options={"maxiter": 7}, var_to_bounds={v: (0, 9)}
    )
    v.initializer.run()
    optimizer.minimize()
    (call,) = calls
    assert (call["loss"], call["gradient"]) == (4.0, [-4.0])
    assert (call["method"], call["jac"], call["options"]) == ("L-BFGS-B", True, {"maxiter": 7})
    assert call["bounds"] == [(0.0, 9.0)]
    assert [constraint["type"] for constraint in call["constraints"]] == ["ineq"]
    assert v.eval().tolist() == [8.0]
    for name in ("bounds", "jac"):
        with pytest.raises(ValueError, match=f"{name}: cannot be given here"):
            tf.contrib.opt.ScipyOptimizerInterface(_square_loss(v), **{name: None})


def test_without_scipy_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match="needs the package SciPy: pip install scipy"):
        tf.contrib.opt.ScipyOptimizerInterface(tf.square(tf.Variable(1.0)))


@pytest.mark.skipif(importlib.util.find_spec("scipy") is None, reason="SciPy is not installed")
def test_scipy_finds_a_constrained_minimum(session: tf.Session) -> None:
    v = tf.Variable([7.0, 7.0])
    session.run(tf.global_variables_initializer())
    methods: list[tuple[str, dict[str, Any]]] = [
        ("L-BFGS-B", {}),
        ("SLSQP", {"inequalities": [v[1] - 1.0]}),
    ]
    for method, keywords in methods:
        tf.contrib.opt.ScipyOptimizerInterface(
            tf.reduce_sum(tf.square(v)), method=method, **keywords
        ).minimize(session)
        expected = [0.0, 1.0] if keywords else [0.0, 0.0]
        np.testing.assert_allclose(v.eval(), expected, atol=1e-4)
