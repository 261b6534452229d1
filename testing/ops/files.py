"""Which files there are, whole files, and records of files."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, Property, define_tests

define_tests(
    "MatchingFiles",
    reference=NotTested(
        "the machine decides which files there are: core/io/match_files_test.cc has files in memory"
    ),
    exceptions={Property.STATIC_SHAPE: "the step finds out how many files there are"},
)
define_tests(
    ["ReadFile", "WriteFile"],
    reference=NotTested(
        "reads and writes files: python/millstream/_impl/ops/files_ops_test.py has some"
    ),
)
define_tests(
    "RecordInput",
    reference=NotTested("reads files: python/millstream/_impl/train/record_input_test.py has some"),
)
