"""Products of matrices, and of batches of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.gradient import Check, spread, with_arguments
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    longer,
    numbers,
    pick_type,
    refuse_unless,
    summed,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source


def _make_product(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    rows, inner, columns = (source.size(7) for _ in range(3))
    batched = op.name.startswith("Batch")
    flags = ("adj_x", "adj_y") if batched else ("transpose_a", "transpose_b")
    turned = [source.chance(0.5) for _ in flags]
    shapes = [[rows, inner], [inner, columns]]
    shapes = [shape[::-1] if turn else shape for shape, turn in zip(shapes, turned, strict=True)]
    if source.chance(0.1):
        shapes[source.integer(0, 1)] = list(source.small_shape(0, 3))
    if batched:
        batch = source.small_shape(0, 4, 3)
        pair = source.broadcast_pair() if source.chance(0.1) else (batch, batch)
        if op.name == "BatchMatMulV2" and source.chance(0.5):
            ones = tuple(1 if source.chance(0.4) else size for size in batch)
            pair = (batch, ones[source.integer(0, len(ones)) :])
        shapes = [[*one, *shape] for one, shape in zip(pair, shapes, strict=True)]
    style = source.pick(("small", "plain", "plain", "edges"))
    inputs = [Input(dtype, source.values(dtype, shape, style)) for shape in shapes]
    if source.chance(0.1):
        inputs[1] = Input(dtype, None, "", 0)
    attrs = {"T": type_attr(dtype)} | dict(zip(flags, map(attr_text, turned), strict=True))
    return Case(op.name, inputs, attrs, {"turned": turned})


def _product(case: Case) -> Outcome:
    a, b = numbers(case, 0), numbers(case, 1)
    batched = case.op.startswith("Batch")
    if batched:
        refuse_unless(a.ndim >= 2, "x")
        refuse_unless(b.ndim >= 2, "y")
        if case.op == "BatchMatMul":
            refuse_unless(a.shape[:-2] == b.shape[:-2], "y")
    else:
        refuse_unless(a.ndim == 2, "a")
        refuse_unless(b.ndim == 2, "b")
    a, b = (
        (np.conj(x) if batched else x).swapaxes(-1, -2) if turn else x
        for x, turn in zip((a, b), case.values["turned"], strict=True)
    )
    refuse_unless(a.shape[-1] == b.shape[-2], "b")
    try:
        np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        refuse_unless(False, "y")
    dtype = case.inputs[0].dtype
    if not number_types.is_inexact(dtype):
        return [np.matmul(a, b)]
    return [multiplied(longer(a), longer(b), dtype)]


def multiplied(a: Array, b: Array, dtype: str) -> Near:
    """The product with the bound that any order of additions keeps.

    Where numbers are infinite, and where a product overflows on its way, all is open but for NaN.
    """
    value = np.matmul(a, b)
    scale = np.matmul(np.abs(a), np.abs(b))
    near = summed(value, scale, 2 * a.shape[-1] + 2, dtype)
    odd = near.any_where
    if not np.isfinite(a).all() or not np.isfinite(b).all():
        odd = np.isinf(scale) | np.isnan(scale) | (odd if odd is not None else False)
    return Near(near.value, near.bound, odd)


_TURNED = [(x, y) for x in (False, True) for y in (False, True)]


def _factors(
    turned: tuple[bool, bool], of_x: tuple[int, ...] = (), of_y: tuple[int, ...] = ()
) -> tuple[Array, Array]:
    """Two batches of matrices that can be multiplied, each transposed first where it says so."""
    x = spread("x", *of_x, *((3, 2) if turned[0] else (2, 3)))
    return x, spread("y", *of_y, *((4, 3) if turned[1] else (3, 4)))


def _product_checks_of_matrices(op: str) -> list[Check]:
    return [
        Check(
            with_arguments(gen_ops.mat_mul, transpose_a=turned[0], transpose_b=turned[1]),
            _factors(turned),
        )
        for turned in _TURNED
    ]


def _product_checks_of_batches(op: str) -> list[Check]:
    batches: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((2,), (2,))]
    if op == "BatchMatMulV2":
        batches += [((2, 1), (3,)), ((), (2,)), ((2, 2), (1, 1))]
    return [
        Check(
            with_arguments(function_of(op), adj_x=turned[0], adj_y=turned[1]),
            _factors(turned, *shapes),
        )
        for turned in _TURNED
        for shapes in batches
    ]


def _large_products(values: Values) -> Any:
    shapes = [(1, 700, 600), (700, 600, 1), (64, 3000, 10), (3, 20_000, 4), (300, 200, 250)]
    found = []
    for rows, inner, columns in shapes:
        a, b = values.of(rows, inner), values.of(inner, columns)
        found.append(gen_ops.mat_mul(a, b))
        found.append(gen_ops.mat_mul(values.of(inner, rows), b, transpose_a=True))
        found.append(gen_ops.mat_mul(a, values.of(columns, inner), transpose_b=True))
    return found


def _large_batches(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        function = function_of(op)
        return [
            function(values.of(16, 60, 70), values.of(16, 70, 50)),
            function(values.of(2, 8, 4000), values.of(2, 8, 4000), adj_y=True),
        ]

    return LargeCase(build)


define_tests(
    "MatMul",
    cases=_make_product,
    reference=_product,
    gradient=_product_checks_of_matrices,
    determinism=LargeCase(_large_products),
)
define_tests(
    ["BatchMatMul", "BatchMatMulV2"],
    cases=_make_product,
    reference=_product,
    gradient=_product_checks_of_batches,
    determinism=_large_batches,
)
