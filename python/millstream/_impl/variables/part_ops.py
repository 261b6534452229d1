"""Functions that change parts of variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, TENSOR, TENSORS, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.variables.variable_ops import variable_to_change


def _scatter_rows(kind: str, what: str, outcome: str, locks: bool = False) -> Callable[..., Tensor]:
    public_name = f"scatter_{kind}"

    @takes(indices=TENSOR, updates=TENSOR)
    def scatter(
        ref: Any, indices: Any, updates: Any, use_locking: bool = locks, name: str | None = None
    ) -> Tensor:
        variable, before = variable_to_change(ref)
        with variable.graph.control_dependencies(before):
            return variable._scatter_rows(kind, indices, updates, name)

    scatter.__doc__ = f"""{what} rows of a variable.

    Parameters
    ----------
    ref
        The variable, or what an assignment to it returned, which then runs before.
    indices
        Numbers of rows, of any shape.
    updates
        A row for each of them, or a scalar for all elements of those rows. The updates of one row
        count one after the other.
    use_locking
        Not used: writes are never torn.
    name
        Name of the operation.

    Returns
    -------
    Tensor
        The value after the write; whatever runs it has written.

    Raises
    ------
    TypeError
        `ref` is no variable, or the updates cannot have its dtype.
    ValueError
        The shapes contradict.
    InvalidArgumentError
        In the step: there is no such row.

    Examples
    --------
    >>> v = tf.Variable([8, 9, 10])
    >>> v.initializer.run()
    >>> tf.{public_name}(v, [0, 2], [3, 20]).eval().tolist()
    {outcome}
    """
    scatter.__name__ = scatter.__qualname__ = public_name
    return scatter


scatter_update = public("scatter_update")(
    _scatter_rows("update", "Replace", "[3, 9, 20]", locks=True)
)
scatter_add = public("scatter_add")(_scatter_rows("add", "Add to", "[11, 9, 30]"))
scatter_sub = public("scatter_sub")(_scatter_rows("sub", "Subtract from", "[5, 9, -10]"))
scatter_mul = public("scatter_mul")(_scatter_rows("mul", "Multiply", "[24, 9, 200]"))
scatter_div = public("scatter_div")(_scatter_rows("div", "Divide", "[2, 9, 0]"))
scatter_min = public("scatter_min")(
    _scatter_rows("min", "Lower to updates that are smaller", "[3, 9, 10]")
)
scatter_max = public("scatter_max")(
    _scatter_rows("max", "Raise to updates that are larger", "[8, 9, 20]")
)


def _scatter_slices(
    kind: str, what: str, outcome: str, locks: bool = False
) -> Callable[..., Tensor]:
    public_name = f"scatter_nd_{kind}"

    @takes(indices=TENSORS, updates=TENSOR)
    def scatter(
        ref: Any, indices: Any, updates: Any, use_locking: bool = locks, name: str | None = None
    ) -> Tensor:
        variable, before = variable_to_change(ref)
        with variable.graph.control_dependencies(before):
            return variable._scatter_slices(kind, indices, updates, name)

    scatter.__doc__ = f"""{what} slices of a variable that index vectors name.

    Parameters
    ----------
    ref
        The variable, or what an assignment to it returned, which then runs before.
    indices
        The vectors, along the last dimension, as for `gather_nd`.
    updates
        A slice for each of them. The updates of one slice count one after the other.
    use_locking
        Not used: writes are never torn.
    name
        Name of the operation.

    Returns
    -------
    Tensor
        The value after the write; whatever runs it has written.

    Raises
    ------
    TypeError
        `ref` is no variable, or the updates cannot have its dtype.
    ValueError
        The shapes contradict.
    InvalidArgumentError
        In the step: an index is outside.

    Examples
    --------
    >>> v = tf.Variable([[1, 2], [3, 4]])
    >>> v.initializer.run()
    >>> tf.{public_name}(v, [[0, 1], [1, 0]], [10, 20]).eval().tolist()
    {outcome}
    """
    scatter.__name__ = scatter.__qualname__ = public_name
    return scatter


scatter_nd_update = public("scatter_nd_update")(
    _scatter_slices("update", "Replace", "[[1, 10], [20, 4]]", locks=True)
)
scatter_nd_add = public("scatter_nd_add")(_scatter_slices("add", "Add to", "[[1, 12], [23, 4]]"))
scatter_nd_sub = public("scatter_nd_sub")(
    _scatter_slices("sub", "Subtract from", "[[1, -8], [-17, 4]]")
)


@public("batch_scatter_update")
@takes(indices=TENSORS, updates=TENSOR)
def batch_scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Replace slices of a variable, batch by batch.

    Parameters
    ----------
    ref
        The variable, or what an assignment to it returned, which then runs before.
    indices
        The first dimensions are those of the variable; along the last one are the numbers of the
        slices to replace.
    updates
        A slice for each of them; of those of one slice the last one counts.
    use_locking
        Not used: writes are never torn.
    name
        Name of the operation.

    Returns
    -------
    Tensor
        The value after the write; whatever runs it has written.

    Raises
    ------
    TypeError
        `ref` is no variable, or the updates cannot have its dtype.
    ValueError
        The shapes contradict, or the rank of `indices` is not known.

    Examples
    --------
    >>> v = tf.Variable([[1, 2, 3], [4, 5, 6]])
    >>> v.initializer.run()
    >>> tf.batch_scatter_update(v, [[2], [0]], [[30], [40]]).eval().tolist()
    [[1, 2, 30], [40, 5, 6]]
    """
    variable, before = variable_to_change(ref)
    with variable.graph.control_dependencies(before):
        return variable._batch_update(indices, updates, name)


@public("count_up_to")
@takes(limit=INTEGER)
def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """The value of a scalar variable, to which one is added, until it reaches a limit.

    Parameters
    ----------
    ref
        The variable, of int32 or int64, or what an assignment to it returned, which then runs
        before.
    limit
        The value at which counting ends.
    name
        Name of the operation.

    Returns
    -------
    Tensor
        The value before.

    Raises
    ------
    TypeError
        `ref` is no variable, or not of whole numbers.
    OutOfRangeError
        In the step: the limit is reached.

    Examples
    --------
    >>> v = tf.Variable(0)
    >>> v.initializer.run()
    >>> count = tf.count_up_to(v, 2)
    >>> int(count.eval()), int(count.eval())
    (0, 1)
    """
    variable, before = variable_to_change(ref)
    with variable.graph.control_dependencies(before):
        return variable._count_up_to(limit, name)
