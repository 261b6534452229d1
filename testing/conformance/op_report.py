"""Runs groups of golden op cases and counts what became of them."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from millstream import _runtime
from millstream._impl import protos
from testing.conformance.case_runner import Outcome, run_case
from testing.conformance.op_cases import OpCase, groups, read_group

CASES = Path("testdata/conformance/ops/cases")
OP_LIST = Path("testdata/conformance/ops/ops.tsv")
NOT_IMPLEMENTED = Path("testing/conformance/not_implemented.txt")


@dataclass
class GroupReport:
    """The outcomes of a group's cases; `unregistered` are those that no run was tried of."""

    group: str
    outcomes: list[Outcome] = field(default_factory=list)
    unregistered: list[OpCase] = field(default_factory=list)

    @property
    def failures(self) -> list[str]:
        """One text for each failed case."""
        return [
            f"{outcome.case.name}: " + "\n    ".join(outcome.failures)
            for outcome in self.outcomes
            if outcome.failures
        ]

    def counts(self) -> dict[str, Counter[str]]:
        """How many cases passed, failed and were not implemented, by op."""
        by_op: dict[str, Counter[str]] = defaultdict(Counter)
        for outcome in self.outcomes:
            word = "passed" if outcome.passed else "failed"
            by_op[outcome.case.op][word] += 1
        for case in self.unregistered:
            by_op[case.op]["missing"] += 1
        return by_op

    def text(self, with_ops: bool) -> str:
        """The counts as lines of a table: the group, then its ops that were tried."""
        by_op = self.counts()
        total: Counter[str] = sum(by_op.values(), Counter())
        lines = [_line(self.group, total)]
        if with_ops:
            tried = {op: count for op, count in by_op.items() if count["passed"] + count["failed"]}
            lines += [_line("  " + op, count) for op, count in sorted(tried.items())]
        return "\n".join(lines)


def heading() -> str:
    """The heading of the table."""
    return f"{'':40}{'passed':>8}{'failed':>8}{'not implemented':>17}"


def _line(name: str, count: Counter[str]) -> str:
    return f"{name:40}{count['passed']:8}{count['failed']:8}{count['missing']:17}"


def registered_ops() -> frozenset[str]:
    """Names of the ops that the runtime knows."""
    op_list = protos.message_class("OpList").FromString(_runtime.op_list())
    return frozenset(op.name for op in op_list.op)


def run_group(group: str, registered: frozenset[str]) -> GroupReport:
    """Run every case of a group all of whose ops are registered."""
    report = GroupReport(group)
    for case in read_group(CASES, group):
        if case.ops <= registered:
            report.outcomes.append(run_case(case))
        else:
            report.unregistered.append(case)
    return report


def ops_owed(part: str) -> frozenset[str]:
    """The ops that OP_LIST marks as those of a part, "spine" or "library" for example."""
    with OP_LIST.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return frozenset(row["op"] for row in rows if row["owed"] == part)


_NOT_IMPLEMENTED_HEADING = """\
# Ops of the golden cases that are not registered yet, then the graph cases that need one of them.
# Written by ./bazelw run //testing/conformance:list_not_implemented -- --update
"""


def not_implemented_text() -> str:
    """What NOT_IMPLEMENTED must hold."""
    registered = registered_ops()
    ops: set[str] = set()
    graphs: set[str] = set()
    for group in groups(CASES):
        for case in read_group(CASES, group):
            missing = case.ops - registered
            ops |= missing
            if missing and case.node is None:
                graphs.add(case.name)
    lines = (*sorted(ops), "", *sorted(graphs))
    return _NOT_IMPLEMENTED_HEADING + "".join(f"{line}\n" for line in lines)
