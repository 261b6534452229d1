"""Ops on sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.gradient import Check, spread
from testing.ops.support.inputs import INDEX_TYPES, integers
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Outcome,
    checked_size,
    pick_type,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source


def _make_dense(source: Source, op: Any) -> Case:
    dtype, index = pick_type(source, op, "T"), source.pick(INDEX_TYPES)
    rank = source.integer(1, 4)
    shape = [source.size(4) for _ in range(rank)]
    places: Array = np.array(list(np.ndindex(*shape)), index).reshape(-1, rank)
    chosen = source.random.random(len(places)) < 0.4
    places = places[chosen]
    validate = source.chance(0.7)
    if not validate or source.chance(0.1):
        places = source.random.permutation(places)
    if len(places) and source.chance(0.15):
        limits = np.iinfo(index)
        places[source.integer(0, len(places) - 1), 0] = source.pick(
            (-1, shape[0], limits.max, limits.min, 0)
        )
    count = len(places) + (1 if source.chance(0.05) else 0)
    values = Input(dtype, source.values(dtype, () if source.chance(0.1) else (count,)))
    if rank == 1 and source.chance(0.3):
        places = places.reshape(-1)
    if source.chance(0.05):
        shape = source.pick(([*shape, 2], [-1, *shape[1:]], shape[1:]))
    inputs = [
        Input(index, places),
        Input(index, np.array(shape, index)),
        values,
        Input(dtype, source.values(dtype, (1,) if source.chance(0.03) else ())),
    ]
    attrs = {
        "T": type_attr(dtype),
        "Tindices": type_attr(index),
        "validate_indices": attr_text(validate),
    }
    return Case(op.name, inputs, attrs)


def _dense(case: Case) -> Outcome:
    indices, values, default = case.array(0), case.array(2), case.array(3)
    shape = checked_size(integers(case, 1), "output_shape")
    places = indices.reshape(-1, 1) if indices.ndim < 2 else indices
    refuse_unless(places.shape[1] == len(shape), "output_shape")
    refuse_unless(values.shape in ((), (len(places),)), "sparse_values")
    refuse_unless(default.ndim == 0, "default_value")
    dense = np.empty(shape, values.dtype)
    dense[...] = default[()]
    last: tuple[int, ...] | None = None
    for i, row in enumerate(places):
        place = tuple(int(number) for number in row)
        inside = all(0 <= number < size for number, size in zip(place, shape, strict=True))
        refuse_unless(inside, "sparse_indices")
        in_order = last is None or place > last or not case.attr("validate_indices")
        refuse_unless(in_order, "sparse_indices")
        dense[place] = values[()] if values.ndim == 0 else values[i]
        last = place
    return [dense]


define_tests(
    "SparseToDense",
    cases=_make_dense,
    reference=_dense,
    gradient=[
        Check(
            lambda v, d: gen_ops.sparse_to_dense([[0, 2], [1, 0]], [2, 3], v, d),
            (spread("v", 2), spread("d")),
        ),
        Check(lambda v, d: gen_ops.sparse_to_dense([0, 2], [4], v, d), (spread("v"), spread("d"))),
        Check(lambda v, d: gen_ops.sparse_to_dense(1, [4], v, d), (spread("v"), spread("d"))),
    ],
)
