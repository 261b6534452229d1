"""What tests know of each op. The files of `testing/ops` say it, and drivers read it here."""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePath

from testing.ops.support.definitions import (
    differentiable_ops,
    is_unary,
    moves_elements,
    registered_ops,
    takes_floats,
)
from testing.ops.support.determinism import LargeCase, LargeCaseOfOp, large_tensor
from testing.ops.support.gradient import Check, Checks, of_one_tensor
from testing.ops.support.reference import MakeCase, Reference

_PACKAGE = "testing.ops"


@dataclass(frozen=True)
class NotTested:
    """Stands for a test that an op does not have.

    Attributes
    ----------
    reason
        Why, and where else the op is tested.
    """

    reason: str


class Property(enum.Enum):
    """What holds for the random cases of every op, unless the op is an exception."""

    STATIC_SHAPE = "the shape is known before the step where all inputs are constants"
    SAME_BITS = "all forms of a case give the same bits"
    NAMED_ARGUMENT = "an error names an argument or attribute"
    # Of an exception, cases whose `values` say "repeatable" keep it all the same.
    REPEATABLE = "an execution changes no later one, but by the random numbers that it takes"
    CHECKED_SHAPE = "inputs of unknown shapes are checked as those of known shapes"


@dataclass(frozen=True)
class OpTests:
    """What tests know of one op: the arguments of `define_tests`, and the file they stand in."""

    op: str
    file: str
    cases: MakeCase | None
    reference: Reference | NotTested
    gradient: Checks | NotTested | None
    determinism: LargeCase | LargeCaseOfOp | NotTested | None
    exceptions: Mapping[Property, str] = field(default_factory=dict)


_tests: dict[str, OpTests] = {}


def define_tests(
    ops: str | Sequence[str],
    *,
    reference: Reference | NotTested,
    cases: MakeCase | None = None,
    gradient: Checks | NotTested | None = None,
    determinism: LargeCase | LargeCaseOfOp | NotTested | None = None,
    exceptions: Mapping[Property, str] | None = None,
) -> None:
    """Say how an op is tested, or several ops alike.

    Parameters
    ----------
    ops
        Their names.
    reference
        What a case gives, computed with NumPy.
    cases
        Makes the random cases that are compared with the reference. The plugin check tries the
        kernels of plugins with them too. Cases of an op without a reference are for it alone, and
        each of them has to be legal.
    gradient
        The numeric checks of the op's gradient, or a function that makes them of its name. One that
        is not given is `of_one_tensor()` for an op that makes one tensor of numbers of another and
        has a gradient. Other ops with a gradient need one.
    determinism
        A graph that is run with several numbers of threads, or a function that makes it of the
        op's name. One that is not given is `large_tensor` for an op that makes one tensor of
        numbers of another. An op that takes strings too, but no variables, computes no numbers and
        needs none. Other ops of floating-point numbers need one.
    exceptions
        Properties that do not hold for the op's cases, each with the reason.
    """
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    file = f"testing/ops/{PurePath(frame.f_back.f_code.co_filename).name}"
    for op in [ops] if isinstance(ops, str) else ops:
        assert op not in _tests, f"{file}: {op} has tests already, in {_tests[op].file}"
        assert isinstance(reference, NotTested) or cases is not None, (
            f"{file}: {op} needs cases, because it has a reference"
        )
        _tests[op] = OpTests(op, file, cases, reference, gradient, determinism, exceptions or {})


@cache
def all_tests() -> Mapping[str, OpTests]:
    """What all files of the package say, by op."""
    package = importlib.import_module(_PACKAGE)
    for module in pkgutil.iter_modules(package.__path__):
        if not module.ispkg:
            importlib.import_module(f"{_PACKAGE}.{module.name}")
    return _tests


def references() -> dict[str, tuple[MakeCase, Reference]]:
    """How the cases of an op are made and what they give, for each op that has a reference."""
    return {
        op: (tests.cases, tests.reference)
        for op, tests in all_tests().items()
        if tests.cases is not None and not isinstance(tests.reference, NotTested)
    }


def exceptions_to(of: Property) -> frozenset[str]:
    """The ops for which a property does not hold."""
    return frozenset(op for op, tests in all_tests().items() if of in tests.exceptions)


def _tests_of_ops() -> list[OpTests]:
    """What files say of the ops that there are."""
    return [tests for op, tests in all_tests().items() if op in registered_ops()]


def gradient_checks() -> list[tuple[str, Check]]:
    """Every gradient check, with its op."""
    return [(tests.op, check) for tests in _tests_of_ops() for check in _checks_of(tests)]


def _checks_of(tests: OpTests) -> Sequence[Check]:
    if isinstance(tests.gradient, NotTested):
        return []
    gradient = tests.gradient
    if gradient is None:
        is_derived = tests.op in differentiable_ops() and is_unary(registered_ops()[tests.op])
        gradient = of_one_tensor() if is_derived else []
    return gradient(tests.op) if callable(gradient) else gradient


def large_cases() -> list[tuple[tuple[str, ...], LargeCase]]:
    """Every graph for the check of determinism, with the ops that it is for."""
    ops: dict[LargeCase, list[str]] = {}
    for tests in _tests_of_ops():
        case = tests.determinism
        if case is None and is_unary(registered_ops()[tests.op]):
            case = large_tensor
        if callable(case):
            case = case(tests.op)
        if isinstance(case, LargeCase):
            ops.setdefault(case, []).append(tests.op)
    return [(tuple(names), case) for case, names in ops.items()]


# ---- What is missing: each function returns sentences that name the file to edit ----


def _file_of(op: str) -> str:
    """The file where an op's tests stand, or shall stand."""
    tests = all_tests().get(op)
    return tests.file if tests else "the file of its family in testing/ops"


def missing_references() -> list[str]:
    """The ops of which nothing is said, and names that no op has."""
    known, said = set(registered_ops()), set(all_tests())
    wrong = [
        f"{op} has no tests: say them by define_tests({op!r}, ...) in {_file_of(op)}"
        for op in sorted(known - said)
    ]
    return wrong + [f"{_file_of(op)}: there is no op {op}" for op in sorted(said - known)]


def missing_gradient_checks() -> list[str]:
    """The differentiable ops without a check, and the checks and reasons that are for nothing."""
    differentiable, checked = differentiable_ops(), {op for op, _ in gradient_checks()}
    excused = {op for op, tests in all_tests().items() if isinstance(tests.gradient, NotTested)}
    wrong = [
        f"{op} has a gradient and no gradient check: give it `gradient` in {_file_of(op)}"
        for op in sorted(differentiable - checked - excused)
    ]
    return wrong + [
        f"{op} has no gradient: `gradient` in {_file_of(op)} is for nothing"
        for op in sorted((checked | excused) - differentiable)
    ]


def missing_large_cases() -> list[str]:
    """The ops of floating-point numbers without a case, and the reasons that are for nothing."""
    compared = {op for ops, _ in large_cases() for op in ops}
    wrong = []
    for op, definition in sorted(registered_ops().items()):
        tests = all_tests().get(op)
        needed = takes_floats(definition) and not moves_elements(definition)
        excused = tests is not None and isinstance(tests.determinism, NotTested)
        if needed and not excused and op not in compared:
            wrong.append(
                f"{op} takes floating-point numbers and has no case for the check of determinism: "
                f"give it `determinism` in {_file_of(op)}"
            )
        if excused and not needed:
            wrong.append(
                f"{op} computes no floating-point numbers: it needs no reason in {_file_of(op)}"
            )
    return wrong
