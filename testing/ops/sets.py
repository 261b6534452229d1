"""Ops on sets, the last dimension of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, pick_type, refuse_unless, type_attr
from testing.ops.support.registry import Property, define_tests
from testing.ops.support.source import Source
from testing.ops.support.sparse import Index, read_sparse, sparse_inputs, sparse_outputs

_OPERATIONS = ("a-b", "b-a", "intersection", "union")
_SPARSE = {
    "DenseToDenseSetOperation": (False, False),
    "DenseToSparseSetOperation": (False, True),
    "SparseToSparseSetOperation": (True, True),
}
_COUNTED = {Property.STATIC_SHAPE: "members are counted in the step"}

# The members of each set, by its index.
Sets = dict[Index, set[Any]]


def _make_operation(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    groups = [source.size(3) for _ in range(source.integer(1, 3))]
    inputs: list[Input] = []
    for is_sparse in _SPARSE[op.name]:
        shape = [*groups, source.size(4)]
        if source.chance(0.06):
            shape = source.pick((shape[:-2], [shape[-1]], [shape[0] + 1, *shape[1:]]))
        if is_sparse and shape:
            inputs += sparse_inputs(source, dtype, shape, "small")
        elif is_sparse:
            inputs += sparse_inputs(source, dtype, [2], "small")
        else:
            inputs.append(Input(dtype, source.values(dtype, shape, "small")))
    operation = source.pick(_OPERATIONS) if source.chance(0.97) else "xor"
    attrs = {
        "T": type_attr(dtype),
        "set_operation": attr_text(operation),
        "validate_indices": attr_text(source.chance(0.7)),
    }
    return Case(op.name, inputs, attrs)


def _member(value: Any) -> Any:
    return value if isinstance(value, bytes) else int(value)


def _dense_sets(x: Array, name: str) -> tuple[Sets, Index]:
    refuse_unless(x.ndim >= 2, name)
    sets = {index: {_member(one) for one in x[index]} for index in np.ndindex(*x.shape[:-1])}
    return sets, x.shape


def _sparse_sets(case: Case, first: int, prefix: str) -> tuple[Sets, Index]:
    sparse = read_sparse(case, first, prefix, in_order=case.attr("validate_indices"))
    refuse_unless(len(sparse.shape) >= 2, f"{prefix}shape")
    sets: Sets = {}
    for index, value in zip(sparse.indices, sparse.values, strict=True):
        sets.setdefault(index[:-1], set()).add(_member(value))
    return sets, sparse.shape


def _operation(case: Case) -> Outcome:
    refuse_unless(case.attr("set_operation") in _OPERATIONS, "set_operation")
    sparse = _SPARSE[case.op]
    operands = []
    first = 0
    for name, is_sparse in zip(("set1", "set2"), sparse, strict=True):
        if is_sparse:
            operands.append(_sparse_sets(case, first, f"{name}_"))
        else:
            operands.append(_dense_sets(case.array(first), name))
        first += 3 if is_sparse else 1
    (a, shape), (b, other) = operands
    refuse_unless(shape[:-1] == other[:-1], "set2")
    combined: Sets = {}
    for index in sorted(set(a) | set(b)):
        left, right = a.get(index, set()), b.get(index, set())
        combined[index] = {
            "a-b": left - right, "b-a": right - left, "union": left | right,
        }.get(case.attr("set_operation"), left & right)  # fmt: skip
    found = [
        ((*index, k), member)
        for index, members in combined.items()
        for k, member in enumerate(sorted(members))
    ]
    largest = max((len(members) for members in combined.values()), default=0)
    dtype = case.array(1 if sparse[0] else 0).dtype
    values = np.empty(len(found), dtype)
    values[:] = [member for _, member in found]
    return sparse_outputs([index for index, _ in found], values, (*shape[:-1], largest))


define_tests(list(_SPARSE), cases=_make_operation, reference=_operation, exceptions=_COUNTED)


def _make_size(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = [source.size(3) for _ in range(source.integer(2, 4))]
    if source.chance(0.05):
        shape = shape[:1]
    attrs = {"T": type_attr(dtype), "validate_indices": attr_text(source.chance(0.7))}
    return Case(op.name, sparse_inputs(source, dtype, shape, "small"), attrs)


def _size(case: Case) -> Outcome:
    sets, shape = _sparse_sets(case, 0, "set_")
    sizes = np.zeros(shape[:-1], np.int32)
    for index, members in sets.items():
        sizes[index] = len(members)
    return [sizes]


define_tests("SetSize", cases=_make_size, reference=_size)
