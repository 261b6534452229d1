"""Every golden op case all of whose ops are registered gives the golden outcome.

A case is "not implemented" when an op of it is not registered, or when an op has no kernel for a
type; the latter are listed by name in missing_dtypes.txt.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest

from millstream import plugins
from testing.conformance import op_report
from testing.conformance.case_runner import MissingKernel
from testing.conformance.op_cases import groups

_GROUPS = groups(op_report.CASES)


@functools.cache
def _report(group: str) -> op_report.GroupReport:
    return op_report.run_group(group, op_report.registered_ops())


@pytest.fixture(autouse=True, scope="module")
def _plugin() -> None:
    """Skip all where the machine cannot run the plugin that the target names."""
    plugins.load_installed()
    wanted = os.environ.get("MILLSTREAM_PLUGINS")
    for plugin in plugins.list_plugins():
        if plugin.name == wanted and plugin.state == "SHADOWED":
            pytest.skip(plugin.text)
        assert plugin.name != wanted or plugin.state == "READY", plugin.text


def test_there_are_golden_cases() -> None:
    assert len(_GROUPS) == 30


@pytest.mark.parametrize("group", _GROUPS)
def test_every_case_gives_the_golden_outcome(group: str) -> None:
    failures = _report(group).failures
    assert not failures, f"{len(failures)} cases failed:\n" + "\n".join(failures)


def test_kernels_are_missing_for_the_listed_types_alone() -> None:
    found = {kernel for group in _GROUPS for kernel in _report(group).missing}
    listed = op_report.listed_missing()
    passing = {kernel for group in _GROUPS for kernel in _report(group).passing(listed)}
    assert not _names(found - listed), "no kernel, and not listed in missing_dtypes.txt"
    assert not _names(listed - found), "listed in missing_dtypes.txt, but not missing"
    assert not _names(passing), "listed in missing_dtypes.txt, but a case passes"


def _names(kernels: set[MissingKernel]) -> list[str]:
    return sorted(f"{kernel.op} {kernel.dtype}" for kernel in kernels)


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
