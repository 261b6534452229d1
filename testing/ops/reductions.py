"""Reductions, and sums of many tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import float_dtypes_of, function_of
from testing.ops.support.determinism import SIZE, LargeCase, Values
from testing.ops.support.gradient import Check, ChecksOfOp, spread, with_arguments
from testing.ops.support.inputs import INDEX_TYPES, integers, normalized, scalar
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    Reference,
    numbers,
    pick_type,
    refuse_unless,
    summed,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source


def _make_reduction(source: Source, op: Any) -> Case:
    types = [attr.name for attr in op.attr]
    dtype = pick_type(source, op, "T") if "T" in types else "bool"
    x = Input(dtype, source.values(dtype, source.small_shape()))
    assert x.value is not None
    rank = x.value.ndim
    axes = [int(axis) for axis in source.random.permutation(rank)[: source.integer(0, rank)]]
    axes = [axis - rank if source.chance(0.4) else axis for axis in axes]
    if source.chance(0.1):
        axes.append(source.pick((rank, -rank - 1, 0, 2**31 - 1)))
    index_type = source.pick(INDEX_TYPES)
    values: Array = np.array(axes, index_type).reshape(len(axes))
    if len(axes) == 1 and source.chance(0.5):
        values = values.reshape(())
    if source.chance(0.02):
        values = values.reshape(1, -1)
    keep = source.chance(0.5)
    case = Case(op.name, [x, Input(index_type, values)], values={"keep": keep})
    case.attrs = {"Tidx": type_attr(index_type), "keep_dims": attr_text(keep)}
    if "T" in types:
        case.attrs["T"] = type_attr(dtype)
    return case


def _axes(case: Case) -> tuple[int, ...]:
    x, axes = case.array(0), case.array(1)
    refuse_unless(axes.ndim <= 1, "reduction_indices")
    found = [normalized(axis, x.ndim, "reduction_indices") for axis in integers(case, 1)]
    refuse_unless(len(set(found)) == len(found), "reduction_indices")
    return tuple(found)


def _counted(case: Case, axes: tuple[int, ...]) -> int:
    count = 1
    for axis in axes:
        count *= case.array(0).shape[axis]
    return count


def _wide(x: Array) -> Array:
    return x.astype(np.clongdouble if np.iscomplexobj(x) else np.longdouble)


def _sum(case: Case) -> Outcome:
    axes, keep = _axes(case), case.values["keep"]
    x, dtype = numbers(case, 0), case.inputs[0].dtype
    if not number_types.is_inexact(dtype):
        return [np.sum(x, axes, x.dtype, keepdims=keep)]
    sums = np.asarray(np.sum(_wide(x), axes, keepdims=keep))
    scale = np.asarray(np.sum(np.abs(_wide(x)), axes, keepdims=keep))
    return [summed(sums, scale, _counted(case, axes), dtype)]


def _mean(case: Case) -> Outcome:
    axes, keep = _axes(case), case.values["keep"]
    x, dtype = numbers(case, 0), case.inputs[0].dtype
    count = _counted(case, axes)
    if not number_types.is_inexact(dtype):
        wide = np.uint64 if x.dtype.kind == "u" else np.int64
        sums = np.asarray(np.sum(x, axes, wide, keepdims=keep))
        means = [
            0 if count == 0 else abs(int(s)) // count * (-1 if s < 0 else 1) for s in sums.flat
        ]
        return [np.array(means, x.dtype).reshape(sums.shape)]
    sums = np.asarray(np.sum(_wide(x), axes, keepdims=keep))
    scale = np.asarray(np.sum(np.abs(_wide(x)), axes, keepdims=keep))
    near = summed(sums, scale, count + 2, dtype)
    if count == 0:
        return [Near(sums + np.nan, 0.0, near.any_where if np.iscomplexobj(sums) else None)]
    return [Near(near.value / count, near.bound / count + _tiny(dtype), near.any_where)]


def _tiny(dtype: str) -> float:
    return number_types.smallest_normal(dtype) * number_types.epsilon(dtype) * 2


def _norm(case: Case) -> Outcome:
    axes, keep = _axes(case), case.values["keep"]
    x, dtype = numbers(case, 0), case.inputs[0].dtype
    squares = np.abs(_wide(x)) ** 2
    root = np.asarray(np.sqrt(np.sum(squares, axes, keepdims=keep)))
    if not number_types.is_inexact(dtype):
        limit = np.iinfo(x.dtype).max
        if np.max(root, initial=0) >= 2**20:
            return [None]  # the root of a rounded sum may be one more or less
        return [np.where(root < limit, np.minimum(root, limit), limit).astype(x.dtype)]
    # Squares overflow and vanish where the numbers do not.
    largest = np.asarray(np.max(np.abs(_wide(x)), axes, keepdims=keep, initial=0))
    computed = "float32" if dtype in ("float16", "bfloat16") else dtype
    odd = ~(largest < np.sqrt(number_types.largest(computed)) / 100)
    least = np.sqrt(number_types.smallest_normal(computed)) * 4 * (_counted(case, axes) + 1)
    bound = root * number_types.epsilon(dtype) * (_counted(case, axes) + 2) + least
    value = root + 0j if np.iscomplexobj(x) else root
    return [Near(value, bound, odd)]


def _prod(case: Case) -> Outcome:
    axes, keep = _axes(case), case.values["keep"]
    x, dtype = numbers(case, 0), case.inputs[0].dtype
    if not number_types.is_inexact(dtype):
        return [np.prod(x, axes, x.dtype, keepdims=keep)]
    value = np.asarray(np.prod(_wide(x), axes, keepdims=keep))
    # On the way some products may overflow or vanish that the whole does not.
    sizes = np.abs(np.log2(np.abs(_wide(x)), where=x != 0, out=np.zeros(x.shape, np.longdouble)))
    way = np.asarray(np.sum(sizes, axes, keepdims=keep))
    odd = ~(way < abs(np.log2(number_types.smallest_normal(dtype))))
    odd |= ~np.isfinite(np.asarray(np.sum(np.abs(_wide(x)), axes, keepdims=keep)))
    count = _counted(case, axes)
    bound = np.abs(np.where(odd, 0, value)) * (number_types.epsilon(dtype) * 2 * max(count, 1))
    return [Near(value, np.asarray(bound, np.float64) + _tiny(dtype), odd)]


def _extremum(function: Callable[..., Any], largest: bool) -> Callable[[Case], Outcome]:
    def compute(case: Case) -> Outcome:
        axes, keep = _axes(case), case.values["keep"]
        x = numbers(case, 0)
        if x.dtype.kind == "f":
            first = -np.inf if largest else np.inf
            value = function(x, axes, keepdims=keep, initial=first)
            return [Near(np.asarray(value), 0.0)]  # which of two zeros comes is not said
        limits = np.iinfo(x.dtype)
        first = limits.min if largest else limits.max
        return [np.asarray(function(x, axes, keepdims=keep, initial=first)).astype(x.dtype)]

    return compute


def _truth(function: Callable[..., Any]) -> Callable[[Case], Outcome]:
    return lambda case: [
        np.asarray(function(case.array(0), _axes(case), keepdims=case.values["keep"]))
    ]


def _reduction_checks(op: str) -> list[Check]:
    x = spread(op, 2, 3, 2)
    checks = []
    axes: list[Sequence[int]] = [[0], [1], [-1], [0, 2], [2, 0], [0, 1, 2], []]
    for chosen in axes:
        for keep_dims in (False, True):
            reduced = np.array(chosen, np.int32)
            build = with_arguments(function_of(op), reduced, keep_dims=keep_dims)
            checks.append(Check(build, (x,)))
    return checks


def _real_part_of_complex_product(x: Any) -> Any:
    """Of numbers x (0.5 + 2i), which depends on the conjugation."""
    factors = gen_ops.mul(gen_ops.cast(x, tf.complex128), np.complex128(0.5 + 2j))
    product = gen_ops.prod(factors, np.array([1], np.int32))
    return gen_ops.cast(gen_ops.mul(product, np.complex128(1.5 - 1j)), tf.float64)


def _product_checks(op: str) -> list[Check]:
    """Those of any reduction, and some with zeros, by which no product can be divided."""
    zeros = spread("zeros", 3, 4)
    zeros[0, 1] = zeros[1, 0] = zeros[1, 2] = 0.0
    more_zeros = spread("more zeros", 2, 4)
    more_zeros[0, :3] = 0.0
    build = with_arguments(gen_ops.prod, np.array([1], np.int32))
    return [
        *_reduction_checks(op),
        Check(build, (zeros,)),
        Check(build, (more_zeros,)),
        Check(_real_part_of_complex_product, (zeros,)),
    ]


def _large_reduction(op: str) -> LargeCase:
    axes: list[Any] = [[0, 1, 2], 0, 1, 2, [0, 2], [0, 1], [1, 2]]
    return _reduced_along(op, axes)


def _large_arg(op: str) -> LargeCase:
    return _reduced_along(op, [0, 1, 2])


def _reduced_along(op: str, axes: list[Any]) -> LargeCase:
    def build(values: Values) -> Any:
        function = function_of(op)
        cube = values.of(37, 90, 101)
        return [function(values.of(SIZE), 0), *(function(cube, axis) for axis in axes)]

    return LargeCase(build, float_dtypes_of(op))


def _define_reduction(
    op: str, reference: Reference, gradient: ChecksOfOp = _reduction_checks
) -> None:
    define_tests(
        op,
        cases=_make_reduction,
        reference=reference,
        gradient=gradient,
        determinism=_large_reduction,
    )


_define_reduction("Sum", _sum)
_define_reduction("Mean", _mean)
_define_reduction("Prod", _prod, _product_checks)
_define_reduction("EuclideanNorm", _norm)
_define_reduction("Max", _extremum(np.max, True))
_define_reduction("Min", _extremum(np.min, False))
define_tests("All", cases=_make_reduction, reference=_truth(np.all))
define_tests("Any", cases=_make_reduction, reference=_truth(np.any))


def _make_arg(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = source.shape(0 if source.chance(0.05) else 1)
    x = Input(dtype, source.values(dtype, shape))
    dimension = scalar(source.axis(len(shape)), source.pick(INDEX_TYPES))
    out = source.pick(INDEX_TYPES)
    attrs = {"T": type_attr(dtype), "Tidx": type_attr(dimension.dtype)}
    attrs["output_type"] = type_attr(out)
    return Case(op.name, [x, dimension], attrs, {"out": out})


def _arg(case: Case) -> Outcome:
    """The first extreme element that is no NaN; 0 where there is none."""
    x = numbers(case, 0)
    refuse_unless(x.ndim >= 1, "input")
    axis = normalized(integers(case, 1)[0], x.ndim, "dimension")
    refuse_unless(x.shape[axis] > 0, "input")
    largest = case.op == "ArgMax"
    rows = np.moveaxis(x, axis, -1)
    found = np.zeros(rows.shape[:-1], case.values["out"])
    if found.size:
        for place in np.ndindex(found.shape):
            best = None
            for i, element in enumerate(rows[place]):
                better = best is None or (element > best if largest else element < best)
                if element == element and better:
                    best, found[place] = element, i
    return [found]


define_tests(["ArgMax", "ArgMin"], cases=_make_arg, reference=_arg, determinism=_large_arg)


# ---- AddN, L2Loss ----


def _make_add_n(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    count = source.integer(1, 11)
    shape = source.small_shape(0, 8, 4)
    inputs = [Input(dtype, source.values(dtype, shape)) for _ in range(count)]
    if count > 1 and source.chance(0.2):
        inputs[-1] = Input(dtype, None, "", 0)
    elif source.chance(0.06):
        inputs[-1] = Input(dtype, source.values(dtype, source.small_shape()))
    return Case(op.name, inputs, {"T": type_attr(dtype), "N": attr_text(count)})


def _add_n(case: Case) -> Outcome:
    parts = [numbers(case, i) for i in range(len(case.inputs))]
    dtype = case.inputs[0].dtype
    refuse_unless(all(part.shape == parts[0].shape for part in parts), "inputs")
    if not number_types.is_inexact(dtype):
        return [np.sum(parts, 0, parts[0].dtype)]
    if len(parts) == 1:
        return [Near(parts[0], 0.0)]
    stacked = _wide(np.stack(parts))
    sums, scale = np.sum(stacked, 0), np.sum(np.abs(stacked), 0)
    return [summed(np.asarray(sums), np.asarray(scale), len(parts), dtype)]


def _large_sums(values: Values) -> Any:
    return [
        gen_ops.add_n([values.of(SIZE) for _ in range(5)]),
        gen_ops.accumulate_nv2([values.of(SIZE) for _ in range(5)], shape=[SIZE]),
        gen_ops.l2_loss(values.of(SIZE)),
        gen_ops.l2_loss(values.of(600, 500)),
    ]


_LARGE_SUMS = LargeCase(_large_sums)

_TERMS = tuple(spread(name, 3, 2) for name in "xyz")
define_tests(
    "AddN",
    cases=_make_add_n,
    reference=_add_n,
    gradient=[Check(lambda *xs: gen_ops.add_n(xs), _TERMS)],
    determinism=_LARGE_SUMS,
)


def _make_accumulate(source: Source, op: Any) -> Case:
    case = _make_add_n(source, op)
    shape: Any = case.array(0).shape
    if source.chance(0.4):
        shape = tuple(-1 if source.chance(0.5) else size for size in shape)
    if source.chance(0.2):
        shape = source.pick((None, source.small_shape(0, 3)))
    case.attrs["shape"] = attr_text(("shape", shape))
    case.values["shape"] = shape
    return case


def _accumulate(case: Case) -> Outcome:
    want, got = case.values["shape"], case.array(0).shape
    fits = want is None or (
        len(want) == len(got) and all(a in (-1, b) for a, b in zip(want, got, strict=True))
    )
    refuse_unless(fits, "shape")
    return _add_n(case)


define_tests(
    "AccumulateNV2",
    cases=_make_accumulate,
    reference=_accumulate,
    gradient=[Check(lambda *xs: gen_ops.accumulate_nv2(xs, shape=[3, 2]), _TERMS)],
    determinism=_LARGE_SUMS,
)


def _make_l2(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    return Case(
        op.name, [Input(dtype, source.values(dtype, source.shape()))], {"T": type_attr(dtype)}
    )


def _l2(case: Case) -> Outcome:
    x, dtype = numbers(case, 0), case.inputs[0].dtype
    total = np.asarray(np.sum(_wide(x) ** 2))
    near = summed(total, total, x.size + 2, dtype)
    return [Near(total / 2, near.bound, near.any_where)]


define_tests("L2Loss", cases=_make_l2, reference=_l2, determinism=_LARGE_SUMS)
