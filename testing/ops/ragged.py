"""Ragged tensors: rows of different lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.gradient import Check, spread
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, numbers, pick_type, refuse_unless, type_attr
from testing.ops.support.registry import NotTested, Property, define_tests
from testing.ops.support.source import Source

_COUNTED = {Property.STATIC_SHAPE: "rows and values are counted in the step"}
_ONE_THREAD = NotTested("runs on one thread")


def _index_type(source: Source) -> str:
    return source.pick(("int32", "int64"))


def _splits(source: Source, rows: int) -> Array:
    lengths = [source.size(4) for _ in range(rows)]
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _nested(source: Source) -> list[Array]:
    """Splits of several dimensions, outermost first."""
    nested = [_splits(source, source.size(4))]
    while source.chance(0.4) and len(nested) < 3:
        nested.append(_splits(source, int(nested[-1][-1])))
    return nested


def _spoil(source: Source, nested: list[Array]) -> None:
    """Change splits, so that most are not legal any more."""
    splits = nested[source.integer(0, len(nested) - 1)]
    splits[source.integer(0, len(splits) - 1)] += source.pick((-9, -1, 1, 40))


# ---- RaggedRange ----


def _make_range(source: Source, op: Any) -> Case:
    dtype = source.pick(("float32", "float64", "int32", "int64"))
    rows = source.size(4)
    inputs = []
    for low, high in ((-5, 5), (-5, 5), (-3, 3)):
        shape = [] if source.chance(0.3) else [rows]
        if source.chance(0.04):
            shape = source.pick(([rows + 1], [1, 1]))
        values = np.array([source.integer(low, high) for _ in range(int(np.prod(shape)))]).reshape(
            shape
        )
        if high == 3 and source.chance(0.9):
            values = np.where(values == 0, 1, values)
        scale = source.pick((1.0, 0.5)) if dtype.startswith("float") else 1
        inputs.append(Input(dtype, (values * scale).astype(dtype)))
    attrs = {"T": type_attr(dtype), "Tsplits": type_attr(_index_type(source))}
    return Case(op.name, inputs, attrs)


def _range(case: Case) -> Outcome:
    arrays = [numbers(case, i) for i in range(3)]
    refuse_unless(all(array.ndim <= 1 for array in arrays), "")
    sizes = {array.size for array in arrays if array.ndim == 1}
    refuse_unless(len(sizes) <= 1, "")
    rows = sizes.pop() if sizes else 1
    starts, limits, deltas = (np.broadcast_to(array, (rows,)) for array in arrays)
    refuse_unless((deltas != 0).all(), "deltas")
    found = [np.arange(*row) for row in zip(starts, limits, deltas, strict=True)]
    splits = np.cumsum([0, *(len(row) for row in found)])
    values = np.concatenate([*found, np.zeros(0)]).astype(arrays[0].dtype)
    return [splits.astype(_tsplits(case)), values]


def _tsplits(case: Case) -> str:
    return str(case.attr("Tsplits")[1])


define_tests(
    "RaggedRange", cases=_make_range, reference=_range, determinism=_ONE_THREAD,
    exceptions=_COUNTED,
)  # fmt: skip

# ---- RaggedGather ----


def _make_gather(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "Tvalues")
    nested = _nested(source)
    values = source.values(dtype, [int(nested[-1][-1]), *source.small_shape(0, 2, 3)])
    shape = source.small_shape(0, 3, 3)
    rows = len(nested[0]) - 1
    indices = source.index_values("int64", shape, 0, max(rows - 1, 0))
    if source.chance(0.08) and indices.size:
        indices.flat[source.integer(0, indices.size - 1)] = source.pick((-1, rows))
    if source.chance(0.08):
        _spoil(source, nested)
    splits_type, index_type = _index_type(source), _index_type(source)
    inputs = [Input(splits_type, splits.astype(splits_type)) for splits in nested]
    inputs += [Input(dtype, values), Input(index_type, indices.astype(index_type))]
    output_rank = len(nested) + len(shape) - 1
    if source.chance(0.03):
        output_rank += 1
    attrs = {
        "Tvalues": type_attr(dtype),
        "Tindices": type_attr(index_type),
        "Tsplits": type_attr(splits_type),
        "PARAMS_RAGGED_RANK": attr_text(len(nested)),
        "OUTPUT_RAGGED_RANK": attr_text(output_rank),
    }
    return Case(op.name, inputs, attrs)


def _read_nested(case: Case, count: int, name: str, *, whole: bool) -> list[Array]:
    """The splits of a case; whole ones begin at 0 and end at the last row."""
    nested = [case.array(i) for i in range(count)]
    rows = [*(len(splits) - 1 for splits in nested[1:]), len(case.array(count))]
    for splits, most in zip(nested, rows, strict=True):
        refuse_unless((np.diff(splits) >= 0).all() and splits[0] >= 0, name)
        refuse_unless(splits[-1] <= most, name)
        refuse_unless(not whole or (splits[0] == 0 and splits[-1] == most), name)
    return nested


def _gather(case: Case) -> Outcome:
    count = case.attr("PARAMS_RAGGED_RANK")
    values, indices = case.array(count), case.array(count + 1)
    refuse_unless(case.attr("OUTPUT_RAGGED_RANK") == count + indices.ndim - 1, "OUTPUT_RAGGED_RANK")
    nested = _read_nested(case, count, "params_nested_splits", whole=False)
    refuse_unless(((indices >= 0) & (indices < len(nested[0]) - 1)).all(), "indices")
    found: list[Array] = []
    rows = 1
    for k in range(indices.ndim - 1):
        rows *= indices.shape[k]
        found.append(np.arange(rows + 1) * indices.shape[k + 1])
    lengths: list[list[int]] = [[] for _ in nested]
    places: list[int] = []
    for index in indices.ravel():
        row = [int(index)]
        for k, splits in enumerate(nested):
            lengths[k] += [int(splits[i + 1] - splits[i]) for i in row]
            row = [j for i in row for j in range(int(splits[i]), int(splits[i + 1]))]
        places += row
    of_params = [np.cumsum([0, *one]) for one in lengths]
    found += of_params[1:] if indices.ndim == 0 else of_params
    dtype = _tsplits(case)
    return [*(splits.astype(dtype) for splits in found), values[np.array(places, np.int64)]]


def _gather_checks() -> list[Check]:
    outer = np.array([0, 1, 1, 3], np.int64)
    inner = np.array([0, 2, 2, 5], np.int64)

    def one(values: Any) -> Any:
        return gen_ops.ragged_gather([inner], values, [[2, 0], [2, 1]], OUTPUT_RAGGED_RANK=2)[1]

    def two(values: Any) -> Any:
        return gen_ops.ragged_gather([outer, inner], values, [2, 0, 2], OUTPUT_RAGGED_RANK=2)[1]

    return [Check(one, (spread("a", 5, 2),)), Check(two, (spread("b", 5),))]


define_tests(
    "RaggedGather",
    cases=_make_gather,
    reference=_gather,
    gradient=_gather_checks(),
    exceptions=_COUNTED,
)

# ---- RaggedTensorToSparse ----


def _make_to_sparse(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    nested = _nested(source)
    values = source.values(dtype, [int(nested[-1][-1]), *source.small_shape(0, 2, 3)])
    if source.chance(0.15):
        _spoil(source, nested)
    splits_type = _index_type(source)
    inputs = [Input(splits_type, splits.astype(splits_type)) for splits in nested]
    attrs = {
        "T": type_attr(dtype),
        "Tsplits": type_attr(splits_type),
        "RAGGED_RANK": attr_text(len(nested)),
    }
    return Case(op.name, [*inputs, Input(dtype, values)], attrs)


def _to_sparse(case: Case) -> Outcome:
    count = case.attr("RAGGED_RANK")
    values = case.array(count)
    nested = _read_nested(case, count, "rt_nested_splits", whole=True)
    places: list[tuple[int, ...]] = [(i,) for i in range(len(nested[0]) - 1)]
    for splits in nested:
        places = [
            (*place, j)
            for i, place in enumerate(places)
            for j in range(int(splits[i + 1] - splits[i]))
        ]
    inner = list(np.ndindex(*values.shape[1:]))
    indices = [(*place, *index) for place in places for index in inner]
    sizes = [len(nested[0]) - 1, *(int(np.diff(one).max(initial=0)) for one in nested)]
    shape = [*sizes, *values.shape[1:]]
    return [
        np.array(indices, np.int64).reshape(-1, len(shape)),
        values.ravel(),
        np.array(shape, np.int64),
    ]


def _to_sparse_checks() -> list[Check]:
    splits = np.array([0, 2, 2, 5], np.int64)
    return [
        Check(
            lambda values: gen_ops.ragged_tensor_to_sparse([splits], values)[1],
            (spread("values", 5, 2),),
        )
    ]


define_tests(
    "RaggedTensorToSparse",
    cases=_make_to_sparse,
    reference=_to_sparse,
    gradient=_to_sparse_checks(),
)

# ---- RaggedTensorToTensor ----


def _rowids(splits: Array) -> Array:
    return np.repeat(np.arange(len(splits) - 1), np.diff(splits))


def _make_to_tensor(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    nested = _nested(source)
    inner = source.small_shape(0, 2, 3)
    values = source.values(dtype, [int(nested[-1][-1]), *inner])
    filler = [1 if source.chance(0.3) else size for size in inner]
    filler = filler[source.integer(0, len(filler)) :] if filler else filler
    if source.chance(0.05):
        filler = [*filler, 7]
    by_rowids = source.chance(0.5)
    types = ["ROW_SPLITS"] * len(nested)
    partitions = nested
    if by_rowids:
        types = ["FIRST_DIM_SIZE", *(["VALUE_ROWIDS"] * len(nested))]
        partitions = [np.array(len(nested[0]) - 1), *(_rowids(splits) for splits in nested)]
    if source.chance(0.08):
        part = partitions[-1]
        if part.size:
            part.flat[source.integer(0, part.size - 1)] += source.pick((-7, 1, 30))
    if source.chance(0.04):
        types[source.integer(0, len(types) - 1)] = source.pick(("ROW_LENGTHS", "FIRST_DIM_SIZE"))
    shape: Any = [-1 if source.chance(0.5) else source.size(4) for _ in range(len(nested) + 1)]
    shape += [-1 if source.chance(0.5) else size for size in inner]
    if source.chance(0.05):
        shape = source.pick((shape[1:], [*shape, 1], [*shape[:-1], -2]))
    if source.chance(0.2):
        shape = -1
    index_type, shape_type = _index_type(source), _index_type(source)
    inputs = [
        Input(shape_type, np.array(shape, shape_type)),
        Input(dtype, values),
        Input(dtype, source.values(dtype, filler)),
        *(Input(index_type, np.asarray(part).astype(index_type)) for part in partitions),
    ]
    attrs = {
        "T": type_attr(dtype),
        "Tindex": type_attr(index_type),
        "Tshape": type_attr(shape_type),
        "num_row_partition_tensors": attr_text(len(partitions)),
        "row_partition_types": attr_text(types),
    }
    return Case(op.name, inputs, attrs)


def _read_rowids(case: Case, types: list[str]) -> tuple[int, list[Array]]:
    """How many rows there are, and of each row or value below: the row that it belongs to."""
    name = "row_partition_tensors"
    first, found = 0, []
    rows = 0
    for k, kind in enumerate(types):
        part = case.array(3 + k)
        if kind == "FIRST_DIM_SIZE":
            refuse_unless(part.ndim == 0 and part >= 0, name)
            first = rows = int(part)
            continue
        if kind == "ROW_SPLITS":
            if k == 0:
                first = rows = len(part) - 1
            refuse_unless((np.diff(part) >= 0).all() and part[0] == 0, name)
            refuse_unless(len(part) - 1 == rows, name)
            own = _rowids(part)
        else:
            refuse_unless(part.ndim == 1, name)
            refuse_unless((np.diff(part) >= 0).all(), name)
            refuse_unless(((part >= 0) & (part < rows)).all(), name)
            own = part
        found.append(own)
        rows = len(own)
    refuse_unless(rows == len(case.array(1)), "values")
    return first, found


def _to_tensor(case: Case) -> Outcome:
    values, filler = case.array(1), case.array(2)
    inner = values.shape[1:]
    types = [
        one.decode() if isinstance(one, bytes) else one for one in case.attr("row_partition_types")
    ]
    ok = types == ["ROW_SPLITS"] * len(types)
    ok = ok or (
        types[0] == "FIRST_DIM_SIZE" and len(types) > 1 and "FIRST_DIM_SIZE" not in types[1:]
    )
    known = {"ROW_SPLITS", "VALUE_ROWIDS", "FIRST_DIM_SIZE"}
    refuse_unless(ok and set(types) <= known, "row_partition_types")
    fits = filler.ndim <= len(inner) and all(
        a in (1, b) for a, b in zip(filler.shape[::-1], inner[::-1], strict=False)
    )
    refuse_unless(fits, "default_value")
    first, rowids = _read_rowids(case, types)
    longest = [int(np.bincount(own).max(initial=0)) if len(own) else 0 for own in rowids]
    shape = [first, *longest, *inner]
    given = case.array(0)
    if given.ndim == 0:
        refuse_unless(given == -1, "shape")
    else:
        refuse_unless(len(given) == len(shape) and (given >= -1).all(), "shape")
        refuse_unless(
            all(a in (-1, b) for a, b in zip(given[len(rowids) + 1 :], inner, strict=True)), "shape"
        )
        shape = [b if a == -1 else int(a) for a, b in zip(given, shape, strict=True)]
    places: list[tuple[int, ...]] = [(i,) for i in range(first)]
    for own in rowids:
        columns: dict[int, int] = {}
        below = []
        for row in own:
            column = columns.get(int(row), 0)
            columns[int(row)] = column + 1
            below.append((*places[int(row)], column))
        places = below
    result = np.empty(shape, values.dtype)
    result[...] = filler
    outer = shape[: len(rowids) + 1]
    for place, value in zip(places, values, strict=True):
        if all(i < size for i, size in zip(place, outer, strict=True)):
            result[place] = value
    return [result]


def _to_tensor_checks() -> list[Check]:
    splits = np.array([0, 2, 2, 5], np.int64)

    def build(shape: list[int]) -> Any:
        return lambda values, filler: gen_ops.ragged_tensor_to_tensor(
            np.array(shape, np.int64), values, filler, [splits], ["ROW_SPLITS"]
        )

    return [
        Check(build([-1, -1, -1]), (spread("v", 5, 2), spread("d", 2))),
        Check(build([2, 4, 2]), (spread("v", 5, 2), spread("d", 1))),
    ]


define_tests(
    "RaggedTensorToTensor",
    cases=_make_to_tensor,
    reference=_to_tensor,
    gradient=_to_tensor_checks(),
    exceptions=_COUNTED,
)
