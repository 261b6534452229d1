"""Functions take the parameters of the 1.15 API: their names, their order, their defaults."""

from __future__ import annotations

import inspect

import millstream as tf
from testing.api import api_table
from testing.api.api_table import Signature

_TABLE = api_table.wanted()
_DIFFERENT, _ABSENT = api_table.compare(_TABLE)


def _is_method(name: str) -> bool:
    """Whether a name is that of a method, whose class is there."""
    try:
        return inspect.isclass(api_table.value_of(name.rpartition(".")[0]))
    except (AttributeError, ValueError):
        return False


def test_the_table_is_read_whole() -> None:
    assert len(_TABLE) > 3000
    assert str(_TABLE["nn.relu"]) == "(features, name=None)"
    assert _TABLE["layers.Dense.apply"] == Signature(("inputs",), (None,), True, True)


def test_signatures_are_those_of_the_api_or_differ_for_a_reason() -> None:
    patterns = api_table.differences()
    unexplained = [
        text for name, text in _DIFFERENT.items() if api_table.pattern_of(name, patterns) is None
    ]
    assert not unexplained, "\n".join(unexplained)


def test_methods_are_there_or_absent_for_a_reason() -> None:
    patterns = api_table.differences()
    unexplained = [
        name
        for name in _ABSENT
        if _is_method(name) and api_table.pattern_of(name, patterns) is None
    ]
    assert not unexplained, "\n".join(unexplained)


def test_no_reason_is_without_a_difference() -> None:
    names = [*_DIFFERENT, *filter(_is_method, _ABSENT)]
    patterns = api_table.differences()
    used = {api_table.pattern_of(name, patterns) for name in names}
    assert set(patterns) <= used, sorted(set(patterns) - used)


def test_a_call_that_fits_the_api_must_fit_our_own() -> None:
    want = Signature(("x", "axis"), (None, "0"), False, False)
    assert api_table.agrees(want, want)
    assert api_table.agrees(Signature(("x", "axis", "more"), (None, "0", "1"), False, False), want)
    assert not api_table.agrees(
        Signature(("x", "axis", "more"), (None, "0", None), False, False), want
    )
    assert not api_table.agrees(Signature(("axis", "x"), (None, "0"), False, False), want)
    assert not api_table.agrees(Signature(("x", "axis"), (None, "1"), False, False), want)
    assert not api_table.agrees(Signature(("x", "axis"), (None, None), False, False), want)
    assert not api_table.agrees(want, Signature(("x", "axis"), (None, "0"), False, True))


def test_the_signature_of_a_class_is_that_of_its_initializer() -> None:
    own = api_table.own_signature(tf.train.GradientDescentOptimizer)
    assert str(own) == "(learning_rate, use_locking=False, name='GradientDescent')"
