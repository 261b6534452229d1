"""Exponentials of square matrices."""

from __future__ import annotations

import math
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, array_ops, math_ops, matrices, reductions
from millstream._impl.ops.loops import while_loop
from millstream._impl.values import dtypes

# Of a type: the order of the approximation, and the largest norm for which it is exact enough.
_SINGLE = (7, 3.925724783138660)
_DOUBLE = (13, 5.371920351148152)
_APPROXIMATIONS = {
    dtypes.float16: _SINGLE,
    dtypes.float32: _SINGLE,
    dtypes.complex64: _SINGLE,
    dtypes.float64: _DOUBLE,
    dtypes.complex128: _DOUBLE,
}
# No finite matrix needs as many; one with infinite elements would be squared without end.
_MOST_SQUARINGS = 1100


def _coefficients(order: int) -> list[float]:
    """Those of the numerator of the diagonal Pade approximation of the exponential."""
    found = [1.0]
    for k in range(1, order + 1):
        found.append(found[-1] * (order - k + 1) / ((2 * order - k + 1) * k))
    return found


def _approximate(matrix: Any, order: int) -> Tensor:
    """The exponentials of matrices of small norms, [batch, n, n]."""
    factors = [convert_to_tensor(factor, matrix.dtype) for factor in _coefficients(order)]
    size = array_ops.shape(matrix)[-1]
    square = matrix @ matrix
    powers = [matrices.eye(size, dtype=matrix.dtype), square, square @ square]
    powers.append(powers[2] @ square)

    def polynomial(first: int) -> Any:
        """Every other term from `first` on, over the matrix to the power of `first`."""
        own = factors[first::2]
        low = sum(factor * power for factor, power in zip(own, powers, strict=False))
        if len(own) <= len(powers):
            return low
        rest = zip(own[len(powers) :], powers[1:], strict=True)
        return low + powers[-1] @ sum(factor * power for factor, power in rest)

    odd, even = matrix @ polynomial(1), polynomial(0)
    return gen_ops.matrix_solve(even - odd, even + odd)


@public("linalg.expm")
@takes(input=TENSOR)
def matrix_exponential(
    input: Any,  # noqa: A002
    name: str | None = None,
) -> Tensor:
    """The exponentials of square matrices: the sums of their powers over factorials.

    A Pade approximation of a matrix that is scaled down is squared as often as it was halved.

    Parameters
    ----------
    input
        The matrices, ``[..., n, n]``, of floating-point or complex numbers.
    name
        Name of the scope.

    Returns
    -------
    Tensor
        Of the type and shape of `input`.

    Raises
    ------
    ValueError
        `input` is of another type.

    Examples
    --------
    >>> tf.linalg.expm([[0.0, 2.0], [0.0, 0.0]]).eval().tolist()
    [[1.0, 2.0], [0.0, 1.0]]
    """
    with scopes.name_scope(name, "matrix_exponential", [input]):
        given = convert_to_tensor(input, name="input")
        if given.dtype not in _APPROXIMATIONS:
            raise ValueError(f"argument 'input': tf.linalg.expm has no type {given.dtype.name}")
        static = given.shape
        if static.ndims is not None and static[-2:].as_list() == [0, 0]:
            return given
        order, largest = _APPROXIMATIONS[given.dtype]
        shape = array_ops.shape(given)
        batch = array_ops.reshape(given, array_join.concat([[-1], shape[-2:]], 0))
        sums = reductions.reduce_sum(math_ops.abs(batch), axis=1)
        norms: Any = reductions.reduce_max(sums, axis=1)
        halvings = gen_ops.ceil(gen_ops.log(norms / largest) / math.log(2.0))
        squarings = gen_ops.minimum(gen_ops.maximum(halvings, 0), _MOST_SQUARINGS)
        two = convert_to_tensor(2.0, norms.dtype)
        scales = math_ops.cast(gen_ops.pow(two, -squarings), given.dtype)
        scaled = batch * array_ops.reshape(scales, [-1, 1, 1])
        most = reductions.reduce_max(squarings)

        def goes_on(i: Any, _: Any) -> Tensor:
            return gen_ops.less(i, most)

        def squared(i: Any, result: Any) -> Any:
            return i + 1, array_ops.where(gen_ops.less(i, squarings), result @ result, result)

        first = convert_to_tensor(0, norms.dtype)
        _, result = while_loop(goes_on, squared, [first, _approximate(scaled, order)])
        result = array_ops.reshape(result, shape)
        result.set_shape(static)
        return result
