"""Ops on the diagonals of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input
from testing.ops.support.definitions import function_of
from testing.ops.support.gradient import Check, NotCompared, of_one_tensor, spread
from testing.ops.support.inputs import any_tensor, indices, integers, scalar, zero_of
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, checked_size, refuse_unless, type_attr
from testing.ops.support.registry import NotTested, Property, define_tests
from testing.ops.support.source import Source

_MATRICES = spread("matrices", 2, 3, 4)
_COMPUTES_NOTHING = NotTested("moves elements, on one thread or by whole rows")
_NO_STATIC_SHAPE = {Property.STATIC_SHAPE: "graph programs see no shape of the ops of old graphs"}


def _short(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes whose squares are no large tensors; sizes that no tensor has stay."""
    return tuple(min(size, 60) if size < 2**31 else size for size in shape)


# ---- Diag and DiagPart ----


def _make_diag(source: Source, op: Any) -> Case:
    tensor = any_tensor(
        source, op, _short(source.small_shape(0 if source.chance(0.05) else 1, 3, 3))
    )
    return Case(op.name, [tensor], {"T": type_attr(tensor.dtype)})


def _diag(case: Case) -> Outcome:
    x = case.array(0)
    refuse_unless(x.ndim >= 1, "diagonal")
    flat = np.zeros((x.size, x.size), x.dtype)
    np.fill_diagonal(flat, x.reshape(-1))
    return [flat.reshape(x.shape * 2)]


def _make_diag_part(source: Source, op: Any) -> Case:
    half = _short(source.small_shape(0 if source.chance(0.03) else 1, 3, 3))
    shape = half * 2
    if source.chance(0.06):
        shape = source.pick((half, (*half, 1), (*shape[:-1], 7)))
    tensor = any_tensor(source, op, shape)
    return Case(op.name, [tensor], {"T": type_attr(tensor.dtype)})


def _diag_part(case: Case) -> Outcome:
    x = case.array(0)
    half = x.ndim // 2
    refuse_unless(x.ndim >= 2 and x.ndim % 2 == 0, "input")
    refuse_unless(x.shape[:half] == x.shape[half:], "input")
    count = int(np.prod(x.shape[:half], dtype=np.int64))
    return [np.diagonal(x.reshape(count, count)).reshape(x.shape[:half])]


define_tests("Diag", cases=_make_diag, reference=_diag, determinism=_COMPUTES_NOTHING)
define_tests(
    "DiagPart",
    cases=_make_diag_part,
    reference=_diag_part,
    gradient=[
        Check(gen_ops.diag_part, (spread("DiagPart", 3, 3),)),
        Check(gen_ops.diag_part, (spread("DiagPart", 2, 1, 2, 1),)),
    ],
    determinism=_COMPUTES_NOTHING,
)


# ---- One diagonal ----


def _make_matrix_diag(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op, _short(source.shape(0 if source.chance(0.05) else 1, 5, 4)))
    return Case(op.name, [tensor], {"T": type_attr(tensor.dtype)})


def _matrix_diag(case: Case) -> Outcome:
    x = case.array(0)
    refuse_unless(x.ndim >= 1, "diagonal")
    size = x.shape[-1]
    matrices = np.empty(checked_size([*x.shape, size], "diagonal"), x.dtype)
    matrices[...] = zero_of(x)
    if matrices.size:
        places = np.arange(size)
        matrices[..., places, places] = x
    return [matrices]


def _matrix_shape(source: Source) -> tuple[int, ...]:
    return source.small_shape(source.integer(0, 1) if source.chance(0.05) else 2, 5, 4)


def _make_matrices(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op, _matrix_shape(source))
    return Case(op.name, [tensor], {"T": type_attr(tensor.dtype)})


def _matrix_diag_part(case: Case) -> Outcome:
    x = case.array(0)
    refuse_unless(x.ndim >= 2, "input")
    return [np.diagonal(x, axis1=-2, axis2=-1)]


def _make_set_diag(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op, _matrix_shape(source))
    shape = tensor.value.shape  # type: ignore[union-attr]
    own = (*shape[:-2], min(shape[-2:])) if len(shape) > 1 else shape
    if source.chance(0.05):
        own = source.small_shape(0, 3, 3)
    diagonal = Input(tensor.dtype, source.values(tensor.dtype, own))
    return Case(op.name, [tensor, diagonal], {"T": type_attr(tensor.dtype)})


def _matrix_set_diag(case: Case) -> Outcome:
    x, diagonal = case.array(0), case.array(1)
    refuse_unless(x.ndim >= 2, "input")
    size = min(x.shape[-2:])
    refuse_unless(diagonal.shape == (*x.shape[:-2], size), "diagonal")
    replaced = x.copy()
    replaced[..., np.arange(size), np.arange(size)] = diagonal
    return [replaced]


def _set_diag_checks(op: str) -> list[Check]:
    return [Check(function_of(op), (_MATRICES, spread("diagonal", 2, 3)))]


for _prefix in ("", "Batch"):
    _exceptions = _NO_STATIC_SHAPE if _prefix else {}
    define_tests(
        f"{_prefix}MatrixDiag",
        cases=_make_matrix_diag,
        reference=_matrix_diag,
        gradient=of_one_tensor(),
        exceptions=_exceptions,
    )
    define_tests(
        f"{_prefix}MatrixDiagPart",
        cases=_make_matrices,
        reference=_matrix_diag_part,
        gradient=of_one_tensor(),
        exceptions=_exceptions,
    )
    define_tests(
        f"{_prefix}MatrixSetDiag",
        cases=_make_set_diag,
        reference=_matrix_set_diag,
        gradient=_set_diag_checks,
        exceptions=_exceptions,
    )


# ---- Several diagonals ----


def _drawn_band(source: Source, rows: int, columns: int) -> list[int]:
    """The only diagonal, or the lowest and the highest; at times ones that are not there."""
    low, high = min(1 - rows, 0), max(columns - 1, 0)
    band = sorted(source.integer(low, high) for _ in range(source.pick((1, 2, 2))))
    if source.chance(0.1):
        band[source.integer(0, len(band) - 1)] = source.pick((-rows, columns, 9, -9, 2**31 - 1))
    return band


def _k(source: Source, band: list[int]) -> Input:
    if len(band) == 1 and source.chance(0.6):
        return scalar(band[0], "int32")
    if source.chance(0.03):
        band = source.pick(([], [*band, 0, 0]))
    return indices(source, band, "int32")


def _read_band(case: Case, i: int) -> tuple[int, int]:
    k = integers(case, i)
    refuse_unless(case.array(i).ndim <= 1 and 1 <= len(k) <= 2 and k[0] <= k[-1], "k")
    return k[0], k[-1]


def _band_of(band: tuple[int, int], rows: int, columns: int) -> tuple[int, list[tuple[int, int]]]:
    """The longest length; and the first element and the length of each diagonal, from above."""
    low, high = band
    for k in band:
        refuse_unless(k == 0 or -rows < k < columns, "k")
    lengths = [min(rows + min(k, 0), columns - max(k, 0)) for k in range(high, low - 1, -1)]
    return min(rows + min(high, 0), columns - max(low, 0)), list(
        zip(range(high, low - 1, -1), lengths, strict=True)
    )


def _places(k: int, length: int) -> tuple[Array, Array]:
    return np.arange(length) + max(-k, 0), np.arange(length) + max(k, 0)


def _as_rows(diagonals: Array, count: int) -> Array:
    return diagonals if count > 1 else np.expand_dims(diagonals, -2)


def _make_part_v2(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op, _matrix_shape(source))
    shape = tensor.value.shape  # type: ignore[union-attr]
    band = _drawn_band(source, *(shape[-2:] if len(shape) > 1 else (2, 2)))
    padding = Input(tensor.dtype, source.values(tensor.dtype, ()))
    inputs = [tensor, _k(source, band), padding]
    return Case(op.name, inputs, {"T": type_attr(tensor.dtype)})


def _part_v2(case: Case) -> Outcome:
    x, band = case.array(0), _read_band(case, 1)
    refuse_unless(x.ndim >= 2, "input")
    width, diagonals = _band_of(band, *x.shape[-2:])
    taken = np.empty((*x.shape[:-2], len(diagonals), width), x.dtype)
    taken[...] = case.array(2)
    for row, (k, length) in enumerate(diagonals):
        rows, columns = _places(k, length)
        taken[..., row, :length] = x[..., rows, columns]
    return [taken if len(diagonals) > 1 else taken[..., 0, :]]


def _make_set_diag_v2(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op, _matrix_shape(source))
    shape = tensor.value.shape  # type: ignore[union-attr]
    rows, columns = shape[-2:] if len(shape) > 1 else (2, 2)
    band = _drawn_band(source, rows, columns)
    width = max(min(rows + min(band[-1], 0), columns - max(band[0], 0)), 0)
    count = band[-1] - band[0] + 1
    own = (*shape[:-2], *([count] if 1 < count < 20 else []), width)
    if source.chance(0.05):
        own = source.small_shape(0, 3, 3)
    inputs = [tensor, Input(tensor.dtype, source.values(tensor.dtype, own)), _k(source, band)]
    return Case(op.name, inputs, {"T": type_attr(tensor.dtype)})


def _set_diag_v2(case: Case) -> Outcome:
    x, diagonal, band = case.array(0), case.array(1), _read_band(case, 2)
    refuse_unless(x.ndim >= 2, "input")
    width, diagonals = _band_of(band, *x.shape[-2:])
    count = len(diagonals)
    expected = (*x.shape[:-2], *([count] if count > 1 else []), width)
    refuse_unless(diagonal.shape == expected, "diagonal")
    replaced = x.copy()
    for row, (k, length) in enumerate(diagonals):
        rows, columns = _places(k, length)
        replaced[..., rows, columns] = _as_rows(diagonal, count)[..., row, :length]
    return [replaced]


def _make_diag_v2(source: Source, op: Any) -> Case:
    outer = source.small_shape(0, 2, 3)
    width = source.integer(1, 4)
    band = sorted(source.integer(-3, 3) for _ in range(source.pick((1, 2, 2))))
    count = band[-1] - band[0] + 1
    own = (*outer, *([count] if count > 1 else []), width)
    if source.chance(0.06):
        own = source.pick(((), (*outer, width), own[1:]))
    tensor = any_tensor(source, op, own)
    least = [width - min(band[-1], 0), width + max(band[0], 0)]
    sizes = [size if source.chance(0.5) else -1 for size in least]
    if source.chance(0.3):
        sizes[source.integer(0, 1)] += source.integer(-1, 2)
    inputs = [tensor, _k(source, band), *(scalar(size, "int32") for size in sizes)]
    inputs.append(Input(tensor.dtype, source.values(tensor.dtype, ())))
    return Case(op.name, inputs, {"T": type_attr(tensor.dtype)})


def _diag_v2(case: Case) -> Outcome:
    diagonal, (low, high) = case.array(0), _read_band(case, 1)
    count = high - low + 1
    refuse_unless(diagonal.ndim >= (1 if count == 1 else 2), "diagonal")
    refuse_unless(count == 1 or diagonal.shape[-2] == count, "diagonal")
    width = diagonal.shape[-1]
    least = [width - min(high, 0), width + max(low, 0)]
    sizes = [integers(case, 2)[0], integers(case, 3)[0]]
    if sizes == [-1, -1]:
        sizes = [max(least)] * 2
    sizes = [own if size == -1 else size for size, own in zip(sizes, least, strict=True)]
    refuse_unless(all(size >= own for size, own in zip(sizes, least, strict=True)), "num_rows")
    refuse_unless(any(size == own for size, own in zip(sizes, least, strict=True)), "num_rows")
    outer = diagonal.shape[: -1 if count == 1 else -2]
    matrices = np.empty((*outer, *sizes), diagonal.dtype)
    matrices[...] = case.array(4)
    for row, k in enumerate(range(high, low - 1, -1)):
        length = min(sizes[0] + min(k, 0), sizes[1] - max(k, 0))
        rows, columns = _places(k, length)
        matrices[..., rows, columns] = _as_rows(diagonal, count)[..., row, :length]
    return [matrices]


# Programs get the gradient of diagonals above the main one that are shorter than others with its
# elements at the ends of the rows, not where the op reads them: there are none here.
_ZERO = spread("zero")
_SHIFTED = NotCompared("programs get shorter diagonals above the main one at the ends of the rows")
define_tests(
    "MatrixDiagV2",
    cases=_make_diag_v2,
    reference=_diag_v2,
    gradient=[
        Check(lambda d, p: gen_ops.matrix_diag_v2(d, [-1, 1], 4, 5, p), (_MATRICES, _ZERO)),
        Check(lambda d, p: gen_ops.matrix_diag_v2(d, 1, -1, -1, p), (spread("d", 3), _ZERO)),
    ],
)
define_tests(
    "MatrixDiagPartV2",
    cases=_make_part_v2,
    reference=_part_v2,
    gradient=[
        Check(
            lambda x, p: gen_ops.matrix_diag_part_v2(x, [-1, 2], p),
            (_MATRICES, _ZERO),
            no_second_order=_SHIFTED,
        ),
        Check(lambda x, p: gen_ops.matrix_diag_part_v2(x, [-1, 0], p), (_MATRICES, _ZERO)),
        Check(lambda x, p: gen_ops.matrix_diag_part_v2(x, -1, p), (_MATRICES, _ZERO)),
    ],
)
define_tests(
    "MatrixSetDiagV2",
    cases=_make_set_diag_v2,
    reference=_set_diag_v2,
    gradient=[
        Check(
            lambda x, d: gen_ops.matrix_set_diag_v2(x, d, [-1, 1]),
            (_MATRICES, spread("d", 2, 3, 3)),
        ),
        Check(lambda x, d: gen_ops.matrix_set_diag_v2(x, d, 2), (_MATRICES, spread("d", 2, 2))),
    ],
)


# ---- MatrixBandPart ----


def _make_band_part(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op, _matrix_shape(source))
    dtype = "int64" if op.name.startswith("Batch") else source.pick(("int32", "int64"))
    kept = [source.integer(-1, 3) for _ in range(2)]
    if source.chance(0.1):
        kept[source.integer(0, 1)] = source.pick((7, 2**31 - 1, -(2**31)))
    attrs = {"T": type_attr(tensor.dtype)}
    if dtype != "int64" or (source.chance(0.5) and not op.name.startswith("Batch")):
        attrs["Tindex"] = type_attr(dtype)
    return Case(op.name, [tensor, *(scalar(number, dtype) for number in kept)], attrs)


def _band_part(case: Case) -> Outcome:
    x = case.array(0)
    refuse_unless(x.ndim >= 2, "input")
    lower, upper = integers(case, 1)[0], integers(case, 2)[0]
    rows, columns = x.shape[-2:]
    refuse_unless(lower <= rows, "num_lower")
    refuse_unless(upper <= columns, "num_upper")
    distance = np.arange(columns) - np.arange(rows).reshape(-1, 1)
    inside = (distance <= (upper if upper >= 0 else columns)) & (
        -distance <= (lower if lower >= 0 else rows)
    )
    return [np.where(inside, x, np.array(zero_of(x), x.dtype))]


def _band_checks(op: str) -> list[Check]:
    function = function_of(op)
    return [
        Check(lambda x: function(x, np.int64(1), np.int64(0)), (_MATRICES,)),
        Check(lambda x: function(x, np.int64(-1), np.int64(2)), (_MATRICES,)),
    ]


define_tests("MatrixBandPart", cases=_make_band_part, reference=_band_part, gradient=_band_checks)
define_tests(
    "BatchMatrixBandPart",
    cases=_make_band_part,
    reference=_band_part,
    gradient=_band_checks,
    exceptions=_NO_STATIC_SHAPE,
)
