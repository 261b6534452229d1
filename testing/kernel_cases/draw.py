"""Draws legal cases of each op that a plugin has kernels of, in the types of the kernels."""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from testing.ops.support import number_types
from testing.ops.support.case import Case
from testing.ops.support.definitions import registered_ops
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Drawn, Near, RefusedError
from testing.ops.support.registry import OpTests, Property, all_tests
from testing.ops.support.source import Source

SEED = 20

# After so many elements the values of a large tensor repeat. The file has them once.
PERIOD = 64

# Of one kernel: its registration may name many types for several attributes.
_MOST_TYPE_SETS = 24
_CASES_OF_TYPES = 3
# Some draws are refused, or are of other types than were asked for.
_MOST_DRAWS = 40
_LARGE_SIZE = 4099
_MOST_ELEMENTS = 20_000
# Of all results of a case, which runs some hundred times: rows that are gathered may be as many and
# as long as the inputs have elements.
_MOST_RESULT_ELEMENTS = 1_000_000
_INDEX_TYPES = {"int16", "int32", "int64"}


class TameSource(Source):
    """Draws numbers of common size. Results of different order of computation stay close then.

    Parameters
    ----------
    op, seed, index
        As for `Source`.
    large
        Whether shapes have more elements than one thread computes.
    """

    def __init__(self, op: str, seed: int, index: int, large: bool = False) -> None:
        super().__init__(op, seed, index)
        self._large = large

    def values(self, dtype: str, shape: Sequence[int], style: str = "") -> Array:
        """A tensor without the edges of its type."""
        drawn = self.pick(("small", "plain"))
        style = drawn if style in ("", "edges") else style
        count = math.prod(shape)
        if count <= PERIOD:
            return super().values(dtype, shape, style)
        return np.resize(super().values(dtype, (PERIOD,), style), shape)

    def shape(self, low: int = 0, high: int = 8, most: int = 6) -> tuple[int, ...]:
        """A shape without huge sizes."""
        sizes = [2 if size >= 2**31 else size for size in super().shape(low, high, most)]
        if self._large and sizes:
            others = math.prod(sizes[1:]) or 1
            sizes[0] = -(-_LARGE_SIZE // others)
        return tuple(sizes)


@dataclass(frozen=True)
class Kernel:
    """A kernel's op, and the types that it is registered for, by attribute."""

    op: str
    types: Mapping[str, Sequence[str]]

    def takes(self, types: Mapping[str, str]) -> bool:
        """Whether it is registered for a node of these types."""
        return all(types.get(attr) in allowed for attr, allowed in self.types.items())


@dataclass(frozen=True)
class KernelCase:
    """A case, and what the check has to know of it.

    Attributes
    ----------
    case
        The node and its inputs.
    is_random
        Whether results come from the random stream.
    constants
        The inputs whose values are known before the step.
    """

    case: Case
    is_random: bool
    constants: frozenset[int]


def parsed_kernels(text: str) -> list[Kernel]:
    """The kernels that the lines of `list_kernels` name."""
    kernels = []
    for line in text.splitlines():
        op, *constraints = line.split(" ")
        pairs = (constraint.split("=") for constraint in constraints)
        kernels.append(Kernel(op, {attr: types.split(",") for attr, types in pairs}))
    return kernels


def type_sets(op: Any, kernel: Kernel) -> list[dict[str, str]]:
    """Types for the type attributes of an op: of the kernel's, or one where it takes all."""
    names, choices = [], []
    for attr in op.attr:
        if attr.type != "type":
            continue
        allowed = [number_types.NAMES[number][0] for number in attr.allowed_values.list.type]
        allowed = allowed or list(number_types.VALUES)
        if attr.name in kernel.types:
            types = [name for name in kernel.types[attr.name] if name in allowed]
        elif attr.HasField("default_value"):
            types = [number_types.NAMES[attr.default_value.type][0]]
        else:
            types = ["float32"] if "float32" in allowed else allowed[:1]
        names.append(attr.name)
        choices.append([name for name in types if name in number_types.VALUES])
    sets = list(itertools.product(*choices))
    # With a stride, so that every attribute is of several types.
    stride = -(-len(sets) // _MOST_TYPE_SETS) if sets else 1
    return [dict(zip(names, types, strict=True)) for types in sets[::stride]]


def _limited(op: Any, types: Mapping[str, str]) -> Any:
    """The op as if its attributes could be of these types alone."""
    limited = copy.deepcopy(op)
    for attr in limited.attr:
        if attr.name in types:
            del attr.allowed_values.list.type[:]
            attr.allowed_values.list.type.append(number_types.NUMBERS[types[attr.name]])
    return limited


def _types_of(op: Any, case: Case) -> dict[str, str]:
    """The value of each type attribute."""
    types = {}
    for attr in op.attr:
        if attr.type != "type":
            continue
        if attr.name in case.attrs:
            types[attr.name] = case.attr(attr.name)[1]
        elif attr.HasField("default_value"):
            types[attr.name] = number_types.NAMES[attr.default_value.type][0]
    return types


def _is_index(op: Any, argument: Any) -> bool:
    """Whether an argument is of integers that say where or how large, not of numbers."""
    if argument.type:
        return number_types.NAMES[argument.type][0] in _INDEX_TYPES
    for attr in op.attr:
        if attr.name == argument.type_attr:
            allowed = {number_types.NAMES[number][0] for number in attr.allowed_values.list.type}
            return bool(allowed) and allowed <= _INDEX_TYPES
    return False


def _constants(op: Any, case: Case) -> frozenset[int]:
    found: set[int] = set()
    at = 0
    for argument in op.input_arg:
        if argument.type_list_attr:
            return frozenset()
        count = case.attr(argument.number_attr) if argument.number_attr else 1
        if _is_index(op, argument):
            found.update(range(at, at + count))
        at += count
    return frozenset(i for i in found if not case.inputs[i].source)


def _is_held(case: Case) -> bool:
    """Whether the file can hold the case.

    It has no references, no variables without a value, no attributes that are tensors, and no
    tensors that are very large.
    """
    values = [case.attr(name) for name in case.attrs]
    return not any(isinstance(value, tuple) and value[0] == "tensor" for value in values) and all(
        item.source != "reference"
        and (item.same_as >= 0 or (item.value is not None and item.value.size <= _MOST_ELEMENTS))
        for item in case.inputs
    )


def _elements_of(result: Any) -> int:
    """How many elements a result of a reference has."""
    if isinstance(result, Drawn):
        return math.prod(result.shape)
    return int(np.size(result.value if isinstance(result, Near) else result))


def _legal_case(tests: OpTests, op: Any, source: Source) -> tuple[Case, bool] | None:
    """A case that is legal and whether its results are random, or None where the draw is not.

    A case of an op without a reference is legal. One with very large results is not taken.
    """
    assert tests.cases is not None
    try:
        case = tests.cases(source, op)
        if not _is_held(case):
            return None
        # Each case is run many times.
        if Property.REPEATABLE in tests.exceptions and not case.values.get("repeatable", False):
            return None
        with np.errstate(all="ignore"):
            outcome = tests.reference(case) if callable(tests.reference) else []
    except (MemoryError, RefusedError, ValueError):
        # What is too large for NumPy is too large for a kernel.
        return None
    if sum(map(_elements_of, outcome)) > _MOST_RESULT_ELEMENTS:
        return None
    return case, any(isinstance(result, Drawn) for result in outcome)


def _cases_of_kernel(
    tests: OpTests, op: Any, kernel: Kernel, counts: Counter[tuple[tuple[str, str], ...]]
) -> Iterator[KernelCase]:
    """The cases that a kernel takes, but for those that `counts` says there are enough of."""
    for position, types in enumerate(type_sets(op, kernel)):
        limited = _limited(op, types)
        got = 0
        for draw in range(_MOST_DRAWS):
            # One large case of each kernel, and one of the others leaves indices to the step.
            wants_large = position == 0 and got == _CASES_OF_TYPES
            if got == _CASES_OF_TYPES and not wants_large:
                break
            index = position * _MOST_DRAWS + draw
            source = TameSource(tests.op, SEED, index, wants_large)
            legal = _legal_case(tests, limited, source)
            if legal is None:
                continue
            case, is_random = legal
            drawn = _types_of(op, case)
            key = tuple(sorted(drawn.items()))
            most = _CASES_OF_TYPES + (1 if wants_large else 0)
            if not kernel.takes(drawn) or counts[key] >= most:
                continue
            yield KernelCase(case, is_random, _constants(op, case) if got != 2 else frozenset())
            counts[key] += 1
            got += 1
            if got > _CASES_OF_TYPES:
                break


def all_cases(kernels: Iterable[Kernel]) -> Iterator[KernelCase]:
    """The cases of the kernels' ops, in the order of the kernels.

    Raises
    ------
    ValueError
        For a kernel whose op has no cases in `testing/ops`.
    """
    counts: dict[str, Counter[tuple[tuple[str, str], ...]]] = {}
    for kernel in kernels:
        tests = all_tests().get(kernel.op)
        if tests is None or tests.cases is None:
            file = tests.file if tests is not None else "testing/ops"
            raise ValueError(f"{kernel.op} has a kernel and no cases: give it `cases` in {file}")
        of_op = counts.setdefault(kernel.op, Counter())
        op = registered_ops()[kernel.op]
        yield from _cases_of_kernel(tests, op, kernel, of_op)
