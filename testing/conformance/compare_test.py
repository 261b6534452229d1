"""The comparison accepts what the rule accepts, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from testing.conformance.compare import difference
from testing.conformance.op_cases import Array, Value, whole_message


def _differs(got: Array, want: Array, rtol: float = 0.0, atol: float = 0.0) -> bool:
    return difference(got, Value(str(want.dtype), want), rtol, atol) is not None


def _floats(*values: float) -> Array:
    return np.array(values, np.float32)


def _complexes(*values: complex) -> Array:
    return np.array(values, np.complex64)


def _bfloat16(*bits: int) -> Array:
    return np.array(bits, np.uint16).view(np.dtype([("bfloat16", np.uint16)]))


def test_equal_bits_are_wanted_where_no_tolerance_is() -> None:
    assert not _differs(_floats(1, np.inf, np.nan), _floats(1, np.inf, -np.nan))
    assert _differs(_floats(0.0), _floats(-0.0))
    assert _differs(_floats(1.0), np.nextafter(_floats(1.0), _floats(2.0)))


def test_tolerance_is_absolute_plus_relative_to_the_golden_value() -> None:
    assert not _differs(_floats(10.1), _floats(10.0), rtol=0.01, atol=0.001)
    assert _differs(_floats(10.2), _floats(10.0), rtol=0.01, atol=0.001)
    assert not _differs(_complexes(3 + 4.04j), _complexes(3 + 4j), rtol=0.01)
    assert _differs(_complexes(3 + 4.06j), _complexes(3 + 4j), rtol=0.01)


def test_tolerance_lets_no_special_value_pass_for_another() -> None:
    special = [np.inf, -np.inf, np.nan]
    assert not _differs(_floats(*special), _floats(*special), rtol=1, atol=1)
    for want in special:
        for got in (1.0, *special):
            same = got == want or (np.isnan(got) and np.isnan(want))
            assert _differs(_floats(got), _floats(want), rtol=1, atol=1) != same


@pytest.mark.parametrize(
    "got",
    [_floats(1, 2).reshape(1, 2), _floats(1), np.array([1.0, 2.0]), np.array([1, 2]), b"12"],
)
def test_shape_and_type_are_compared(got: Any) -> None:
    assert difference(got, Value("float32", _floats(1, 2)), 1, 1) is not None


def test_strings_are_compared_as_bytes() -> None:
    value = Value("string", np.array([b"a", b""], object))
    assert difference(np.array([b"a", b""], object), value, 0, 0) is None
    assert difference(np.array([b"a", b"b"], object), value, 0, 0) is not None
    assert difference(b"a", Value("string", np.array(b"a", object)), 0, 0) is None


def test_golden_messages_get_the_zero_bytes_that_numpy_dropped() -> None:
    whole = b'\x08\x03\x12\x04\x12\x02\x08\x01"\x04\x07\x00\x00\x00'
    assert whole_message(whole) == whole
    assert whole_message(whole.rstrip(b"\0")) == whole
    assert whole_message(b"\x08\x07B\x01a") == b"\x08\x07B\x01a"


def test_types_that_numpy_lacks_are_compared_by_value() -> None:
    bits = np.array([0x3F80, 0x7FC0], np.uint16)  # 1 and a NaN
    want = Value("bfloat16", bits)
    assert difference(_bfloat16(0x3F80, 0x7FC1), want, 0, 0) is None
    assert difference(_bfloat16(0x3F81, 0x7FC0), want, 0, 0) is not None
    assert difference(_bfloat16(0x3F81, 0x7FC0), want, 0.01, 0) is None
    assert difference(bits, want, 0, 0) is not None
