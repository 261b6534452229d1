"""Rows of which only some are kept."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import TENSOR, Kind, takes
from millstream._impl.ops.array_search import setdiff1d
from millstream._impl.ops.indexed_slices import IndexedSlices

_SLICES = Kind("tf.IndexedSlices", lambda value: isinstance(value, IndexedSlices))


@public("sparse_mask", "sparse.mask")
@takes(a=_SLICES, mask_indices=TENSOR)
def sparse_mask(a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """Those of the rows of a tensor that are not among given ones.

    Parameters
    ----------
    a
        `IndexedSlices`.
    mask_indices
        The rows to leave out, a vector.
    name
        Name of the scope.

    Examples
    --------
    >>> rows = tf.IndexedSlices(tf.constant([[1.0], [2.0], [3.0]]), tf.constant([7, 4, 9]))
    >>> tf.sparse_mask(rows, [4]).indices.eval()
    array([7, 9], dtype=int32)
    """
    with scopes.name_scope(name, "sparse_mask", [a.values, a.indices]):
        indices, positions = setdiff1d(a.indices, mask_indices)
        return IndexedSlices(gen_ops.gather_v2(a.values, positions, 0), indices, a.dense_shape)
