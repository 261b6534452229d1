"""Functions that make ragged tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, INTEGER, NUMBER, SHAPE, TENSOR, or_none, takes
from millstream._impl.graph.convert import constant as dense_constant
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_creation, array_join, math_ops, reductions
from millstream._impl.ops.ragged_rows import rowids_of_splits
from millstream._impl.ops.ragged_slicing import gather_rows
from millstream._impl.ops.ragged_tensor import RaggedTensor
from millstream._impl.ops.ragged_value import RaggedTensorValue, value_of_parts
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import as_shape

# ---- Of Python's lists ----


def _depth(value: Any) -> int:
    """How deep lists are nested, at the deepest place."""
    if isinstance(value, np.ndarray):
        return value.ndim
    if not isinstance(value, (list, tuple)):
        return 0
    return 1 + max((_depth(item) for item in value), default=0)


def _inner_shape_of(value: Any, ragged_rank: int) -> tuple[int, ...]:
    """The shape of what is inside of that many dimensions of rows."""
    items = [value]
    for _ in range(ragged_rank + 1):
        if any(not isinstance(one, (list, tuple, np.ndarray)) for one in items):
            raise ValueError("pylist: all scalar values must have the same nesting depth")
        items = [item for one in items for item in one]
    shape: list[int] = []
    while items and isinstance(items[0], (list, tuple, np.ndarray)):
        if len({len(item) for item in items}) != 1:
            raise ValueError("pylist: inner values must have consistent shape")
        shape.append(len(items[0]))
        items = [item for one in items for item in one]
    return tuple(shape)


def _parts_of_list(
    pylist: Any, dtype: Any, ragged_rank: int | None, inner_shape: Any, splits_dtype: Any
) -> list[Any]:
    """Flat values, then splits, outermost first, as arrays."""
    depth = _depth(pylist)
    if ragged_rank is None:
        ragged_rank = max(0, depth - 1 - (0 if inner_shape is None else len(inner_shape)))
    if ragged_rank < 0 or (ragged_rank and ragged_rank >= max(depth, ragged_rank + 1)):
        raise ValueError(f"ragged_rank: invalid ragged_rank {ragged_rank} for {pylist!r}")
    if inner_shape is None:
        inner_shape = _inner_shape_of(pylist, ragged_rank) if depth else ()
    items = pylist
    splits = []
    for _ in range(ragged_rank):
        if any(not isinstance(item, (list, tuple, np.ndarray)) for item in items):
            raise ValueError(f"pylist has scalar values depth, but ragged_rank={ragged_rank}")
        splits.append(np.cumsum([0, *(len(item) for item in items)]).astype(splits_dtype))
        items = [item for row in items for item in row]
    holds_numbers = inner_shape or not any(isinstance(item, (list, tuple)) for item in items)
    if not holds_numbers:
        raise ValueError(f"pylist={pylist!r} has lists below ragged_rank={ragged_rank}")
    numpy_type = None if dtype is None else dtypes.as_dtype(dtype).as_numpy_dtype
    values = np.array(items, numpy_type)
    if values.size == 0:
        values = np.zeros(len(items) * int(np.prod(inner_shape)), numpy_type or np.float32)
    elif dtype is None and values.dtype == np.float64:
        values = values.astype(np.float32)
    elif dtype is None and values.dtype == np.int64 and np.abs(values).max() < 2**31:
        values = values.astype(np.int32)
    return [values.reshape(len(items), *inner_shape), *splits]


@public("ragged.constant")
@takes(
    pylist=TENSOR,
    dtype=or_none(DTYPE),
    ragged_rank=or_none(INTEGER),
    inner_shape=SHAPE,
    row_splits_dtype=DTYPE,
)
def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: Any = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> Any:
    """A constant ragged tensor of nested lists.

    Parameters
    ----------
    pylist
        The lists, whose elements are equally deep.
    dtype
        Type of the elements; by default that of the elements.
    ragged_rank
        How many dimensions have rows of different lengths; by default all but the first and those
        of `inner_shape`.
    inner_shape
        The shape of what is inside of all rows.
    name
        Name of the result.
    row_splits_dtype
        int32 or int64.

    Returns
    -------
    RaggedTensor or Tensor
        A tensor if there are no dimensions of rows.

    Examples
    --------
    >>> tf.get_default_session().run(tf.ragged.constant([[1, 2], [3]])).to_list()
    [[1, 2], [3]]
    """
    with scopes.name_scope(name, "RaggedConstant"):
        if not isinstance(pylist, (list, tuple, np.ndarray)):
            return dense_constant(pylist, dtype)
        splits_dtype = dtypes.as_dtype(row_splits_dtype).as_numpy_dtype
        parts = _parts_of_list(pylist, dtype, ragged_rank, inner_shape, splits_dtype)
        values = dense_constant(parts[0], dtype)
        splits = [dense_constant(part) for part in parts[1:]]
        return value_of_parts(RaggedTensor._of_parts, [values, *splits])


@public("ragged.constant_value")
@takes(
    pylist=TENSOR,
    dtype=or_none(DTYPE),
    ragged_rank=or_none(INTEGER),
    inner_shape=SHAPE,
    row_splits_dtype=DTYPE,
)
def constant_value(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: Any = None,
    inner_shape: Any = None,
    row_splits_dtype: Any = "int64",
) -> Any:
    """The value of a ragged tensor of nested lists, to be fed.

    Parameters
    ----------
    pylist, dtype, ragged_rank, inner_shape, row_splits_dtype
        See `tf.ragged.constant`.

    Returns
    -------
    RaggedTensorValue or array

    Examples
    --------
    >>> tf.ragged.constant_value([[1, 2], [3]]).row_splits.tolist()
    [0, 2, 3]
    """
    if not isinstance(pylist, (list, tuple, np.ndarray)):
        return np.array(pylist, None if dtype is None else dtypes.as_dtype(dtype).as_numpy_dtype)
    splits_dtype = dtypes.as_dtype(row_splits_dtype).as_numpy_dtype
    parts = _parts_of_list(pylist, dtype, ragged_rank, inner_shape, splits_dtype)
    return value_of_parts(RaggedTensorValue, parts)


@public("ragged.placeholder")
@takes(dtype=DTYPE, ragged_rank=INTEGER, value_shape=SHAPE)
def placeholder(
    dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None
) -> Any:
    """A ragged tensor whose value each step is fed.

    Parameters
    ----------
    dtype
        Type of the elements.
    ragged_rank
        How many dimensions have rows of different lengths.
    value_shape
        The shape of what is inside of all rows.
    name
        Name of the result.

    Examples
    --------
    >>> x = tf.ragged.placeholder(tf.float32, 1)
    >>> value = tf.ragged.constant_value([[1.0], [2.0, 3.0]], tf.float32)
    >>> tf.get_default_session().run(x.row_lengths(), {x: value}).tolist()
    [1, 2]
    """
    if ragged_rank == 0:
        return array_creation.placeholder(dtype, value_shape, name)
    with scopes.name_scope(name, "RaggedPlaceholder"):
        inner = None if value_shape is None else as_shape(value_shape).as_list()
        values = array_creation.placeholder(dtype, None if inner is None else [None, *inner])
        splits = [array_creation.placeholder(dtypes.int64, [None]) for _ in range(ragged_rank)]
        return value_of_parts(RaggedTensor._of_parts, [values, *splits])


# ---- Of tensors ----


@public("ragged.range")
@takes(
    starts=TENSOR,
    limits=or_none(TENSOR),
    deltas=TENSOR,
    dtype=or_none(DTYPE),
    row_splits_dtype=DTYPE,
)
def range_(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> RaggedTensor:
    """Rows of numbers at equal distances.

    Parameters
    ----------
    starts
        What rows begin with; without `limits` it stands for these, and rows begin with 0.
    limits
        Where rows end; they do not have it.
    deltas
        The distances.
    dtype
        Type of the numbers; by default that of the arguments.
    name
        Name of the result.
    row_splits_dtype
        int32 or int64.

    Examples
    --------
    >>> tf.get_default_session().run(tf.ragged.range([1, 5], [4, 6])).to_list()
    [[1, 2, 3], [5]]
    """
    if limits is None:
        starts, limits = 0, starts
    with scopes.name_scope(name, "RaggedRange", [starts, limits, deltas]):
        wanted = None if dtype is None else dtypes.as_dtype(dtype)
        tensors = [convert_to_tensor(one, wanted) for one in (starts, limits, deltas)]
        order = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)
        if wanted is None:
            wanted = math_ops.max_dtype([one.dtype for one in tensors], order)
        tensors = [math_ops.cast(one, wanted) for one in tensors]
        splits, values = gen_ops.ragged_range(*tensors, Tsplits=dtypes.as_dtype(row_splits_dtype))
        return RaggedTensor(values, splits, internal=True)


@public("ragged.boolean_mask")
@takes(data=TENSOR, mask=TENSOR)
def boolean_mask(data: Any, mask: Any, name: str | None = None) -> RaggedTensor:
    """The elements of rows for which a mask is true, in rows.

    Parameters
    ----------
    data
        A tensor or a ragged tensor.
    mask
        A mask of booleans, of the first dimensions of `data`, with rows of the same lengths.
    name
        Name of the result.

    Examples
    --------
    >>> found = tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]])
    >>> tf.get_default_session().run(found).to_list()
    [[1], [3, 4]]
    """
    with scopes.name_scope(name, "RaggedMask", [data, mask]):
        if not isinstance(mask, RaggedTensor):
            mask = convert_to_tensor(mask, dtypes.bool)
            rank = mask.shape.ndims
            if rank is None or rank == 0:
                raise ValueError("mask: mask must have a known rank of 1 or more")
            if rank == 1:
                places = gen_ops.where(mask)[:, 0]
                found: Any = gather_rows(_tensor(data), places)
                return found
            mask = RaggedTensor.from_tensor(mask, ragged_rank=rank - 1)
        if not isinstance(data, RaggedTensor):
            data = RaggedTensor.from_tensor(data, ragged_rank=mask.ragged_rank)
        return _masked(data, mask)


def _tensor(value: Any) -> Any:
    return value if isinstance(value, RaggedTensor) else convert_to_tensor(value)


def _masked(data: RaggedTensor, mask: RaggedTensor) -> RaggedTensor:
    if isinstance(mask.values, RaggedTensor):
        return data.with_values(_masked(data.values, mask.values))
    counts = math_ops.cast(mask.values, data.row_splits.dtype)
    none = convert_to_tensor([0], counts.dtype)
    before = array_join.concat([none, reductions.cumsum(counts)], 0)
    splits = gen_ops.gather_v2(before, mask.row_splits, 0)
    values = gather_rows(data.values, gen_ops.where(mask.values)[:, 0])
    return RaggedTensor(values, splits, internal=True)


@public("ragged.row_splits_to_segment_ids")
@takes(splits=TENSOR, out_type=or_none(DTYPE))
def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """Of each value the row that it is in.

    Parameters
    ----------
    splits
        Where rows begin and end.
    name
        Name of the result.
    out_type
        int32 or int64; by default the type of the splits.

    Examples
    --------
    >>> tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5]).eval().tolist()
    [0, 0, 0, 2, 2]
    """
    with scopes.name_scope(name, "RaggedSplitsToSegmentIds", [splits]):
        known = None if isinstance(splits, (Tensor, np.ndarray)) else dtypes.int64
        tensor = convert_to_tensor(splits, known)
        if tensor.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError("splits must have dtype int32 or int64")
        tensor.shape.assert_has_rank(1)
        found = rowids_of_splits(tensor)
        return found if out_type is None else math_ops.cast(found, out_type)


@public("ragged.segment_ids_to_row_splits")
@takes(segment_ids=TENSOR, num_segments=or_none(TENSOR), out_type=or_none(DTYPE))
def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Tensor:
    """Where the rows of values begin and end.

    Parameters
    ----------
    segment_ids
        Of each value the row that it is in, in order.
    num_segments
        How many rows there are; by default one more than the last number.
    out_type
        int32 or int64; by default the type of the numbers.
    name
        Name of the result.

    Examples
    --------
    >>> tf.ragged.segment_ids_to_row_splits([0, 0, 2]).eval().tolist()
    [0, 2, 2, 3]
    """
    with scopes.name_scope(name, "SegmentIdsToRaggedSplits", [segment_ids]):
        known = None if isinstance(segment_ids, (Tensor, np.ndarray)) else dtypes.int64
        ids = convert_to_tensor(segment_ids, known)
        if ids.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError("segment_ids must have dtype int32 or int64")
        rows = RaggedTensor.from_value_rowids(ids, ids, num_segments, validate=False)
        return rows.row_splits if out_type is None else math_ops.cast(rows.row_splits, out_type)


@public("ragged.stack_dynamic_partitions")
@takes(data=TENSOR, partitions=TENSOR, num_partitions=NUMBER)
def stack_dynamic_partitions(
    data: Any, partitions: Any, num_partitions: Any, name: str | None = None
) -> RaggedTensor:
    """The values of each partition as a row.

    Parameters
    ----------
    data
        The values.
    partitions
        The partition that each value is in, a vector.
    num_partitions
        How many partitions there are.
    name
        Name of the result.

    Examples
    --------
    >>> rows = tf.ragged.stack_dynamic_partitions([1, 2, 3], [1, 0, 1], 3)
    >>> tf.get_default_session().run(rows).to_list()
    [[2], [1, 3], []]
    """
    with scopes.name_scope(name, "StackDynamicPartitions", [data, partitions]):
        values = _tensor(data)
        numbers = math_ops.cast(convert_to_tensor(partitions, name="partitions"), dtypes.int64)
        numbers.shape.assert_has_rank(1)
        size = gen_ops.size(numbers, out_type=dtypes.int64)
        # In the order of partitions, and within one in the order of values.
        places = gen_ops.range(
            convert_to_tensor(0, dtypes.int64), size, convert_to_tensor(1, dtypes.int64)
        )
        order = gen_ops.top_kv2(-(numbers * size + places), math_ops.cast(size, dtypes.int32))[1]
        return RaggedTensor.from_value_rowids(
            gather_rows(values, order), gen_ops.gather_v2(numbers, order, 0),
            math_ops.cast(num_partitions, dtypes.int64),
        )  # fmt: skip
