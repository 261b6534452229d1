"""Every registered op keeps its promises on random cases, legal and not.

A case runs with known shapes, with unknown ones, as constants, and in the dynamic executor. None
may crash, hang or take memory without bound; an error has a class for faults of a case, and names
the node and the argument; all forms give the same bits, in the shape that was known before; and
where the case is legal, those of a NumPy reference (`testing/ops`).
"""

from __future__ import annotations

import os

from testing.ops.support.definitions import is_wanted, registered_ops
from testing.ops.support.registry import missing_references, references
from testing.properties import watch
from testing.properties.child import ARBITRARY, REFERRED

SEED = 20
CASES = int(os.environ.get("OP_PROPERTIES_CASES", "24"))

# Which part of the ops this target is for, as "0/3".
_PART, _PARTS = map(int, os.environ.get("OP_PROPERTIES_PART", "0/1").split("/"))


def test_every_op_has_a_reference_or_a_reason() -> None:
    assert not missing_references()


def test_every_op_keeps_its_promises() -> None:
    ops = [op for op in sorted(registered_ops()) if is_wanted(op)][_PART::_PARTS]
    assert ops
    report = watch.run_cases(ops, SEED, CASES)
    shown = "\n\n".join(report.failures[:20])
    assert not report.failures, f"{len(report.failures)} cases failed:\n{shown}"
    for op in ops:
        assert sum(report.counts[op, ARBITRARY, word] for word in ("ran", "exhausted")) == CASES
        if op in references():
            assert report.counts[op, REFERRED, "compared"] > 0, op
