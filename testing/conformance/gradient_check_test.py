"""Every differentiable op's gradient is what central differences say, broadcasting included."""

from __future__ import annotations

import pytest

from testing.conformance.gradient_check import Known, assert_gradients_are_right
from testing.ops.support.definitions import differentiable_ops, is_wanted
from testing.ops.support.registry import gradient_checks, missing_gradient_checks

_CHECKS = [(op, check) for op, check in gradient_checks() if is_wanted(op)]


def _name(index: int) -> str:
    return f"{_CHECKS[index][0]}-{index}"


def test_every_differentiable_op_has_a_check() -> None:
    assert differentiable_ops(), "the runtime names no differentiable op"
    assert not missing_gradient_checks()


@pytest.mark.parametrize("index", range(len(_CHECKS)), ids=_name)
def test_gradient_is_right_where_shapes_are_known(index: int) -> None:
    assert_gradients_are_right(*_CHECKS[index], Known.SHAPES)


@pytest.mark.parametrize("index", range(len(_CHECKS)), ids=_name)
def test_gradient_is_right_where_only_ranks_are_known(index: int) -> None:
    assert_gradients_are_right(*_CHECKS[index], Known.RANKS)


@pytest.mark.parametrize("index", range(len(_CHECKS)), ids=_name)
def test_gradient_is_right_where_nothing_is_known(index: int) -> None:
    assert_gradients_are_right(*_CHECKS[index], Known.NOTHING)
