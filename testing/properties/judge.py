"""Whether what became of a case is right. Each function returns sentences on what is wrong."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from testing.ops.support import case as cases
from testing.ops.support import number_types
from testing.ops.support.case import Case
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Drawn, Near
from testing.properties.execution import Result

INVALID_ARGUMENT, NOT_FOUND, RESOURCE_EXHAUSTED = 3, 5, 8
FAILED_PRECONDITION, OUT_OF_RANGE, UNIMPLEMENTED = 9, 11, 12

# What a fault of the case may be. Not among them: UNKNOWN, INTERNAL and what needs somebody else.
_FAULTS_OF_THE_CASE = {
    INVALID_ARGUMENT,
    NOT_FOUND,
    RESOURCE_EXHAUSTED,
    FAILED_PRECONDITION,
    OUT_OF_RANGE,
    UNIMPLEMENTED,
}

_NO_KERNEL = re.compile("kernel|Cannot assign a device")

# About a variable, or the largest tensor, which they name.
_NAME_OTHERS = (NOT_FOUND, FAILED_PRECONDITION, RESOURCE_EXHAUSTED)


def judge_error(case: Case, names: list[str], result: Result) -> list[str]:
    """An error has a class for faults of its case, and names node, op and argument.

    names: the op's arguments and attributes.
    """
    wrong = []
    if result.code not in _FAULTS_OF_THE_CASE:
        wrong.append(f"has a class that no fault of a case has: {result}")
    if lacks_kernel(result):
        return wrong  # the node is another one where its variable is what has no place
    # A node on references is one on handles when it runs, n/write.
    if not re.search(f"'{cases.NODE}['/]", result.message) or case.op not in result.message:
        wrong.append(f"does not name the node and its op: {result}")
    words = set(re.findall(r"\w+", result.message.split("[inputs:")[0]))
    about_all = result.code in _NAME_OTHERS
    about_all |= "too many elements" in result.message  # of the output, whose shape it shows
    if names and not about_all and not words & set(names):
        wrong.append(f"names no argument and no attribute: {result}")
    return wrong


def lacks_kernel(result: Result) -> bool:
    """Whether there is no kernel for the types of the case, or no device with one and its state."""
    return result.failed and bool(_NO_KERNEL.search(result.message))


def judge_shapes(result: Result, exact: bool) -> list[str]:
    """What was known of the outputs' shapes before the step fits what came.

    exact: all of it must have been known.
    """
    wrong = []
    for i, (static, value) in enumerate(zip(result.shapes, result.values, strict=False)):
        if value is None:
            continue
        known = static is not None and None not in static
        if exact and not known:
            wrong.append(f"output {i}: static shape {static}, but all of {value.shape} follows")
        elif static is not None and not _fits(static, value.shape):
            wrong.append(f"output {i}: static shape {static}, but the step gave {value.shape}")
    return wrong


def _fits(static: tuple[int | None, ...], shape: tuple[int, ...]) -> bool:
    if len(static) != len(shape):
        return False
    return all(want in (None, got) for want, got in zip(static, shape, strict=True))


def judge_same(first: Result, other: Result) -> list[str]:
    """Two forms of a case are both refused or give the same bits."""
    if first.failed != other.failed:
        return [f"differs: {first}\n  but here: {other}"]
    if first.failed:
        return []
    wrong = []
    for i, (one, two) in enumerate(zip(first.values, other.values, strict=True)):
        if one is not None and two is not None and not same_bits(one, two):
            wrong.append(f"result {i} has other bits: {one}\n  but here: {two}")
    return wrong


def same_bits(one: Array, two: Array) -> bool:
    """Whether type, shape and every bit are equal."""
    if one.dtype != two.dtype or one.shape != two.shape:
        return False
    if one.dtype == object:
        return list(one.flat) == list(two.flat)
    return one.tobytes() == two.tobytes()


def judge_result(result: Result, want: list[Any]) -> list[str]:
    """The values are those of the reference."""
    if len(want) != len(result.values):
        return [f"gives {len(result.values)} results, the reference {len(want)}"]
    wrong = []
    for i, (got, expected) in enumerate(zip(result.values, want, strict=True)):
        if got is not None and expected is not None:
            text = _difference(got, expected, result.dtypes[i])
            if text:
                wrong.append(f"result {i}, {result.dtypes[i]}{list(got.shape)}: {text}")
    return wrong


def _difference(got: Array, want: Any, dtype: str) -> str:
    if isinstance(want, Drawn):
        if got.shape != want.shape:
            return f"has not the shape {list(want.shape)}"
        return want.check(number_types.as_numbers(got, dtype)) if got.size else ""
    value = want.value if isinstance(want, Near) else want
    if got.shape != np.shape(value):
        return f"the reference has the shape {list(np.shape(value))}: {value}"
    if got.size == 0:
        return ""
    if isinstance(want, Near):
        return _not_near(number_types.as_numbers(got, dtype), want, dtype)
    return _not_equal(got, np.asarray(value), dtype)


def _not_equal(got: Array, want: Array, dtype: str) -> str:
    """Equal bit for bit, but any NaN is as good as another."""
    if got.dtype == object:
        return "" if same_bits(got, want) else f"{got}, the reference has {want}"
    # Copies are given as they are stored.
    numbers = got if want.dtype == got.dtype else number_types.as_numbers(got, dtype)
    if want.dtype != numbers.dtype:
        return f"is {numbers.dtype}, the reference {want.dtype}"
    same: Array = np.asarray(_bits(numbers) == _bits(want))
    if numbers.dtype.kind in "fc":
        no_numbers = np.isnan(_real_parts(numbers)) & np.isnan(_real_parts(want))
        same = np.asarray(same | _parts(no_numbers, numbers))
    return _shown(numbers, want, ~same)


def _real_parts(array: Array) -> Array:
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat


def _parts(of_parts: Array, array: Array) -> Array:
    """Folds what is said of the parts of complex numbers to what is said of the numbers."""
    if np.iscomplexobj(array):
        of_parts = np.asarray(of_parts.reshape(-1, 2).all(1))
    return of_parts.reshape(array.shape)


def _bits(array: Array) -> Array:
    """The bits of each element, as unsigned integers; of a complex number, of its parts."""
    if array.dtype == bool:
        return array
    if np.iscomplexobj(array):
        # NaN parts are judged apart; here parts are compared as numbers with their sign.
        return np.array([part.tobytes() for part in array.reshape(-1)], object).reshape(array.shape)
    return array.view(f"u{array.dtype.itemsize}")


def _not_near(got: Array, want: Near, dtype: str) -> str:
    value = np.asarray(want.value)
    with np.errstate(all="ignore"):
        bound = np.broadcast_to(np.asarray(want.bound, np.float64), value.shape)
        if np.iscomplexobj(got):
            good = _near(got.real, value.real, bound, dtype)
            good &= _near(got.imag, value.imag, bound, dtype)
        else:
            good = _near(got, value, bound, dtype)
    if want.any_where is not None:
        good |= np.broadcast_to(want.any_where, good.shape)
    return _shown(got, value, ~good)


def _near(got: Array, value: Array, bound: Array, dtype: str) -> Array:
    largest = number_types.largest(dtype)
    wide = got.astype(np.longdouble)
    same = (got == value) | (np.isnan(got) & np.isnan(value))
    close = np.abs(wide - value) <= bound
    # Where the exact result is beyond the largest number, or nearly, infinity is right, too.
    beyond = np.isinf(got) & (np.sign(got) == np.sign(value))
    return np.asarray(same | close | (beyond & (np.abs(value) + bound >= largest)))


def _shown(got: Array, want: Array, wrong: Array) -> str:
    places = np.argwhere(wrong)
    if len(places) == 0:
        return ""
    shown = [
        f"at {place.tolist()} {got[tuple(place)]!r}, the reference has {want[tuple(place)]!r}"
        for place in places[:3]
    ]
    return f"{len(places)} elements differ: " + "; ".join(shown)
