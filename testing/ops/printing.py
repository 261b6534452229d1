"""Ops that print, and that make texts of tensors."""

from __future__ import annotations

from millstream._impl.ops import gen_ops
from testing.ops.support.gradient import Check, spread
from testing.ops.support.registry import NotTested, define_tests

_PRINTS = NotTested("prints: core/structural/printing_test.cc compares what is printed")

define_tests(
    "Print",
    reference=_PRINTS,
    gradient=[Check(lambda x: gen_ops.print(x, [], first_n=0), (spread("Print", 3, 4),))],
)
define_tests("PrintV2", reference=_PRINTS)
define_tests(
    "StringFormat",
    reference=NotTested("makes a text: core/structural/tensor_text_test.cc compares texts"),
)
