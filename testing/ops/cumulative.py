"""Sums, products and log-sum-exps of all elements up to each one along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import float_dtypes_of, function_of
from testing.ops.support.determinism import SIZE, LargeCase, Values
from testing.ops.support.gradient import Check, spread, with_arguments
from testing.ops.support.inputs import INDEX_TYPES, any_tensor, normalized, scalar
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    numbers,
    refuse_unless,
    summed,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source


def _make(source: Source, op: Any) -> Case:
    x = any_tensor(source, op, source.small_shape())
    assert x.value is not None
    axis = scalar(source.axis(x.value.ndim), source.pick(INDEX_TYPES))
    if source.chance(0.03):
        assert axis.value is not None
        axis = Input(axis.dtype, axis.value.reshape(1))
    exclusive, reverse = source.chance(0.4), source.chance(0.4)
    attrs = {
        "T": type_attr(x.dtype),
        "Tidx": type_attr(axis.dtype),
        "exclusive": attr_text(exclusive),
        "reverse": attr_text(reverse),
    }
    return Case(op.name, [x, axis], attrs)


def _axis(case: Case) -> int:
    refuse_unless(case.array(1).ndim == 0, "axis")
    return normalized(int(case.array(1)), case.array(0).ndim, "axis")


def _along(case: Case, function: Callable[..., Array], x: Array, initial: Any) -> Array:
    """np.cumsum or np.cumprod as the attributes say."""
    axis = _axis(case)
    if case.attr("reverse"):
        x = np.flip(x, axis)
    result = function(x, axis, dtype=x.dtype)
    if case.attr("exclusive"):
        shape = list(x.shape)
        shape[axis] = 1
        first = np.full(shape, initial, x.dtype)
        before = np.concatenate([first, result], axis)
        result = np.take(before, np.arange(x.shape[axis]), axis)
    return np.flip(result, axis) if case.attr("reverse") else result


def _wide(x: Array) -> Array:
    return x.astype(np.clongdouble if np.iscomplexobj(x) else np.longdouble)


def _cumsum(case: Case) -> Outcome:
    x, dtype = numbers(case, 0), case.inputs[0].dtype
    length = x.shape[_axis(case)]
    if not number_types.is_inexact(dtype):
        return [_along(case, np.cumsum, x, 0)]
    scale = _along(case, np.cumsum, np.abs(_wide(x)), 0)
    return [summed(_along(case, np.cumsum, _wide(x), 0), scale, length, dtype)]


def _cumprod(case: Case) -> Outcome:
    x, dtype = numbers(case, 0), case.inputs[0].dtype
    length = x.shape[_axis(case)]
    if not number_types.is_inexact(dtype):
        return [_along(case, np.cumprod, x, 1)]
    value = _along(case, np.cumprod, _wide(x), 1)
    # On the way some products may overflow or vanish that the whole does not.
    size = np.abs(_wide(x))
    logarithms = np.abs(np.log2(size, where=x != 0, out=np.zeros(x.shape, np.longdouble)))
    way = _along(case, np.cumsum, logarithms, 0)
    odd = ~(way < abs(np.log2(number_types.smallest_normal(dtype))))
    odd |= ~np.isfinite(_along(case, np.cumsum, size, 0))
    error = number_types.epsilon(dtype) * 2 * max(length, 1)
    tiny = number_types.smallest_normal(dtype) * number_types.epsilon(dtype) * 2
    return [Near(value, np.abs(np.where(odd, 0, value)) * error + tiny, odd)]


def _log_sum(case: Case) -> Outcome:
    x, dtype = numbers(case, 0), case.inputs[0].dtype
    length = x.shape[_axis(case)]
    least = np.longdouble(-number_types.largest(dtype))

    def accumulated(x: Array, axis: int, dtype: Any) -> Array:
        # The first sum is with the logarithm of nothing too.
        return np.logaddexp.accumulate(np.logaddexp(x, least), axis, dtype)

    with np.errstate(all="ignore"):
        value = _along(case, accumulated, _wide(x), least)
        size = np.where(np.isfinite(value) & (value != least), np.abs(value), 0)
    # Each step rounds an exp, a logarithm below log(2) and a sum no larger than the largest of all;
    # later steps do not make its error grow. The last rounding is to the tensor's type.
    largest = np.max(size, axis=_axis(case), keepdims=True, initial=0)
    computed = "float32" if dtype == "float16" else dtype
    steps = number_types.epsilon(computed) * 4 * max(length, 1) * (1 + largest)
    return [Near(value, steps + number_types.epsilon(dtype) * size)]


def _checks(op: str) -> Sequence[Check]:
    function = function_of(op)
    return [
        Check(
            with_arguments(function, axis, exclusive=exclusive, reverse=reverse),
            (spread(op, 2, 3, 2),),
        )
        for axis, exclusive, reverse in (
            (0, False, False),
            (1, True, False),
            (-1, False, True),
            (1, True, True),
        )
    ]


def _log_sum_checks(op: str) -> Sequence[Check]:
    def bounded(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
        # Differences of the least number are none.
        return gen_ops.maximum(gen_ops.cumulative_logsumexp(x, axis, exclusive, reverse), -100.0)

    return [
        Check(with_arguments(bounded, axis, exclusive, reverse), (spread(op, 2, 3, 2),))
        for axis, exclusive, reverse in (
            (0, False, False),
            (1, True, False),
            (-1, False, True),
            (1, True, True),
        )
    ]


def _large(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        function = function_of(op)
        cube = values.of(37, 90, 101)
        return [function(values.of(SIZE), 0), *(function(cube, axis) for axis in (0, 1, 2))]

    return LargeCase(build, float_dtypes_of(op))


define_tests("Cumsum", cases=_make, reference=_cumsum, gradient=_checks, determinism=_large)
define_tests("Cumprod", cases=_make, reference=_cumprod, gradient=_checks, determinism=_large)
define_tests(
    "CumulativeLogsumexp",
    cases=_make,
    reference=_log_sum,
    gradient=_log_sum_checks,
    determinism=_large,
)
