"""Checkpoints: tensors in files."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, define_tests

define_tests(
    [
        "MergeV2Checkpoints",
        "Restore",
        "RestoreSlice",
        "RestoreV2",
        "Save",
        "SaveSlices",
        "SaveV2",
        "ShardedFilename",
        "ShardedFilespec",
    ],
    reference=NotTested(
        "works on files: core/structural/checkpoints_test.cc compares what is written and read"
    ),
)
