"""Gradients of graphs beside those of differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import (
    MAPPING,
    NUMBER,
    SHAPE,
    TENSOR,
    TENSOR_ITSELF,
    Kind,
    takes,
)
from millstream._impl.graph.convert import constant, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_ops, gradient_ops
from millstream._impl.session.base_session import get_default_session
from millstream._impl.values.tensor_shape import as_shape

_INPUTS = Kind(
    "a tensor or a list of tensors",
    lambda value: TENSOR_ITSELF.accepts(value) or isinstance(value, (list, tuple)),
)


@public("test.compute_gradient")
@takes(
    x=_INPUTS,
    x_shape=SHAPE,
    y=TENSOR_ITSELF,
    y_shape=SHAPE,
    x_init_value=TENSOR,
    delta=NUMBER,
    extra_feed_dict=MAPPING,
)
def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """The Jacobian of a tensor, from the graph's gradients and from central differences.

    It runs in the default session.

    Parameters
    ----------
    x
        The tensor to derive by, or a list of them.
    x_shape
        Its shape, or a list of their shapes.
    y
        The tensor to derive.
    y_shape
        Its shape.
    x_init_value
        Where to derive, or a list for several tensors; by default at random in [0, 1).
    delta
        The step of the differences.
    init_targets
        What is run first, such as initializers of variables.
    extra_feed_dict
        Values of further tensors.

    Returns
    -------
    tuple or list
        Two matrices, from gradients and from differences: row i and column j have the derivative of
        element j of `y` by element i of `x`. A complex number counts as two elements, its real and
        its imaginary part. For a list of tensors, a list of such pairs.

    Raises
    ------
    RuntimeError
        There is no default session.
    ValueError
        A tensor is not of floating-point or complex numbers, or `y` does not depend on it.

    Examples
    --------
    >>> x = tf.placeholder(tf.float64, [2])
    >>> exact, found = tf.test.compute_gradient(x, [2], x * x, [2], np.array([1.0, 2.0]))
    >>> exact.tolist(), found.round(6).tolist()
    ([[2.0, 0.0], [0.0, 4.0]], [[2.0, 0.0], [0.0, 4.0]])
    """
    if init_targets is not None:
        try:
            _session().run(init_targets)
        except TypeError as error:
            raise TypeError(f"init_targets: {error}") from None
    extra = dict(extra_feed_dict or {})
    if not isinstance(x, (list, tuple)):
        return _jacobians(_Case(x, x_shape, x_init_value), {}, y, y_shape, delta, extra)
    values = [None] * len(x) if x_init_value is None else list(x_init_value)
    cases = [_Case(*each) for each in zip(x, x_shape, values, strict=True)]
    fed = {case.tensor: case.value for case in cases}
    return [_jacobians(case, fed, y, y_shape, delta, extra) for case in cases]


@public("test.compute_gradient_error")
@takes(
    x=_INPUTS,
    x_shape=SHAPE,
    y=TENSOR_ITSELF,
    y_shape=SHAPE,
    x_init_value=TENSOR,
    delta=NUMBER,
    extra_feed_dict=MAPPING,
)
def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> float:
    """The greatest difference between the two Jacobians of `compute_gradient`.

    Parameters
    ----------
    x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
        As for `compute_gradient`.

    Examples
    --------
    >>> x = tf.placeholder(tf.float64, [2])
    >>> tf.test.compute_gradient_error(x, [2], tf.exp(x), [2]) < 1e-5
    True
    """
    found = compute_gradient(
        x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
    )
    pairs = [found] if isinstance(found, tuple) else found
    return max(
        (float(np.abs(exact - near).max()) for exact, near in pairs if exact.size), default=0.0
    )


def _session() -> Any:
    session = get_default_session()
    if session is None:
        raise RuntimeError("compute_gradient runs in the default session, and there is none")
    return session


class _Case:
    """A tensor to derive by, and the value at which."""

    def __init__(self, tensor: Any, shape: Any, value: Any) -> None:
        self.tensor = convert_to_tensor(tensor)
        dtype = self.tensor.dtype.base_dtype
        _check_dtype("x", dtype)
        if value is None:
            sizes = [size or 0 for size in as_shape(shape).as_list()]
            value = _drawn(sizes)
            if dtype.is_complex:
                value = value + 1j * _drawn(sizes)
        self.value = np.array(value, dtype.as_numpy_dtype)
        if not as_shape(shape).is_compatible_with(as_shape(self.value.shape)):
            raise ValueError(f"x_shape: expected {self.value.shape}, as of the value, got {shape}")


def _drawn(sizes: list[int]) -> Any:
    """Random numbers that follow from NumPy's global seed, as test cases set it."""
    return np.random.random_sample(sizes)  # noqa: NPY002


def _check_dtype(name: str, dtype: Any) -> None:
    if not (dtype.is_floating or dtype.is_complex):
        raise ValueError(f"{name}: expected floating-point or complex numbers, got {dtype.name}")


def _jacobians(
    case: _Case, fed: Mapping[Any, Any], y: Any, y_shape: Any, delta: float, extra: dict[Any, Any]
) -> tuple[Any, Any]:
    """Both Jacobians of `y` by one tensor."""
    target = convert_to_tensor(y)
    _check_dtype("y", target.dtype.base_dtype)
    feeds = {**fed, **extra}
    run = _session().run

    def value_at(point: Any) -> Any:
        return np.asarray(run(target, {**feeds, case.tensor: point}))

    sizes = [size or 0 for size in as_shape(y_shape).as_list()]
    exact = _from_gradients(case, target, sizes, feeds)
    near = np.zeros_like(exact)
    for row, (plus, minus) in enumerate(_neighbours(case.value, delta)):
        change = _as_reals(value_at(plus)).astype(np.float64) - _as_reals(value_at(minus))
        near[row] = change / (2 * delta)
    return exact, near


def _from_gradients(case: _Case, target: Tensor, sizes: list[int], feeds: Any) -> Any:
    """The Jacobian from gradients: a column for each element of `y`."""
    dtype = target.dtype.as_numpy_dtype
    with target.graph.as_default():
        weights = array_ops.identity(constant(np.ones(sizes, dtype)))
        (slope,) = gradient_ops.gradients(target, case.tensor, weights)
        if slope is None:
            raise ValueError(f"y: {target!r} does not depend on {case.tensor!r}")
        slope = convert_to_tensor(slope)
    run = _session().run
    width = _as_reals(np.zeros(sizes, dtype)).size
    jacobian = np.zeros([_as_reals(case.value).size, width], np.float64)
    for column in range(width):
        chosen = np.zeros(sizes, dtype)
        _as_reals(chosen)[column] = 1
        value = run(slope, {**feeds, case.tensor: case.value, weights: chosen})
        jacobian[:, column] = _as_reals(np.asarray(value))
    return jacobian.astype(_as_reals(np.zeros([1], dtype)).dtype)


def _as_reals(value: Any) -> Any:
    """The elements in a row; of complex numbers, real and imaginary parts in turn."""
    flat = np.ascontiguousarray(value).reshape(-1)
    return flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat


def _neighbours(value: Any, delta: float) -> Any:
    """For each real number of a value, the value with more and with less of it."""
    for index in range(_as_reals(value).size):
        moved = []
        for step in (delta, -delta):
            point = np.array(value)
            _as_reals(point)[index] += step
            moved.append(point)
        yield moved
