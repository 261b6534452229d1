"""Sums of products, written as equations."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.products import multiplied
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.gradient import Check, spread
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Outcome,
    longer,
    numbers,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source

_TYPES = (
    *("float32", "float64", "float16", "bfloat16"),
    *("int32", "int64", "complex64", "complex128"),
)
_UNARY = ("ij->ji", "ij->", "ij->i", "ii->i", "iij->ji", "i->ii", "...ij->...ji", "ij... -> ...j")
_BINARY = (
    *("ij,jk->ik", "ij,kj->ki", "bij,bjk->bik", "bqhd,bkhd->bhqk", "i,j->ji", "ij,ij->"),
    *(",ij->ji", "ij,k->", "ii,ij->j", "ij,jk->iik", "ab,bc->b", "abc,cd->da"),
    *("...ij,...jk->...ik", "...i,ji->j...", "i...,i->...", "...,...->...", "...,ij->...i"),
)
# Not of the form that an equation has, or not of the inputs.
_BAD = ("ij,jk", "ij->ik", "i1->i", "...i...->i", "ij->i->j", "ij,jk,kl->il", "...->")


def _make(source: Source, op: Any) -> Case:
    dtype = source.pick(_TYPES)
    equation = source.pick(_UNARY if source.chance(0.3) else _BINARY)
    subscripts = equation.split("->")[0].replace(" ", "").split(",")
    sizes = {letter: source.size(4) for letter in "abcdhijkq"}
    batch = source.small_shape(0, 3, 3)
    shapes = []
    for text in subscripts:
        shape: list[int] = []
        for label in re.findall(r"\.\.\.|\w", text):
            if label != "...":
                shape.append(sizes[label])
                continue
            own = [1 if source.chance(0.3) else size for size in batch]
            shape += own[source.integer(0, len(own)) if source.chance(0.2) else 0 :]
        shapes.append(shape)
    if source.chance(0.1):
        shapes[source.integer(0, len(shapes) - 1)] = list(source.small_shape(0, 3))
    if source.chance(0.05):
        equation = source.pick(_BAD)
    style = source.pick(("small", "plain", "edges"))
    inputs = [Input(dtype, source.values(dtype, shape, style)) for shape in shapes]
    attrs = {
        "T": type_attr(dtype),
        "N": attr_text(len(inputs)),
        "equation": attr_text(equation),
    }
    return Case(op.name, inputs, attrs)


def _labels(text: str, rank: int, argument: str) -> list[str]:
    """A name for each dimension; those of an ellipsis are counted from its last."""
    found = re.findall(r"\.\.\.|[a-zA-Z]", text)
    refuse_unless("".join(found) == text and found.count("...") <= 1, "equation")
    unnamed = rank - len(found) + found.count("...")
    refuse_unless(unnamed == 0 or (unnamed > 0 and "..." in found), argument)
    labels: list[str] = []
    for label in found:
        labels += [f".{k}" for k in range(unnamed, 0, -1)] if label == "..." else [label]
    return labels


def _diagonal(x: Array, labels: list[str]) -> tuple[Array, list[str]]:
    """The tensor with one dimension for each label."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            refuse_unless(x.shape[first] == x.shape[second], "inputs")
            x = np.diagonal(x, axis1=first, axis2=second)
            labels = [one for i, one in enumerate(labels) if i not in (first, second)] + [label]
    return x, labels


def _aligned(x: Array, labels: list[str], order: list[str]) -> Array:
    """The tensor with dimensions in this order, of size 1 where it has none."""
    x = x.transpose([labels.index(label) for label in order if label in labels])
    kept = iter(x.shape)
    return x.reshape([next(kept) if label in labels else 1 for label in order])


def _einsum(case: Case) -> Outcome:
    sides = case.attr("equation").replace(" ", "").split("->")
    refuse_unless(len(sides) == 2, "equation")
    texts = sides[0].split(",")
    refuse_unless(len(texts) == len(case.inputs) <= 2, "equation")
    operands = []
    for i, text in enumerate(texts):
        x = numbers(case, i)
        operands.append(_diagonal(x, _labels(text, x.ndim, "inputs")))
    every = list(dict.fromkeys(label for _, labels in operands for label in labels))
    broadcast = sorted({label for label in every if label[0] == "."}, reverse=True)
    rank = len(broadcast) + len(re.findall(r"[a-zA-Z]", sides[1]))
    refuse_unless("..." in sides[1] or not broadcast, "equation")
    output = _labels(sides[1], rank, "equation")
    refuse_unless(set(output) <= set(every), "equation")
    refuse_unless("..." not in sides[1] or "..." in sides[0], "equation")
    for label in every:
        found = {x.shape[labels.index(label)] for x, labels in operands if label in labels}
        refuse_unless(len(found - ({1} if label[0] == "." else set())) <= 1, "inputs")
    return [_inflated(case, operands, every, output)]


def _inflated(case: Case, operands: Any, every: list[str], output: list[str]) -> Any:
    """The product, with diagonals filled where a label of the output stands twice."""
    dtype = case.inputs[0].dtype
    kept = list(dict.fromkeys(output))
    order = [*kept, *(label for label in every if label not in kept)]
    factors = [_aligned(x, labels, order) for x, labels in operands]
    shape = np.broadcast_shapes(*(x.shape for x in factors))
    sizes = shape[: len(kept)]
    inner = int(np.prod(shape[len(kept) :], dtype=np.int64))
    rows = [np.broadcast_to(x, shape).reshape(*sizes, 1, inner) for x in factors]
    rows += [np.ones_like(rows[0])] * (2 - len(rows))
    a, b = rows[0], rows[1].swapaxes(-1, -2)
    place = tuple(np.indices(sizes)[kept.index(label)] for label in output)
    whole = [sizes[kept.index(label)] for label in output]

    def put(values: Array) -> Array:
        result = np.zeros(whole, values.dtype)
        result[place] = values.reshape(sizes)
        return result

    if not number_types.is_inexact(dtype):
        return put(np.matmul(a, b))
    # Sums of one input over its own dimensions are rounded before they are multiplied.
    near = multiplied(longer(a), longer(b), dtype)
    odd = None if near.any_where is None else put(np.broadcast_to(near.any_where, near.value.shape))
    bound = put(np.broadcast_to(near.bound, near.value.shape))
    return type(near)(put(near.value), bound * 2, odd)


def _check(equation: str, *shapes: tuple[int, ...]) -> Check:
    return Check(
        lambda *tensors: gen_ops.einsum(list(tensors), equation),
        tuple(spread(f"{equation}{i}", *shape) for i, shape in enumerate(shapes)),
    )


_CHECKS = [
    _check("ij,jk->ik", (2, 3), (3, 2)),
    _check("bij,bkj->ikb", (2, 2, 3), (2, 2, 3)),
    _check("ij,k->i", (2, 3), (2,)),
    _check("iij,jk->ik", (2, 2, 3), (3, 2)),
    _check("ij->", (2, 3)),
    _check("ii->", (3, 3)),
    _check("i->ii", (3,)),
    _check("ijk->ki", (2, 3, 2)),
    _check("...ij,...jk->...ik", (2, 1, 2, 3), (3, 3, 2)),
    _check("i...,i->...", (3, 2, 2), (3,)),
    _check("i,i...j->j...", (3,), (3, 2, 2)),
    _check("...i->...", (2, 2, 3)),
]


def _large(values: Values) -> Any:
    x, y = values.of(8, 60, 4, 30), values.of(8, 50, 4, 30)
    return [
        gen_ops.einsum([x, y], "bqhd,bkhd->bhqk"),
        gen_ops.einsum([values.of(300, 200), values.of(300, 250)], "ij,ik->kj"),
        gen_ops.einsum([values.of(300, 1000)], "ij->i"),
    ]


define_tests(
    "Einsum", cases=_make, reference=_einsum, gradient=_CHECKS, determinism=LargeCase(_large)
)
