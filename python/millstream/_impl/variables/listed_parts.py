"""Variables in parts, as lists of the parts."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import DTYPE, INITIALIZER, LIST, TEXT, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.values import dtypes
from millstream._impl.variables.variable_scope import variable_scope
from millstream._impl.variables.variable_store import store_of


@public("create_partitioned_variables")
@takes(shape=LIST, slicing=LIST, initializer=INITIALIZER, dtype=DTYPE, name=TEXT)
def create_partitioned_variables(
    shape: Any,
    slicing: Any,
    initializer: Any,
    dtype: Any = dtypes.float32,
    trainable: bool = True,
    collections: Any = None,
    name: str | None = None,
    reuse: Any = None,
) -> list[Any]:
    """The parts of a variable.

    `get_variable` with a `partitioner` makes such variables that are used as a whole.

    Parameters
    ----------
    shape
        The sizes of the whole.
    slicing
        For each dimension the number of parts; one of them may be greater than 1.
    initializer
        A function of a shape, or the first value of the whole.
    dtype, trainable, collections
        As for `get_variable`.
    name
        The scope of the parts; by default "PartitionedVariable", made unique.
    reuse
        True for parts that there are already; see `variable_scope`.

    Raises
    ------
    ValueError
        `shape` and `slicing` do not go together.

    Examples
    --------
    >>> parts = tf.create_partitioned_variables([4, 3], [2, 1], tf.zeros_initializer(), name="t")
    >>> [part.name for part in parts], parts[0].shape.as_list()
    (['t/part_0:0', 't/part_1:0'], [2, 3])
    """
    if len(shape) != len(slicing):
        raise ValueError(
            "slicing: The 'shape' and 'slicing' of a partitioned Variable must have the same "
            f"length, got shape: {shape}, slicing: {slicing}"
        )
    if not shape:
        raise ValueError(
            f"shape: A partitioned Variable must have rank at least 1, got shape: {shape}"
        )

    def partitioner(**unused: Any) -> Any:
        return list(slicing)

    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope:
        store = store_of(get_default_graph())
        with get_default_graph().name_scope(None):
            found = store.get(
                scope.name,
                shape=shape,
                dtype=dtype,
                initializer=initializer,
                reuse=scope.reuse,
                trainable=trainable,
                collections=collections,
                partitioner=partitioner,
            )
    return list(found)
