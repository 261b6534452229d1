"""Features of rows in all combinations."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, TENSORS, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes

_HASH_KEY = 0xDECAFCAFFE


@public("sparse.cross")
@takes(inputs=TENSORS)
def cross(inputs: Any, name: str | None = None) -> SparseTensor:
    """Join the features of each row in all combinations, one of each input, as texts.

    Parameters
    ----------
    inputs
        Matrices with as many rows, each a `SparseTensor` or a tensor, of strings or integers.
    name
        Name of the operation.

    Examples
    --------
    >>> tf.sparse.cross([[["a", "b"]], [["x"]]]).values.eval().tolist()
    [b'a_X_x', b'b_X_x']
    """
    return _crossed(inputs, name, hashed_output=False, num_buckets=0, hash_key=_HASH_KEY)


@public("sparse.cross_hashed")
@takes(inputs=TENSORS, num_buckets=INTEGER, hash_key=or_none(INTEGER))
def cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """Join the features of each row in all combinations, one of each input, as hashes.

    Parameters
    ----------
    inputs
        Matrices with as many rows, each a `SparseTensor` or a tensor, of strings or integers.
    num_buckets
        The number that hashes are below; 0 for any.
    hash_key
        What hashes begin with.
    name
        Name of the operation.

    Examples
    --------
    >>> tf.sparse.cross_hashed([[["a", "b"]], [["x"]]], num_buckets=100).values.eval().tolist()
    [92, 4]
    """
    key = hash_key or _HASH_KEY  # 0 stands for none, as in 1.15
    return _crossed(inputs, name, hashed_output=True, num_buckets=num_buckets, hash_key=key)


def _crossed(inputs: Any, name: str | None, **attrs: Any) -> SparseTensor:
    sparse = [one for one in inputs if isinstance(one, SparseTensor)]
    dense = [
        convert_to_tensor(one, name="inputs") for one in inputs if not isinstance(one, SparseTensor)
    ]
    values = [_feature(one.values) for one in sparse]
    others = [_feature(one) for one in dense]
    has_integers = any(one.dtype == dtypes.int64 for one in [*values, *others])
    indices_out, values_out, shape_out = gen_ops.sparse_cross(
        [one.indices for one in sparse],
        values,
        [one.dense_shape for one in sparse],
        others,
        out_type=dtypes.int64 if attrs["hashed_output"] else dtypes.string,
        internal_type=dtypes.int64 if has_integers else dtypes.string,
        name=name,
        **attrs,
    )
    return SparseTensor(indices_out, values_out, shape_out)


def _feature(tensor: Tensor) -> Tensor:
    """A tensor of strings or of int64."""
    if tensor.dtype in (dtypes.string, dtypes.int64):
        return tensor
    return gen_ops.cast(tensor, dtypes.int64)
