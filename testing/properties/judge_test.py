"""What is wrong is found, and what is right is not called wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from testing.ops.support import number_types
from testing.ops.support.case import Case
from testing.ops.support.reference import Near, RefusedError, checked_size
from testing.properties import judge
from testing.properties.execution import Result


def _result(value: Any, dtype: str = "float32", shape: Any = None) -> Result:
    array = np.asarray(value)
    shapes = [array.shape if shape is None else shape]
    return Result(values=[array], dtypes=[dtype], shapes=shapes)


def _floats(*values: float) -> Any:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (_floats(1, 2), _floats(1, 3)),
        (_floats(0.0), _floats(-0.0)),
        (_floats(1), _floats(1, 1)),
        (_floats(1), np.array([1], np.float64)),
        (_floats(np.nan), _floats(1)),
        (_floats(1.001), Near(_floats(1), 1e-4)),
        (_floats(np.inf), Near(_floats(1), 1e-4)),
        (_floats(np.nan), Near(_floats(1), 1e-4)),
    ],
)
def test_wrong_values_are_found(got: Any, want: Any) -> None:
    assert judge.judge_result(_result(got), [want])


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (_floats(1, np.nan), _floats(1, np.nan)),
        (_floats(1.00001), Near(_floats(1), 1e-4)),
        (_floats(np.inf), Near(np.array([1e39]), 0.0)),
        (_floats(5), Near(_floats(1), 0.0, np.array([True]))),
    ],
)
def test_right_values_are_not(got: Any, want: Any) -> None:
    assert not judge.judge_result(_result(got), [want])


def test_bits_and_shapes_count_between_forms() -> None:
    one, other = _result(_floats(0.0)), _result(_floats(-0.0))
    assert judge.judge_same(one, other)
    assert judge.judge_same(one, Result(3, "refused", "run"))
    assert not judge.judge_same(one, one)


def test_static_shapes_must_fit_and_be_known_where_all_follows() -> None:
    assert judge.judge_shapes(_result(_floats(1, 2), shape=(3,)), exact=False)
    assert judge.judge_shapes(_result(_floats(1, 2), shape=(None,)), exact=True)
    assert not judge.judge_shapes(_result(_floats(1, 2), shape=(None,)), exact=False)


def test_errors_have_a_class_and_name_node_and_argument() -> None:
    case = Case("Tile")
    good = "node 'n' (op Tile): multiples must not be negative"
    assert not judge.judge_error(case, ["multiples"], Result(3, good, "run"))
    assert judge.judge_error(case, ["multiples"], Result(13, good, "run"))
    assert judge.judge_error(case, ["input"], Result(3, good, "run"))
    assert judge.judge_error(case, ["multiples"], Result(3, "multiples: no", "run"))


def test_bfloat16_is_rounded_to_the_nearest_and_ties_to_even() -> None:
    numbers = np.array([1, 1 + 2**-8, 1 + 3 * 2**-8, np.nan, -0.0, 3.4e38], np.float32)
    stored = number_types.from_numbers(numbers, "bfloat16")
    back = number_types.as_numbers(stored, "bfloat16")
    assert back[:3].tolist() == [1, 1, 1 + 2**-6]
    assert np.isnan(back[3])
    assert np.signbit(back[4])
    assert np.isinf(back[5])


@pytest.mark.parametrize("sizes", [(-1,), (2**40, 2**40), (2**62, 2)])
def test_sizes_that_overflow_are_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(RefusedError):
        checked_size(sizes, "shape")
