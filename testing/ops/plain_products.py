"""Cross products, and products of matrices that are mostly zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import float_dtypes_of
from testing.ops.support.determinism import FLOAT32, LargeCase, Values
from testing.ops.support.gradient import Check, spread
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    numbers,
    pick_type,
    refuse_unless,
    summed,
    type_attr,
)
from testing.ops.support.registry import NotTested, define_tests
from testing.ops.support.source import Source


def _wide(x: Array) -> Array:
    return x.astype(np.clongdouble if np.iscomplexobj(x) else np.longdouble)


# ---- Cross ----


def _make_cross(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = (*source.small_shape(0, 3, 3), 3)
    shapes = [shape, shape]
    if source.chance(0.08):
        shapes[source.integer(0, 1)] = source.pick((shape[:-1], (*shape[:-1], 2), (1, *shape)))
    inputs = [Input(dtype, source.values(dtype, one)) for one in shapes]
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _cross(case: Case) -> Outcome:
    a, b, dtype = numbers(case, 0), numbers(case, 1), case.inputs[0].dtype
    refuse_unless(a.ndim >= 1 and a.shape[-1:] == (3,) and a.shape == b.shape, "b")
    turned = [[1, 2, 0], [2, 0, 1]]
    if not number_types.is_inexact(dtype):
        first, second = (a[..., turned[i]] * b[..., turned[1 - i]] for i in range(2))
        return [(first - second).astype(a.dtype)]
    a, b = _wide(a), _wide(b)
    first, second = (a[..., turned[i]] * b[..., turned[1 - i]] for i in range(2))
    return [summed(first - second, np.abs(first) + np.abs(second), 3, dtype)]


def _large_cross(values: Values) -> Any:
    return gen_ops.cross(values.of(100_000, 3), values.of(100_000, 3))


define_tests(
    "Cross",
    cases=_make_cross,
    reference=_cross,
    gradient=[Check(gen_ops.cross, (spread("a", 2, 3), spread("b", 2, 3)))],
    determinism=lambda op: LargeCase(_large_cross, float_dtypes_of(op)),
)


# ---- TridiagonalMatMul ----


def _make_tridiagonal(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    rhs = source.small_shape(2, 4, 4)
    diagonal = (*rhs[:-2], 1, rhs[-2])
    shapes = [diagonal, diagonal, diagonal, rhs]
    if source.chance(0.08):
        shapes[source.integer(0, 3)] = source.pick((rhs[-1:], (*diagonal, 1), diagonal[1:]))
    inputs = [Input(dtype, source.values(dtype, shape)) for shape in shapes]
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _tridiagonal(case: Case) -> Outcome:
    above, main, below, rhs = (_wide(numbers(case, i)) for i in range(4))
    refuse_unless(rhs.ndim >= 2, "rhs")
    expected = (*rhs.shape[:-2], 1, rhs.shape[-2])
    for name, part in (("superdiag", above), ("maindiag", main), ("subdiag", below)):
        refuse_unless(part.shape == expected, name)
    above, main, below = (np.swapaxes(part, -1, -2) for part in (above, main, below))
    terms = [main * rhs, np.zeros_like(rhs), np.zeros_like(rhs)]
    terms[1][..., :-1, :] = above[..., :-1, :] * rhs[..., 1:, :]
    terms[2][..., 1:, :] = below[..., 1:, :] * rhs[..., :-1, :]
    scale = np.asarray(sum(np.abs(term) for term in terms))
    near = summed(np.asarray(sum(terms)), scale, 8, case.inputs[0].dtype)
    if np.iscomplexobj(rhs):
        return [Near(near.value, near.bound, near.any_where)]
    return [near]


_DIAGONALS = tuple(spread(name, 2, 1, 4) for name in ("above", "main", "below"))


def _large_tridiagonal(values: Values) -> Any:
    diagonals = [values.of(3, 1, 2000) for _ in range(3)]
    return gen_ops.tridiagonal_mat_mul(*diagonals, values.of(3, 2000, 60))


define_tests(
    "TridiagonalMatMul",
    cases=_make_tridiagonal,
    reference=_tridiagonal,
    gradient=[Check(gen_ops.tridiagonal_mat_mul, (*_DIAGONALS, spread("rhs", 2, 4, 3)))],
    determinism=lambda op: LargeCase(_large_tridiagonal, float_dtypes_of(op)),
)


# ---- SparseMatMul ----


def _make_sparse(source: Source, op: Any) -> Case:
    types = [pick_type(source, op, name) for name in ("Ta", "Tb")]
    m, k, n = (source.integer(0 if source.chance(0.1) else 1, 5) for _ in range(3))
    turned = [source.chance(0.5) for _ in range(2)]
    shapes: list[tuple[int, ...]] = [
        (k, m) if turned[0] else (m, k),
        (n, k) if turned[1] else (k, n),
    ]
    if source.chance(0.08):
        shapes[source.integer(0, 1)] = source.pick(((7, 7), (2,), (1, 2, 3)))
    inputs = []
    for dtype, shape in zip(types, shapes, strict=True):
        values = source.values(dtype, shape, source.pick(("small", "plain")))
        values = np.where(source.random.random(shape) < 0.3, np.zeros((), values.dtype), values)
        inputs.append(Input(dtype, np.asarray(values)))
    attrs = {
        name: attr_text(flag)
        for name, flag in zip(("transpose_a", "transpose_b"), turned, strict=True)
    }
    attrs |= {"Ta": type_attr(types[0]), "Tb": type_attr(types[1])}
    return Case(op.name, inputs, attrs, {"turned": turned})


def _sparse(case: Case) -> Outcome:
    a, b = (_wide(numbers(case, i)) for i in range(2))
    refuse_unless(a.ndim == 2, "a")
    refuse_unless(b.ndim == 2, "b")
    a, b = (x.T if turn else x for x, turn in zip((a, b), case.values["turned"], strict=True))
    refuse_unless(a.shape[1] == b.shape[0], "b")
    return [summed(a @ b, np.abs(a) @ np.abs(b), a.shape[1] + 1, "float32")]


define_tests(
    "SparseMatMul",
    cases=_make_sparse,
    reference=_sparse,
    gradient=NotTested(
        "is of float32; golden cases have gradients for both orders of both matrices"
    ),
    determinism=LargeCase(
        lambda values: gen_ops.sparse_mat_mul(values.of(300, 200), values.of(200, 100)), FLOAT32
    ),
)
