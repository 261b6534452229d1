"""Every golden op case all of whose ops are registered gives the golden outcome.

A case is "not implemented" exactly when an op of it is not registered. Those ops, and the graph
cases that need them, stand by name in not_implemented.txt, which list_not_implemented.py writes.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest

from testing.conformance import op_report
from testing.conformance.op_cases import groups, read_group

_GROUPS = groups(op_report.CASES)


@functools.cache
def _report(group: str) -> op_report.GroupReport:
    return op_report.run_group(group, op_report.registered_ops())


def test_there_are_golden_cases() -> None:
    assert len(_GROUPS) == 30


@pytest.mark.parametrize("group", _GROUPS)
def test_every_case_gives_the_golden_outcome(group: str) -> None:
    failures = _report(group).failures
    assert not failures, f"{len(failures)} cases failed:\n" + "\n".join(failures)


def test_what_is_not_implemented_is_what_the_list_says() -> None:
    listed = op_report.NOT_IMPLEMENTED.read_text(encoding="utf-8")
    assert listed == op_report.not_implemented_text(), (
        f"{op_report.NOT_IMPLEMENTED} is out of date: "
        "./bazelw run //testing/conformance:list_not_implemented -- --update writes it"
    )


def test_no_case_of_spine_ops_alone_is_missing() -> None:
    spine = op_report.ops_owed("spine")
    passed = {
        outcome.case.name
        for group in _GROUPS
        for outcome in _report(group).outcomes
        if outcome.passed
    }
    cases = [
        case
        for group in _GROUPS
        for case in read_group(op_report.CASES, group)
        if case.ops <= spine
    ]
    assert len(spine) == 124
    assert len(cases) == 1090
    assert not sorted(case.name for case in cases if case.name not in passed)


def test_every_op_of_the_library_is_registered() -> None:
    library = op_report.ops_owed("library")
    assert len(library) == 594
    assert sorted(library - op_report.registered_ops()) == []


def test_print_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    reports = [_report(group) for group in _GROUPS]
    total: dict[str, int] = {"passed": 0, "failed": 0, "missing": 0}
    for report in reports:
        for count in report.counts().values():
            for word in total:
                total[word] += count[word]
    table = [op_report.heading(), *(report.text(with_ops=True) for report in reports)]
    failures = [failure for report in reports for failure in report.failures]
    closing = (
        f"{total['passed']} passed, {total['failed']} failed, {total['missing']} not implemented"
    )
    text = "\n".join(["", *table, closing, *failures])
    with capsys.disabled():
        print(text)
    folder = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR")
    if folder:
        (Path(folder) / "report.txt").write_text(text, encoding="utf-8")
    assert total["passed"] > 0
