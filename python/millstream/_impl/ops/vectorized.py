"""A function for each row of tensors, whose results say their own types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import FUNCTION, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.ops import nest
from millstream._impl.ops.functional_ops import map_fn


@public("vectorized_map")
@takes(fn=FUNCTION)
def vectorized_map(fn: Callable[[Any], Any], elems: Any) -> Any:
    """What a function gives for each row of tensors, as the rows of tensors.

    It is `map_fn` with types that follow from what the function gives. The rows are computed one
    after the other.

    Parameters
    ----------
    fn
        A function of a row, in the structure of `elems`. It is called twice: for the types of its
        results, and for the rows.
    elems
        A tensor, or a nested structure of tensors with equal first dimensions.

    Examples
    --------
    >>> rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.vectorized_map(lambda row: (tf.reduce_sum(row), tf.cast(row, tf.int32)), rows)[0].eval()
    array([3., 7.], dtype=float32)
    """
    with scopes.name_scope(None, "vectorized_map", nest.flatten(elems)):
        given = nest.map_structure(lambda elem: convert_to_tensor(elem, name="elems"), elems)
        # No step runs these operations: nothing takes their results.
        first = fn(nest.map_structure(lambda tensor: gen_ops.gather_v2(tensor, 0, 0), given))
        kinds = nest.map_structure(lambda result: convert_to_tensor(result).dtype, first)
        return map_fn(lambda row: nest.map_structure(convert_to_tensor, fn(row)), given, kinds)
