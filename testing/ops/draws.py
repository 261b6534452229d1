"""Random ops: their shapes, and what every draw of their distributions fulfils."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import SIZE, LargeCase, Values
from testing.ops.support.inputs import INDEX_TYPES, drawn_sizes, indices, integers, scalar
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Drawn,
    Outcome,
    checked_size,
    numbers,
    pick_type,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source

# Numbers of a sample that is large enough to see its mean.
_MANY = 100


def _make_draw(source: Source, op: Any) -> Case:
    type_name = "Tout" if op.name == "RandomUniformInt" else "dtype"
    dtype = pick_type(source, op, type_name)
    sizes = drawn_sizes(source) if source.chance(0.7) else [source.integer(1, 20), 16]
    shape = indices(source, sizes)
    case = Case(op.name, [shape], {type_name: type_attr(dtype), "T": type_attr(shape.dtype)})
    seeds = (source.integer(1, 2**31), source.integer(0, 2**62))
    case.attrs |= {"seed": attr_text(seeds[0]), "seed2": attr_text(seeds[1])}
    case.values["dtype"] = dtype
    if op.name == "RandomUniformInt":
        low = source.integer(-100, 100)
        high = low + source.integer(1, 50)
        limits = np.iinfo(dtype)
        if source.chance(0.3):
            low, high = source.pick(((0, 0), (3, 2), (limits.min, limits.max), (0, limits.max)))
        case.inputs += [scalar(low, dtype), scalar(high, dtype)]
    return case


def _make_stateless(source: Source, op: Any) -> Case:
    """A case of an op that has a seed as its second input."""
    is_whole = op.name == "StatelessRandomUniformInt"
    dtype = pick_type(source, op, "dtype")
    sizes = drawn_sizes(source) if source.chance(0.7) else [source.integer(1, 20), 16]
    shape, seed_type = indices(source, sizes), source.pick(INDEX_TYPES)
    seed = source.index_values(seed_type, (2 if source.chance(0.95) else 3,), -9, 9)
    attrs = {"dtype": type_attr(dtype), "T": type_attr(shape.dtype)}
    case = Case(op.name, [shape, Input(seed_type, seed)], attrs, {"dtype": dtype})
    case.attrs["Tseed"] = type_attr(seed_type)
    if is_whole:
        low = source.integer(-100, 100)
        high = low + source.integer(0, 50)
        case.inputs += [scalar(low, dtype), scalar(high, dtype)]
    return case


def _seeded(reference: Callable[[Case], Outcome]) -> Callable[[Case], Outcome]:
    """The reference of an op with a seed: what the draws fulfil. Golden cases have their bits."""

    def compute(case: Case) -> Outcome:
        refuse_unless(case.array(1).shape == (2,), "seed")
        return reference(case)

    return compute


def _drawn(case: Case, check: Callable[[Array], str]) -> Outcome:
    return [Drawn(checked_size(integers(case, 0), "shape"), check)]


def _all(condition: Any, text: str) -> str:
    return "" if np.all(condition) else text


def _uniform(case: Case) -> Outcome:
    def check(values: Array) -> str:
        if values.size >= _MANY and not 0.3 < np.mean(values.astype(float)) < 0.7:
            return f"has the mean {np.mean(values.astype(float))}"
        return _all((values >= 0) & (values < 1), "is not in [0, 1)")

    return _drawn(case, check)


def _normal(case: Case) -> Outcome:
    limit = 2 if case.op.endswith("TruncatedNormal") else 12
    slack = 1 + number_types.epsilon(case.values["dtype"])

    def check(values: Array) -> str:
        wide = values.astype(float)
        if wide.size >= _MANY and not abs(np.mean(wide)) < 0.5:
            return f"has the mean {np.mean(wide)}"
        return _all(np.abs(wide) <= limit * slack, f"is not within {limit}")

    return _drawn(case, check)


def _any_whole(case: Case) -> Outcome:
    def check(values: Array) -> str:
        bits = values.astype(f"u{values.dtype.itemsize}")
        highest = bits > np.iinfo(bits.dtype).max // 2
        if bits.size >= _MANY and not all(0.2 < np.mean(bit) < 0.8 for bit in (highest, bits % 2)):
            return "has bits that are mostly equal"
        return ""

    return _drawn(case, check)


def _whole(case: Case) -> Outcome:
    low, high = (integers(case, len(case.inputs) - i)[0] for i in (2, 1))
    shape = checked_size(integers(case, 0), "shape")
    refuse_unless(low < high or 0 in shape, "maxval")
    return [Drawn(shape, lambda values: _all((values >= low) & (values < high), "is outside"))]


def _make_classes(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = [source.size(), source.integer(1, 6)] if source.chance(0.9) else source.small_shape()
    logits = Input(dtype, source.values(dtype, shape))
    samples = source.integer(0, 9)
    if source.chance(0.1):
        samples = source.pick((-1, -(2**31)))
    inputs = [logits, scalar(samples, "int32")]
    attrs = {"T": type_attr(dtype), "output_dtype": type_attr(source.pick(INDEX_TYPES))}
    if op.name == "Multinomial":
        attrs |= {"seed": attr_text(source.integer(1, 9)), "seed2": attr_text(7)}
    else:
        length = 3 if source.chance(0.05) else 2
        seed = indices(source, [source.integer(-9, 9) for _ in range(length)])
        inputs.append(seed)
        attrs["Tseed"] = type_attr(seed.dtype)
    return Case(op.name, inputs, attrs)


def _classes(case: Case) -> Outcome:
    logits = numbers(case, 0)
    refuse_unless(logits.ndim == 2 and logits.shape[1] > 0, "logits")
    samples = integers(case, 1)[0]
    refuse_unless(samples >= 0, "num_samples")
    if len(case.inputs) == 3:
        refuse_unless(case.array(2).shape == (2,), "seed")
    with np.errstate(all="ignore"):
        wide = logits.astype(np.float64)
        possible = np.isfinite(wide)
        # The exponential of -745 is the smallest that is not zero.
        possible &= wide >= np.max(np.where(possible, wide, -np.inf), 1, keepdims=True) - 746

    def check(drawn: Array) -> str:
        for row, some in zip(possible, drawn, strict=True):
            if not row.any():
                # Nothing can be drawn: the number of classes says so.
                if (some != len(row)).any():
                    return "is a class that is not possible"
            elif ((some < 0) | (some >= len(row))).any() or not row[some].all():
                return "is a class that is not possible"
        return ""

    return [Drawn((logits.shape[0], samples), check)]


def _random_numbers(values: Values) -> Any:
    return [
        make([SIZE], dtype=values.dtype, seed=5)
        for make in (tf.random_normal, tf.random_uniform, tf.truncated_normal)
    ]


_LARGE = LargeCase(_random_numbers)

define_tests("RandomUniform", cases=_make_draw, reference=_uniform, determinism=_LARGE)
define_tests(
    ["RandomStandardNormal", "TruncatedNormal"],
    cases=_make_draw,
    reference=_normal,
    determinism=_LARGE,
)
define_tests("RandomUniformInt", cases=_make_draw, reference=_whole)


def _random_classes(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        logits = values.of(300, 50)
        if op == "Multinomial":
            return gen_ops.multinomial(logits, 200, seed=3, seed2=5)
        return gen_ops.stateless_multinomial(logits, 200, [3, 5])

    return LargeCase(build)


define_tests(
    ["Multinomial", "StatelessMultinomial"],
    cases=_make_classes,
    reference=_classes,
    determinism=_random_classes,
)


def _make_shuffle(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    value = Input(dtype, source.values(dtype, source.small_shape(most=9)))
    attrs = {"T": type_attr(dtype), "seed": attr_text(source.integer(1, 2**31))}
    return Case(op.name, [value], attrs)


def _rows(values: Array) -> list[str]:
    """A text for each row, which tells it from other rows."""
    return sorted(repr(row.tolist() if isinstance(row, np.ndarray) else row) for row in values)


def _shuffled(case: Case) -> Outcome:
    value = np.atleast_1d(numbers(case, 0))

    def check(values: Array) -> str:
        return "" if _rows(np.atleast_1d(values)) == _rows(value) else "has other rows"

    return [Drawn(case.array(0).shape, check)]


define_tests("RandomShuffle", cases=_make_shuffle, reference=_shuffled)


def _random_of_seed(values: Values) -> Any:
    return [
        make([SIZE], [5, 7], dtype=values.dtype)
        for make in (
            tf.random.stateless_normal,
            tf.random.stateless_uniform,
            tf.random.stateless_truncated_normal,
        )
    ]


_LARGE_OF_SEED = LargeCase(_random_of_seed)
define_tests(
    "StatelessRandomUniform",
    cases=_make_stateless,
    reference=_seeded(_uniform),
    determinism=_LARGE_OF_SEED,
)
define_tests(
    ["StatelessRandomNormal", "StatelessTruncatedNormal"],
    cases=_make_stateless,
    reference=_seeded(_normal),
    determinism=_LARGE_OF_SEED,
)
define_tests("StatelessRandomUniformInt", cases=_make_stateless, reference=_seeded(_whole))
define_tests("StatelessRandomUniformFullInt", cases=_make_stateless, reference=_seeded(_any_whole))
