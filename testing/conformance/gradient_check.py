"""Checks gradients against central differences, in float64, and gradients of gradients."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.gradient import Check
from testing.ops.support.number_types import Array

# As far as differences are off, see `Check.step`.
_RTOL = 1e-7
_ATOL = 1e-8


class Known(enum.Enum):
    """What a graph knows of the shapes of its inputs."""

    SHAPES = enum.auto()
    RANKS = enum.auto()
    NOTHING = enum.auto()


def _static_shape(array: Array, known: Known) -> Sequence[int | None] | None:
    if known is Known.NOTHING:
        return None
    return array.shape if known is Known.SHAPES else [None] * array.ndim


class _Differentiated:
    """The graph of a check: outputs y, and the gradients of sum(weight * y) by the inputs."""

    def __init__(self, check: Check, known: Known) -> None:
        self._check = check
        with tf.Graph().as_default():
            self._feeds = [
                tf.placeholder(array.dtype, _static_shape(array, known)) for array in check.inputs
            ]
            sources = list(self._feeds)
            if check.of_variable:
                value = self._feeds[0]
                handle = gen_ops.var_handle_op(dtype=value.dtype, shape=check.inputs[0].shape)
                self._assign = gen_ops.assign_variable_op(handle, value)
                sources[0] = handle
            self._outputs = _listed(check.build(*sources))
            self._session = tf.Session()
            self.weights = self._make_weights()
            self._gradients = tf.gradients(self._outputs, sources, self.weights)

    def _make_weights(self) -> list[Array]:
        """Eighths, which every floating-point type holds exactly."""
        random = np.random.default_rng(1)
        return [
            (random.integers(1, 16, np.shape(value)) / 8.0).astype(value.dtype)
            for value in self._run(self._outputs, self._check.inputs)
        ]

    def _run(self, fetches: Sequence[Any], inputs: Sequence[Array]) -> list[Any]:
        feeds = dict(zip(self._feeds, inputs, strict=True))
        if self._check.of_variable:
            self._session.run(self._assign, feeds)
        return list(self._session.run(list(fetches), feeds))

    def weighted_sum(self, inputs: Sequence[Array]) -> float:
        """The number that is differentiated."""
        values = self._run(self._outputs, inputs)
        pairs = zip(values, self.weights, strict=True)
        return sum(float(np.sum(value.astype(np.float64) * weight)) for value, weight in pairs)

    def gradients(self) -> list[Array]:
        """What the gradient functions give; zeros where they give none."""
        present = [gradient for gradient in self._gradients if gradient is not None]
        values = iter(self._run(present, self._check.inputs))
        return [
            np.zeros_like(array) if gradient is None else _dense(next(values), array.shape)
            for gradient, array in zip(self._gradients, self._check.inputs, strict=True)
        ]


def _listed(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def _dense(value: Any, shape: tuple[int, ...]) -> Array:
    if not hasattr(value, "indices"):
        return np.asarray(value)
    result = np.zeros(shape, value.values.dtype)
    np.add.at(result, value.indices, value.values)
    return result


def numeric_gradient(
    function: Callable[[Sequence[Array]], float], inputs: Sequence[Array], which: int, step: float
) -> Array:
    """Central differences of a function of arrays by each element of one of them."""
    result = np.zeros_like(inputs[which])
    for index in np.ndindex(result.shape):
        sides = []
        for sign in (-1, 1):
            moved = [np.array(array) for array in inputs]
            moved[which][index] += sign * step
            sides.append(function(moved))
        result[index] = (sides[1] - sides[0]) / (2 * step)
    return result


def of_second_order(check: Check) -> Check:
    """The check of a check's gradients.

    They are functions of the inputs and of the gradients that come down to the outputs.

    Parameters
    ----------
    check
        A check of gradients of the first order.

    Returns
    -------
    Check
        Its outputs are the gradients by the inputs that have one.
    """
    count = len(check.inputs)

    def build(*tensors: Any) -> list[Any]:
        sources, above = list(tensors[:count]), list(tensors[count:])
        gradients = tf.gradients(_listed(check.build(*sources)), sources, above)
        return [tf.convert_to_tensor(gradient) for gradient in gradients if gradient is not None]

    above = _Differentiated(check, Known.SHAPES).weights
    return Check(build, (*check.inputs, *above), check.step, check.of_variable)


def assert_gradients_are_right(op: str, check: Check, known: Known) -> None:
    """Compare the gradients by every input with central differences.

    Parameters
    ----------
    op
        The op that the check is for.
    check
        What to check.
    known
        What the graph knows of the inputs' static shapes.

    Raises
    ------
    AssertionError
        A gradient is wrong.
    """
    differentiated = _Differentiated(check, known)
    for which, got in enumerate(differentiated.gradients()):
        want = numeric_gradient(differentiated.weighted_sum, check.inputs, which, check.step)
        message = f"{op}: gradient by input {which}"
        assert np.isfinite(want).all(), f"{message}: the differences are {want}"
        np.testing.assert_allclose(got, want, rtol=_RTOL, atol=_ATOL, err_msg=message)
