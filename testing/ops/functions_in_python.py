"""Ops that call Python functions."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, define_tests

define_tests(
    ["PyFunc", "PyFuncStateless"],
    reference=NotTested(
        "calls a function of the program: python/millstream/_impl/ops/script_ops_test.py and "
        "core/structural/front_end_functions_test.cc"
    ),
)
