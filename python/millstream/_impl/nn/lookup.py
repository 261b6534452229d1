"""Rows of tables by number."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import TENSOR, TENSORS, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_ops


@public("nn.embedding_lookup")
@takes(params=TENSORS, ids=TENSOR)
def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """Rows of a table.

    Parameters
    ----------
    params
        The table: a tensor or variable of shape [rows, ...], or a list that holds one.
    ids
        Which rows, of any shape.
    partition_strategy
        How rows are spread over several tables, which is not implemented yet.
    name
        Name of the result.
    validate_indices
        Not used: numbers are always checked.
    max_norm
        Not implemented yet.

    Returns
    -------
    Tensor
        The shape of `ids` and that of a row.

    Examples
    --------
    >>> tf.nn.embedding_lookup(tf.constant([[1.0, 2.0], [3.0, 4.0]]), [1, 1]).eval().tolist()
    [[3.0, 4.0], [3.0, 4.0]]
    """
    if isinstance(params, (list, tuple)):
        if len(params) != 1:
            raise NotImplementedError("params: a table in several parts is not implemented yet")
        params = params[0]
    if max_norm is not None:
        raise NotImplementedError("max_norm: clipping rows is not implemented yet")
    with scopes.name_scope(name, "embedding_lookup", [params, ids]) as scope:
        return array_ops.gather(params, ids, name=scope)
