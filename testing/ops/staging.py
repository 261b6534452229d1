"""Staging areas and staging maps between steps."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, define_tests

_OF_MAPS = ["Clear", "IncompleteSize", "Peek", "Size", "Stage", "Unstage", "UnstageNoKey"]

define_tests(
    [
        *(f"Map{name}" for name in _OF_MAPS),
        *(f"OrderedMap{name}" for name in _OF_MAPS),
        "Stage",
        "StageClear",
        "StagePeek",
        "StageSize",
        "Unstage",
    ],
    reference=NotTested(
        "works between steps: core/structural/staging_test.cc compares what comes out"
    ),
)
