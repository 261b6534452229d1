"""Sparse tensors whose values each step is fed."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import DTYPE, SHAPE, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops.array_creation import placeholder
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import as_shape


@public("sparse_placeholder", "sparse.placeholder")
@takes(dtype=DTYPE, shape=SHAPE)
def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """A `SparseTensor` whose value each step is fed.

    Parameters
    ----------
    dtype
        Type of the elements.
    shape
        The shape of the whole tensor. When it is None or has a size that is None, the shape is fed
        too.
    name
        What the names of its three parts begin with.

    Raises
    ------
    TypeError
        `dtype` is no data type, or `shape` no shape.

    Examples
    --------
    >>> x = tf.sparse_placeholder(tf.float32)
    >>> value = tf.SparseTensorValue([[0, 1]], [2.0], [1, 3])
    >>> tf.get_default_session().run(x.values, {x: value}).tolist()
    [2.0]
    """

    def part(suffix: str) -> str | None:
        return None if name is None else f"{name}/{suffix}"

    known = shape if isinstance(shape, TensorLike) else as_shape(shape)
    if isinstance(known, TensorLike) or known.is_fully_defined():
        given = known if isinstance(known, TensorLike) else known.as_list()
        sizes = convert_to_tensor(given, dtypes.int64, part("shape"))
        rank = sizes.shape.with_rank(1)[0].value
    else:
        rank = known.ndims
        sizes = placeholder(dtypes.int64, [rank], part("shape"))
    values = placeholder(dtype, [None], part("values"))
    indices = placeholder(dtypes.int64, [None, rank], part("indices"))
    return SparseTensor(indices, values, sizes)
