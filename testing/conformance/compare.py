"""Whether a fetched value is the golden one, by the rule of testdata/conformance/VERSION.

Shape and type are equal. Tolerances of zero: equal bit for bit, but any NaN equals any NaN. Else
|got - want| <= atol + rtol * |want|, NaN equals NaN, and infinities are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from testing.conformance.op_cases import Array, Value

# Types that NumPy lacks, whose golden values are stored by their bits.
_STORED_AS = {
    "bfloat16": np.uint16,
    "qint8": np.int8,
    "quint8": np.uint8,
    "qint16": np.int16,
    "quint16": np.uint16,
    "qint32": np.int32,
}
_MAX_SHOWN = 3


def difference(got: Any, want: Value, rtol: float, atol: float) -> str | None:
    """A sentence on how `got`, as a session gave it, differs from `want`, or None.

    Parameters
    ----------
    got
        A NumPy array or scalar, or bytes.
    want
        The golden value.
    rtol, atol
        The case's tolerances.
    """
    array = _stored(got, want.dtype)
    if array is None:
        kind = getattr(got, "dtype", type(got).__name__)
        return f"is {kind}, expected {want.dtype}"
    if array.shape != want.array.shape:
        return f"has the shape {array.shape}, expected {want.array.shape}"
    if want.dtype == "string":
        equal = np.array([a == b for a, b in zip(array.flat, want.array.flat, strict=True)], bool)
        return _describe(array, want.array, equal.reshape(array.shape))
    exact = rtol == 0 and atol == 0
    parts = zip(_real_parts(array, want.dtype), _real_parts(want.array, want.dtype), strict=True)
    if exact:
        equal = np.ones(array.shape, bool)
        for one, other in parts:
            equal &= (_bits(one) == _bits(other)) | (_is_nan(one) & _is_nan(other))
        return _describe(array, want.array, equal)
    return _describe(array, want.array, _close(list(parts), rtol, atol))


def _stored(got: Any, dtype: str) -> Array | None:
    """The value in the form in which golden values are stored; None when it has another type."""
    if dtype == "string":
        if isinstance(got, bytes):
            cell = np.empty((), object)
            cell[()] = got
            return cell
        is_strings = isinstance(got, np.ndarray) and got.dtype == object
        return got if is_strings else None
    array = np.asarray(got)
    stored = _STORED_AS.get(dtype)
    if stored is None:
        return array if array.dtype == np.dtype(dtype) else None
    if array.dtype.names != (dtype,):
        return None
    return array.view(stored)


def _real_parts(array: Array, dtype: str) -> list[Array]:
    """The array, or its real and imaginary parts; bfloat16 as the float32 of the same value."""
    if dtype == "bfloat16":
        return [(array.astype(np.uint32) << 16).view(np.float32)]
    if array.dtype.kind == "c":
        return [np.ascontiguousarray(array.real), np.ascontiguousarray(array.imag)]
    return [array]


def _bits(array: Array) -> Array:
    if array.dtype.kind != "f":
        return array
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)


def _is_nan(array: Array) -> Array:
    return np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)


def _close(parts: list[tuple[Array, Array]], rtol: float, atol: float) -> Array:
    """Where numbers are close; complex ones by the absolute value of their difference."""
    pairs = [(one.astype(np.float64), other.astype(np.float64)) for one, other in parts]
    shape = pairs[0][0].shape
    same_special = np.ones(shape, bool)
    finite = np.ones(shape, bool)
    error = np.zeros(shape)
    size = np.zeros(shape)
    for one, other in pairs:
        both_finite = np.isfinite(one) & np.isfinite(other)
        finite &= both_finite
        same_special &= both_finite | (one == other) | (np.isnan(one) & np.isnan(other))
        error = np.hypot(error, np.where(both_finite, one, 0) - np.where(both_finite, other, 0))
        size = np.hypot(size, np.where(np.isfinite(other), other, 0))
    return same_special & (error <= atol + rtol * size)


def _describe(got: Array, want: Array, equal: Array) -> str | None:
    if equal.all():
        return None
    wrong = np.argwhere(~equal)
    shown = [
        f"{list(map(int, where))}: got {got[tuple(where)]!r}, expected {want[tuple(where)]!r}"
        for where in wrong[:_MAX_SHOWN]
    ]
    return f"differs in {len(wrong)} of {equal.size} elements: " + "; ".join(shown)
