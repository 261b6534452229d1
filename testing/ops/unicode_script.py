"""The scripts of characters."""

from __future__ import annotations

from typing import Any

import numpy as np

from testing.ops.support.case import Case, Input
from testing.ops.support.reference import Outcome
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source

# Characters of each script that has a name here, by its number.
_SCRIPTS = {
    0: "1 .", 1: "\u0301", 2: "\u0628", 8: "\u0416", 14: "\u03a9", 17: "\u4e2d", 18: "\uac00",
    19: "\u05d0", 20: "\u3042", 22: "\u30a2", 25: "Az\u00e9", 38: "\u0e01", 75: "\U00016b00",
    103: "\u0378",
}  # fmt: skip
_SCRIPT_OF = {ord(c): number for number, characters in _SCRIPTS.items() for c in characters}
_SCRIPT_OF |= {-1: -1, 0x110000: -1, 2**31 - 1: -1, -(2**31): -1, 0x10FFFF: 103}


def _make_script(source: Source, op: Any) -> Case:
    shape = source.small_shape()
    drawn = [source.pick(tuple(_SCRIPT_OF)) for _ in range(int(np.prod(shape)))]
    return Case(op.name, [Input("int32", np.array(drawn, np.int32).reshape(shape))])


def _script(case: Case) -> Outcome:
    codes = case.array(0)
    numbers = [_SCRIPT_OF[int(code)] for code in codes.flat]
    return [np.array(numbers, np.int32).reshape(codes.shape)]


define_tests("UnicodeScript", cases=_make_script, reference=_script)
