"""Variables that start as orthogonal matrices."""

from __future__ import annotations

import math
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import DTYPE, INTEGER, NUMBER, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import random_ops
from millstream._impl.values import dtypes, tensor_shape
from millstream._impl.variables.initializers import Initializer, floating


@public("initializers.Orthogonal")
class Orthogonal(Initializer):
    """A matrix with orthogonal rows or columns, whichever are shorter in number.

    A tensor of more dimensions is such a matrix with a column for each element of the last one.
    The matrix is the orthogonal factor of one of normal random numbers. Saxe, McClelland, Ganguli:
    Exact solutions to the nonlinear dynamics of learning in deep linear neural networks (2013).

    Parameters
    ----------
    gain
        Factor of the elements.
    seed
        Seed of the operation.
    dtype
        Type of the elements.

    Examples
    --------
    >>> q = tf.orthogonal_initializer(seed=1)([2, 3])
    >>> abs(tf.matmul(q, q, transpose_b=True).eval()).round(5).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    @takes(gain=NUMBER, seed=INTEGER, dtype=DTYPE)
    def __init__(
        self, gain: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        self.gain = gain
        self.dtype = floating(dtype)
        self.seed = seed

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """A tensor of the shape, which must have at least two dimensions."""
        dims = tensor_shape.as_shape(shape).as_list()
        if len(dims) < 2:
            raise ValueError(
                "shape: The tensor to initialize must be at least two-dimensional, got "
                f"{len(dims)} dimensions"
            )
        if None in dims:
            raise ValueError(f"shape: expected known dimensions, got {dims}")
        rows, columns = math.prod(size or 0 for size in dims[:-1]), dims[-1] or 0
        tall = [max(rows, columns), min(rows, columns)]
        kind = dtypes.as_dtype(dtype or self.dtype)
        q, r = gen_ops.qr(random_ops.random_normal(tall, dtype=kind, seed=self.seed))
        # With positive diagonals of r all orthogonal matrices are equally likely.
        q = q * gen_ops.sign(gen_ops.matrix_diag_part(r))
        if rows < columns:
            q = gen_ops.transpose(q, [1, 0])
        return gen_ops.reshape(q, dims) * self.gain


orthogonal_initializer = public("orthogonal_initializer", "initializers.orthogonal")(Orthogonal)
