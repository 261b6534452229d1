"""Runs the cases of some ops, in a process of its own.

Says on its standard output, a JSON list a line, which case it is at and what is wrong with it:
["at", op, kind, index], ["wrong", text], ["count", op, how many were compared with the reference].
`watch.py` reads that.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
from typing import Any

import numpy as np

import millstream as tf
from testing.ops.support import case as cases
from testing.ops.support.case import Case
from testing.ops.support.definitions import registered_ops
from testing.ops.support.reference import RefusedError
from testing.ops.support.registry import Property, exceptions_to, references
from testing.ops.support.source import Source
from testing.properties import execution, judge
from testing.properties.arbitrary import arbitrary_case

ARBITRARY, REFERRED = "arbitrary", "referred"

_DATA_DECIDES_SHAPE = exceptions_to(Property.STATIC_SHAPE)
_OWN_BITS = exceptions_to(Property.SAME_BITS)
_NAMES_NO_ARGUMENT = exceptions_to(Property.NAMED_ARGUMENT)
_UNCHECKED_SHAPE = exceptions_to(Property.CHECKED_SHAPE)

# What a case may take beyond what the process has when it starts. The simulated device maps pages
# of zeros on top, which take none.
_MEMORY = (3 if execution.DEVICE else 1) << 30


def main() -> int:
    """Run what the plan on the standard input says."""
    plan = json.load(sys.stdin)
    output = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    _limit_memory()
    ops = registered_ops()
    for op, kind, index in _cases(plan):
        print(json.dumps(["at", op, kind, index]), file=output)
        try:
            wrong = check(ops[op], kind, plan["seed"], index)
        except Exception:
            # Nothing of ours may raise anything else; where the test itself does, its other
            # cases go on.
            wrong = [traceback.format_exc()]
        for text in wrong:
            print(json.dumps(["wrong", text]), file=output)
        print(
            json.dumps(["count", op, kind, _compared.pop() if _compared else "failed"]), file=output
        )
    print(json.dumps(["end"]), file=output)
    return 0


def _cases(plan: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Those of the plan from its first on."""
    listed = [
        (op, kind, index)
        for op in plan["ops"]
        for kind in (REFERRED, ARBITRARY)
        for index in range(plan["cases"])
        if kind == ARBITRARY or op in references()
    ]
    skip = plan.get("skip", 0)
    return listed[skip:]


_compared: list[str] = []


def check(op: Any, kind: str, seed: int, index: int) -> list[str]:
    """Run one case in all of its forms; returns what is wrong."""
    source = Source(op.name, seed, index)
    referred = kind == REFERRED
    make = references()[op.name][0] if referred else None
    case = make(source, op) if make else arbitrary_case(op, source)
    _compared.append("ran" if kind == ARBITRARY else "not compared")
    results = {form: execution.run(case, form) for form in _forms(case)}
    wrong = [
        f"with {form}: {text}"
        for form, result in results.items()
        for text in _judge_form(op, case, form, result)
    ]
    if kind == ARBITRARY:
        wrong += [f"with {cases.HUGE}: {text}" for text in _judge_huge(op, case)]
    known = results[cases.KNOWN]
    if any(result.code == judge.RESOURCE_EXHAUSTED for result in results.values()):
        _compared[-1] = "exhausted"
    elif not judge.lacks_kernel(known):
        if op.name not in _OWN_BITS and op.name not in _UNCHECKED_SHAPE:
            for form, result in results.items():
                wrong += [f"with {form}: {text}" for text in judge.judge_same(known, result)]
        if kind == REFERRED:
            wrong += _compare(case, known)
    if not wrong:
        return []
    return [f"{kind} case {index}, seed {seed}: {case.describe()}\n  " + "\n  ".join(wrong)]


def _forms(case: Case) -> list[str]:
    tensors = [item for item in case.inputs if not item.source]
    return list(cases.FORMS) if tensors else [cases.KNOWN]


def _judge_form(op: Any, case: Case, form: str, result: execution.Result) -> list[str]:
    if result.failed:
        names = [] if op.name in _NAMES_NO_ARGUMENT else _names(op)
        return [f"the error {text}" for text in judge.judge_error(case, names, result)]
    if op.name in _UNCHECKED_SHAPE and form != cases.KNOWN:
        return []
    exact = form == cases.CONSTANT and op.name not in _DATA_DECIDES_SHAPE
    return judge.judge_shapes(result, exact)


def _judge_huge(op: Any, case: Case) -> list[str]:
    """Built with shapes that no tensor has, it is refused like any case, or no size wraps."""
    result = execution.run(case, cases.HUGE)
    if result.failed:
        return _judge_form(op, case, cases.HUGE, result)
    wrapped = [shape for shape in result.shapes if shape and min(size or 0 for size in shape) < 0]
    shown = ", ".join(str(item.huge) for item in case.inputs)
    return [f"shapes {wrapped} from {shown}"] if wrapped else []


def _names(op: Any) -> list[str]:
    return [argument.name for argument in op.input_arg] + [attr.name for attr in op.attr]


def _compare(case: Case, result: execution.Result) -> list[str]:
    try:
        with np.errstate(all="ignore"):
            want = references()[case.op][1](case)
    except RefusedError as refused:
        _compared[-1] = "refused"
        if not result.failed:
            return [f"{refused} is not legal, but it gave {result.values}"]
        return []
    if result.failed:
        return [f"is legal, but it was refused: {result}"]
    _compared[-1] = "compared"
    return judge.judge_result(result, want)


def _limit_memory() -> None:
    # A session loads the plugins and starts the threads; a device keeps addresses for its memory.
    with tf.Session(graph=tf.Graph()), open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + _MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.exit(main())
