"""Calls of functions of the graph's library."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, define_tests

define_tests(
    [
        *("PartitionedCall", "StatefulPartitionedCall", "SymbolicGradient"),
        *("If", "StatelessIf", "Case", "While", "StatelessWhile", "For", "MapDefun", "RemoteCall"),
        "BatchFunction",
    ],
    reference=NotTested(
        "needs a library: core/import/import_functions_test.cc compares what calls give"
    ),
)
