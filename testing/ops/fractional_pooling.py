"""Fractional pooling and its gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import FLOAT32_AND_64, LargeCase, Values, sizes_of
from testing.ops.support.gradient import Check, spread
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Drawn,
    Outcome,
    Reference,
    longer,
    numbers,
    pick_type,
    refuse_unless,
    summed,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source
from testing.ops.support.windows import moderate

_SEEDED = {"deterministic": True, "seed": 7, "seed2": 11}


def _make_pool(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    image = [source.size(3), source.size(9), source.size(9), source.size(3)]
    ratio = [1.0, *(source.pick((1.0, 1.25, 1.5, 2.0, 2.75)) for _ in range(2)), 1.0]
    if source.chance(0.1):
        ratio[source.integer(0, 3)] = source.pick((0.5, 20.0, 1.5))
    seeds = [source.integer(0, 5), source.integer(1, 5)]
    case = Case(op.name, [Input(dtype, moderate(source, dtype, image))])
    case.values = {"ratio": ratio, "overlapping": source.chance(0.5)}
    case.attrs = {
        "T": type_attr(dtype),
        "pooling_ratio": attr_text(ratio),
        "pseudo_random": attr_text(source.chance(0.5)),
        "overlapping": attr_text(case.values["overlapping"]),
        # Otherwise two forms of a case give other cells.
        "deterministic": attr_text(True),
        "seed": attr_text(seeds[0]),
        "seed2": attr_text(seeds[1]),
    }
    return case


def _pool(case: Case) -> Outcome:
    """The cells are drawn; golden cases have their bits, and kernel tests what they hold."""
    x, ratio = case.array(0), case.values["ratio"]
    refuse_unless(min(ratio) >= 1, "pooling_ratio")
    refuse_unless(ratio[0] == ratio[3] == 1, "pooling_ratio")
    cells = [int(np.floor(np.float32(x.shape[i]) / np.float32(ratio[i]))) for i in (1, 2)]
    refuse_unless(min(cells) > 0, "pooling_ratio")

    def sequence(i: int) -> Drawn:
        def check(begins: Array) -> str:
            sizes = np.diff(begins)
            small = x.shape[i + 1] // cells[i]
            fits = begins[0] == 0 and begins[-1] == x.shape[i + 1]
            fits = fits and bool(np.all((sizes == small) | (sizes == small + 1)))
            return "" if fits else f"no sequence of cells: {begins}"

        return Drawn((cells[i] + 1,), check)

    def within(output: Array) -> str:
        values = number_types.as_numbers(output, case.inputs[0].dtype)
        whole = values.dtype.kind in "iu"
        if values.size == 0 or (whole and case.op == "FractionalAvgPool"):  # sums wrap
            return ""
        low, high = numbers(case, 0).min(), numbers(case, 0).max()
        slack = 0 if whole else 1e-5 * max(abs(low), abs(high))
        good = np.all((values >= low - slack) & (values <= high + slack))
        return "" if good else "elements outside of the input's range"

    return [Drawn((x.shape[0], *cells, x.shape[3]), within), sequence(0), sequence(1)]


def _make_gradient(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    image = [source.size(3), source.size(7), source.size(7), source.size(3)]
    begins = []
    for size in image[1:3]:
        inner = sorted(source.integer(0, size) for _ in range(source.integer(0, 3)))
        begins.append([0, *inner, size])
    if source.chance(0.1):
        begins[source.integer(0, 1)][0] = source.pick((-1, 9, 2**40))
    pooled = [image[0], len(begins[0]) - 1, len(begins[1]) - 1, image[3]]
    if source.chance(0.07):
        pooled[source.integer(0, 3)] += 1
    case = Case(op.name)
    case.values = {"overlapping": source.chance(0.5)}
    case.attrs = {
        "T": type_attr(dtype),
        "overlapping": attr_text(case.values["overlapping"]),
    }
    if op.name == "FractionalMaxPoolGrad":
        case.inputs = [Input(dtype, moderate(source, dtype, image))]
        case.inputs.append(Input(dtype, moderate(source, dtype, pooled)))
    else:
        case.inputs = [Input("int64", np.array(image, np.int64))]
    case.inputs.append(Input(dtype, moderate(source, dtype, pooled)))
    case.inputs += [Input("int64", np.array(one, np.int64)) for one in begins]
    return case


def _cells(case: Case, image: tuple[int, ...], first: int) -> Iterator[tuple[Any, Any]]:
    """For each cell, its place and the slices of its rows and columns."""
    names = ("row_pooling_sequence", "col_pooling_sequence")
    gradient = case.array(first - 1)
    refuse_unless(gradient.ndim == 4 and gradient.shape[::3] == image[::3], "out_backprop")
    spans = []
    for i, name in enumerate(names):
        begins = case.array(first + i)
        refuse_unless(begins.shape == (gradient.shape[i + 1] + 1,), name)
        inside = np.all((begins >= 0) & (begins <= image[i + 1])) and np.all(np.diff(begins) >= 0)
        refuse_unless(inside, name)
        more = 1 if case.values["overlapping"] else 0
        ends = np.minimum(begins[1:] + more, image[i + 1])
        spans.append([slice(int(b), int(e)) for b, e in zip(begins[:-1], ends, strict=True)])
    for i, rows in enumerate(spans[0]):
        for j, columns in enumerate(spans[1]):
            yield (i, j), (rows, columns)


def _max_gradient(case: Case) -> Outcome:
    x, gradient, dtype = numbers(case, 0), numbers(case, 2), case.inputs[0].dtype
    refuse_unless(case.array(1).shape == gradient.shape, "orig_output")
    inexact = number_types.is_inexact(dtype)
    wide = longer(gradient) if inexact else gradient
    value = np.zeros(x.shape, wide.dtype)
    scale = np.zeros(x.shape)
    for (i, j), (rows, columns) in _cells(case, x.shape, 3):
        block = x[:, rows, columns]
        if block.shape[1] == 0 or block.shape[2] == 0:
            continue
        for n, c in np.ndindex(x.shape[0], x.shape[3]):
            y, z = np.unravel_index(int(np.argmax(block[n, :, :, c])), block.shape[1:3])
            best = (n, rows.start + y, columns.start + z, c)
            value[best] += wide[n, i, j, c]
            scale[best] += abs(float(wide[n, i, j, c]))
    return [summed(value, scale, 40, dtype) if inexact else value]


def _mean_gradient(case: Case) -> Outcome:
    dtype = case.inputs[1].dtype
    image = tuple(int(size) for size in case.array(0))
    gradient = numbers(case, 1).astype(np.float64)
    value, scale = np.zeros(image), np.zeros(image)
    for (i, j), (rows, columns) in _cells(case, image, 2):
        count = (rows.stop - rows.start) * (columns.stop - columns.start)
        if count == 0:
            continue
        part = gradient[:, i, j, :][:, None, None, :] / count
        value[:, rows, columns] += part
        scale[:, rows, columns] += np.abs(part)
    if number_types.is_inexact(dtype):
        return [summed(value, scale, 40, dtype)]
    limits = np.iinfo(dtype)
    inside = (value > float(limits.min)) & (value < float(limits.max))
    ends = np.where(value > 0, limits.max, limits.min)
    return [np.where(inside, np.where(inside, value, 0).astype(dtype), ends).astype(dtype)]


def _large_pools(values: Values) -> Any:
    image = values.of(8, 40, 40, 24)
    found = []
    for pool in (gen_ops.fractional_max_pool, gen_ops.fractional_avg_pool):
        for overlapping in (False, True):
            output, rows, columns = pool(
                image, [1.0, 1.5, 1.4, 1.0], overlapping=overlapping, **_SEEDED
            )
            dx = tf.gradients(output, image, values.of(*sizes_of(output)))[0]
            found += [output, rows, columns, dx]
    return found


_X = spread("x", 2, 5, 6, 2)


def _pool_checks(op: str) -> list[Check]:
    pool = gen_ops.fractional_max_pool if "Max" in op else gen_ops.fractional_avg_pool
    return [
        Check(
            lambda x, overlapping=overlapping: pool(
                x, [1.0, 1.5, 1.4, 1.0], overlapping=overlapping, **_SEEDED
            )[0],
            (_X,),
        )
        for overlapping in (False, True)
    ]


_ROWS, _COLUMNS = np.array([0, 2, 3, 5]), np.array([0, 1, 3, 4, 6])


def _pool_gradient_checks(op: str) -> list[Check]:
    """By the gradient that comes down: the cells are given."""

    def of_max(dy: Any, overlapping: bool) -> Any:
        return gen_ops.fractional_max_pool_grad(
            _X, np.zeros((2, 3, 4, 2)), dy, _ROWS, _COLUMNS, overlapping=overlapping
        )

    def of_mean(dy: Any, overlapping: bool) -> Any:
        return gen_ops.fractional_avg_pool_grad(
            np.array(_X.shape), dy, _ROWS, _COLUMNS, overlapping=overlapping
        )

    gradient = of_max if "Max" in op else of_mean
    return [
        Check(
            lambda dy, overlapping=overlapping: gradient(dy, overlapping),
            (spread("dy", 2, 3, 4, 2),),
        )
        for overlapping in (False, True)
    ]


_LARGE = LargeCase(_large_pools, FLOAT32_AND_64)


def _define(op: str, reference: Reference) -> None:
    pools = not op.endswith("Grad")
    define_tests(
        op,
        cases=_make_pool if pools else _make_gradient,
        reference=reference,
        gradient=_pool_checks if pools else _pool_gradient_checks,
        determinism=_LARGE,
    )


_define("FractionalMaxPool", _pool)
_define("FractionalAvgPool", _pool)
_define("FractionalMaxPoolGrad", _max_gradient)
_define("FractionalAvgPoolGrad", _mean_gradient)
