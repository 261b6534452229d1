"""Every differentiable op's gradient is what central differences say, broadcasting included."""

from __future__ import annotations

import pytest

from millstream import _runtime
from testing.conformance.gradient_check import Known, assert_gradients_are_right
from testing.conformance.gradient_check_cases import all_checks

_CHECKS = all_checks()


def _name(index: int) -> str:
    return f"{_CHECKS[index].op}-{index}"


def test_every_differentiable_op_has_a_check() -> None:
    differentiable = set(_runtime.differentiable_ops().splitlines())
    assert differentiable, "the runtime names no differentiable op"
    checked = {check.op for check in _CHECKS}
    assert not differentiable - checked, "differentiable, but not checked"
    assert not checked - differentiable, "checked, but not differentiable"


@pytest.mark.parametrize("index", range(len(_CHECKS)), ids=_name)
def test_gradient_is_right_where_shapes_are_known(index: int) -> None:
    assert_gradients_are_right(_CHECKS[index], Known.SHAPES)


@pytest.mark.parametrize("index", range(len(_CHECKS)), ids=_name)
def test_gradient_is_right_where_only_ranks_are_known(index: int) -> None:
    assert_gradients_are_right(_CHECKS[index], Known.RANKS)


@pytest.mark.parametrize("index", range(len(_CHECKS)), ids=_name)
def test_gradient_is_right_where_nothing_is_known(index: int) -> None:
    assert_gradients_are_right(_CHECKS[index], Known.NOTHING)
