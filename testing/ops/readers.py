"""Readers of files whose names come out of a queue."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, define_tests

_READS = NotTested(
    "reads files: python/millstream/_impl/ops/readers_test.py compares what comes out of a reader"
)
_REPLACED = NotTested("runs as the op on handles")
_READERS = ["FixedLengthRecord", "Identity", "TFRecord", "TextLine", "WholeFile"]
_READS_OF_THEM = [
    "NumRecordsProduced",
    "NumWorkUnitsCompleted",
    "Read",
    "ReadUpTo",
    "Reset",
    "RestoreState",
    "SerializeState",
]

define_tests(
    [
        *(f"{kind}ReaderV2" for kind in _READERS),
        *(f"Reader{what}V2" for what in _READS_OF_THEM),
    ],
    reference=_READS,
)
define_tests(
    [*(f"{kind}Reader" for kind in _READERS), *(f"Reader{what}" for what in _READS_OF_THEM)],
    reference=_REPLACED,
)
