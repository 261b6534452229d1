"""The gradients of gradients are what central differences say, for every check of a gradient."""

from __future__ import annotations

import pytest

from testing.conformance.gradient_check import (
    Known,
    assert_gradients_are_right,
    of_second_order,
)
from testing.ops.support.definitions import is_wanted
from testing.ops.support.gradient import Check, LacksGradient
from testing.ops.support.registry import gradient_checks

_Named = tuple[str, Check]

_WANTED = [(op, check) for op, check in gradient_checks() if is_wanted(op)]
_COMPARED = [named for named in _WANTED if named[1].no_second_order is None]
_LACKING = [named for named in _WANTED if isinstance(named[1].no_second_order, LacksGradient)]


def _names(checks: list[_Named]) -> list[str]:
    return [f"{op}-{index}" for index, (op, _) in enumerate(checks)]


@pytest.mark.parametrize("known", [Known.SHAPES, Known.NOTHING], ids=lambda known: known.name)
@pytest.mark.parametrize("index", range(len(_COMPARED)), ids=_names(_COMPARED))
def test_gradient_of_the_gradient_is_right(index: int, known: Known) -> None:
    op, check = _COMPARED[index]
    assert_gradients_are_right(f"gradient of {op}", of_second_order(check), known)


@pytest.mark.parametrize("index", range(len(_LACKING)), ids=_names(_LACKING))
def test_an_op_that_has_no_gradient_is_named(index: int) -> None:
    check = _LACKING[index][1]
    assert isinstance(check.no_second_order, LacksGradient)
    message = f"no gradient function is registered for op {check.no_second_order.op}"
    with pytest.raises(LookupError, match=rf"{message}\b"):
        assert_gradients_are_right("", of_second_order(check), Known.SHAPES)
