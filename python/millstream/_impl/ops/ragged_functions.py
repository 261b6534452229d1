"""What functions of tensors do with ragged ones: the table of `for_ragged`'s keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import one_of
from millstream._impl.graph.convert import constant, constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import (
    array_creation,
    array_join,
    array_ops,
    check_ops,
    math_ops,
    ragged_ops,
    ragged_stack,
)
from millstream._impl.ops.ragged_broadcast import of_elements
from millstream._impl.ops.ragged_indices import batch_gather, gather_nd
from millstream._impl.ops.ragged_reductions import axes_of
from millstream._impl.ops.ragged_rows import RaggedRows, rowids_of_splits
from millstream._impl.ops.ragged_segments import SEGMENTS
from millstream._impl.ops.ragged_tensor import row_count
from millstream._impl.ops.ragged_tile import tile
from millstream._impl.values import dtypes


def call(key: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a function gives of arguments with a ragged tensor among them.

    Parameters
    ----------
    key
        Which function it is; or "elements" for one that works on the elements of ragged tensors,
        and "broadcast" for one that broadcasts other tensors to these.
    function, args, kwargs
        The function for tensors, and the arguments.
    """
    if key in ("elements", "broadcast"):
        return of_elements(function, args, kwargs, is_broadcast=key == "broadcast")
    return _FUNCTIONS[key](*args, **kwargs)


def _rows_of(value: Any, name: str) -> Any:
    """A ragged tensor. TypeError if another argument is ragged, and this one is not."""
    if isinstance(value, RaggedRows):
        return value
    raise TypeError(f"{name}: expected a ragged tensor beside ragged arguments, got {value!r}")


def _dimension(axis: Any, rank: int | None) -> int:
    known = constant_value(axis) if isinstance(axis, TensorLike) else axis
    if known is None:
        raise ValueError(f"axis: expected a constant, got {axis!r}")
    return axes_of(int(known), rank)[0]


# ---- Shapes ----


def _size(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Tensor:  # noqa: A002
    return gen_ops.size(_rows_of(input, "input").flat_values, out_type, name)


def _rank(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    rows = _rows_of(input, "input")
    known = rows.shape.ndims
    if known is not None:
        return constant(known, dtypes.int32, name=name or "Rank")
    found: Tensor = gen_ops.add_v2(gen_ops.rank(rows.flat_values), rows.ragged_rank, name)
    return found


def _expand_dims(
    input: Any,  # noqa: A002
    axis: Any = None,
    name: str | None = None,
    dim: Any = None,
) -> Any:
    axis = one_of(axis, dim, "axis", "dim")
    if axis is None:
        raise ValueError("axis: expected where to insert a dimension")
    rows = _rows_of(input, "input")
    rank = rows.shape.ndims
    with scopes.name_scope(name, "RaggedExpandDims", [rows]):
        return _expanded(rows, _dimension(axis, None if rank is None else rank + 1))


def _expanded(value: Any, axis: int) -> Any:
    if not isinstance(value, RaggedRows):
        return gen_ops.expand_dims(value, axis)
    if axis > 1:
        return value.with_values(_expanded(value.values, axis - 1))
    count = value.nrows()
    if axis == 0:
        return value._like(value, array_join.stack([gen_ops.zeros_like(count), count]))
    return value._like(value, math_ops.range(count + 1, dtype=count.dtype))


def _squeeze(
    input: Any,  # noqa: A002
    axis: Any = None,
    name: str | None = None,
    squeeze_dims: Any = None,
) -> Any:
    axis = one_of(axis, squeeze_dims, "axis", "squeeze_dims")
    if axis is None:
        raise ValueError("axis: Ragged.squeeze must have an axis argument.")
    found = _rows_of(input, "input")
    with scopes.name_scope(name, "RaggedSqueeze", [found]):
        for place in axes_of(axis, found.shape.ndims):
            found = _squeezed(found, place)
        return found


def _squeezed(value: Any, axis: int) -> Any:
    if not isinstance(value, RaggedRows):
        return gen_ops.squeeze(value, [axis])
    if axis > 1:
        return value.with_values(_squeezed(value.values, axis - 1))
    sizes = value.row_lengths() if axis else value.nrows()
    one = convert_to_tensor(1, sizes.dtype)
    check = check_ops.assert_equal(
        sizes, one, message=f"axis: expected size 1 along dimension {axis} of a ragged tensor"
    )
    with scopes.control_dependencies([check]):
        return gen_ops.identity(value.values)


# ---- Choices ----


def _where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    if (x is None) != (y is None):
        raise ValueError("x and y must both be given or both be left out")
    with scopes.name_scope(name, "RaggedWhere", [condition, x, y]):
        if x is None:
            return _places(_rows_of(condition, "condition"))
        if all(isinstance(one, RaggedRows) for one in (condition, x, y)):
            return of_elements(array_ops.where, (condition, x, y), {})
        if isinstance(condition, RaggedRows):
            raise ValueError(
                "Input shapes do not match: x and y must be ragged where the condition is"
            )
        return _rows_chosen(convert_to_tensor(condition, dtypes.bool, "condition"), x, y)


def _rows_chosen(condition: Tensor, x: Any, y: Any) -> Any:
    """Row i of x or of y, as element i of the condition says."""
    condition.shape.assert_has_rank(1)
    counts = [
        row_count(one if isinstance(one, RaggedRows) else convert_to_tensor(one), dtypes.int64)
        for one in (x, y)
    ]
    of_x, of_y = (math_ops.range(count, dtype=dtypes.int64) for count in counts)
    rows = gen_ops.select(condition, of_x, of_y + counts[0])
    return array_ops.gather(array_join.concat([x, y], 0), rows)


def _where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    if x is None or y is None:
        return _where(condition, x, y, name)
    typed = [one for one in (x, y) if isinstance(one, TensorLike)]
    wanted = typed[0].dtype.base_dtype if typed else None
    given = [
        one if isinstance(one, RaggedRows) else convert_to_tensor(one, dtype)
        for one, dtype in ((condition, dtypes.bool), (x, wanted), (y, wanted))
    ]
    return of_elements(gen_ops.select_v2, given, {"name": name}, is_broadcast=True)


def _places(value: Any) -> Tensor:
    """The indices of the true elements, one a row, of int64."""
    if not isinstance(value, RaggedRows):
        return gen_ops.where(value)
    inner = _places(value.values)
    splits = math_ops.cast(value.row_splits, dtypes.int64)
    numbers = inner[:, 0]
    rows = gen_ops.gather_v2(rowids_of_splits(splits), numbers, 0)
    columns = numbers - gen_ops.gather_v2(splits, rows, 0)
    return array_join.concat([array_join.stack([rows, columns], 1), inner[:, 1:]], 1)


def _boolean_mask(
    tensor: Any, mask: Any, name: str | None = "boolean_mask", axis: Any = None
) -> Any:
    if axis is not None and _dimension(axis, None) != 0:
        raise ValueError(f"axis: expected 0 with a ragged tensor or mask, got {axis!r}")
    return ragged_ops.boolean_mask(tensor, mask, name)


def _one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    rows = _rows_of(indices, "indices")
    if axis is not None and axis >= 0:
        if axis <= rows.ragged_rank:
            raise ValueError(
                f"axis: axis ({axis}) must be greater than indices.ragged_rank "
                f"({rows.ragged_rank})."
            )
        axis -= rows.ragged_rank
    flat = array_creation.one_hot(rows.flat_values, depth, on_value, off_value, axis, dtype, name)
    return rows.with_flat_values(flat)


def _stack(values: Any, axis: int = 0, name: str | None = "stack") -> Any:
    return ragged_stack.stack(values, axis, name)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "batch_gather": batch_gather,
    "boolean_mask": _boolean_mask,
    "expand_dims": _expand_dims,
    "gather_nd": gather_nd,
    "one_hot": _one_hot,
    "rank": _rank,
    "size": _size,
    "squeeze": _squeeze,
    "stack": _stack,
    "tile": tile,
    "where": _where,
    "where_v2": _where_v2,
    **SEGMENTS,
}
