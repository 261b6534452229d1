"""Random ops whose place in a stream is a variable."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream as tf
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import FLOAT32, LargeCase, Values
from testing.ops.support.inputs import drawn_sizes, indices, integers, scalar
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Drawn,
    Outcome,
    checked_size,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import Property, define_tests
from testing.ops.support.source import Source

_FLOATS = ("float32", "float64", "float16", "bfloat16")
_INTEGERS = ("int32", "int64", "uint32", "uint64")
_BITS = 2**64 - 1
_WORD = 2**32 - 1
# How far each number moves the counter.
_RESERVED = 256


def _make(source: Source, op: Any) -> Case:
    is_whole = "Int" in op.name
    dtype = source.pick(_INTEGERS if is_whole else _FLOATS)
    sizes = drawn_sizes(source) if source.chance(0.3) else [source.integer(1, 4), 30]
    shape = indices(source, sizes)
    state = [source.pick((0, 7, -1, -300, 2**63 - 1)) for _ in range(2)]
    state.append(source.integer(-(2**63), 2**63 - 1))
    algorithm = 1 if source.chance(0.95) else 2
    inputs = [scalar(algorithm, "int64"), shape]
    if op.name == "StatefulStandardNormal":
        state.insert(0, algorithm)
        del inputs[0]
    if source.chance(0.04):
        state = state[:2]
    variable = Input("int64", np.array(state, np.int64), source="resource")
    case = Case(op.name, [variable, *inputs], values={"dtype": dtype, "algorithm": algorithm})
    case.attrs = {"dtype": type_attr(dtype), "shape_dtype": type_attr(shape.dtype)}
    if op.name == "StatefulUniformInt":
        limits = np.iinfo(dtype)
        low = source.integer(max(-100, int(limits.min)), 100)
        pairs = [(low, low + source.integer(1, 50)), (int(limits.min), int(limits.max)), (3, 3)]
        low, high = pairs[0] if source.chance(0.7) else source.pick(pairs)
        case.inputs += [scalar(low, dtype), scalar(high, dtype)]
    return case


def _block(key: int, counter: int) -> list[int]:
    """Philox4x32-10 of J. Salmon and others (2011)."""
    words = [counter >> (32 * i) & _WORD for i in range(4)]
    keys = [key & _WORD, key >> 32 & _WORD]
    for _ in range(10):
        first, second = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [
            second >> 32 ^ words[1] ^ keys[0], second & _WORD,
            first >> 32 ^ words[3] ^ keys[1], first & _WORD,
        ]  # fmt: skip
        keys = [(keys[0] + 0x9E3779B9) & _WORD, (keys[1] + 0xBB67AE85) & _WORD]
    return words


def _words(key: int, counter: int, count: int) -> Array:
    blocks = [_block(key, counter + i) for i in range(-(-count // 4))]
    return np.array(blocks, np.uint32).reshape(-1)[:count]


def _moved(state: Array, first: int, blocks: int) -> Array:
    counter = (int(state[first]) & _BITS) + ((int(state[first + 1]) & _BITS) << 64) + blocks
    after = state.copy()
    for i in (0, 1):
        after[first + i] = np.uint64(counter >> (64 * i) & _BITS).astype(np.int64)
    return after


def _drawn(case: Case) -> Outcome:
    first = 1 if case.op == "StatefulStandardNormal" else 0
    state, dtype = case.array(0), case.values["dtype"]
    shape = checked_size(integers(case, 2 - first), "shape")
    count = int(np.prod(shape, dtype=object))
    if count == 0:
        empty = np.zeros(shape, number_types.stored_type(dtype))
        return [empty, state]
    refuse_unless(case.values["algorithm"] == 1, "algorithm")
    refuse_unless(len(state) >= first + 3, "resource")
    if case.op == "StatefulUniformInt":
        refuse_unless(case.array(3) < case.array(4), "maxval")
    numbers = _numbers(case, state[first:], shape, count, dtype)
    return [numbers, _moved(state, first, count * _RESERVED)]


def _numbers(case: Case, place: Array, shape: tuple[int, ...], count: int, dtype: str) -> Any:
    counter = (int(place[0]) & _BITS) + ((int(place[1]) & _BITS) << 64)
    key = int(place[2]) & _BITS
    if dtype in _INTEGERS:
        length = np.dtype(dtype).itemsize // 4
        bits = _words(key, counter, count * length).view(f"u{4 * length}")
        if case.op == "StatefulUniformFullInt":
            return bits.view(dtype).reshape(shape)
        low, high = (int(case.array(i)) for i in (3, 4))
        drawn = [low + int(number) % (high - low) for number in bits]
        return np.array(drawn, dtype).reshape(shape)
    if dtype == "float32" and case.op == "StatefulUniform":
        words = _words(key, counter, count) & np.uint32(0x7FFFFF) | np.uint32(0x3F800000)
        return (words.view(np.float32) - np.float32(1)).reshape(shape)

    def check(values: Array) -> str:
        wide = values.astype(float)
        if case.op == "StatefulUniform":
            return "" if ((wide >= 0) & (wide < 1)).all() else "is not in [0, 1)"
        most = 2 if case.op == "StatefulTruncatedNormal" else 8
        return "" if (np.abs(wide) <= most).all() else f"is beyond {most}"

    return Drawn(shape, check)


def _large(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        first = [1] if op == "StatefulStandardNormal" else []
        state = tf.Variable(np.array([*first, 1, 2, 3], np.int64), use_resource=True)
        arguments: list[Any] = [] if first else [np.int64(1)]
        arguments.append([300_000])
        if op == "StatefulUniformInt":
            arguments += [np.int64(3), np.int64(2**40)]
        return function_of(op)(state.handle, *arguments)

    return LargeCase(build, FLOAT32)


define_tests(
    [
        "StatefulUniform",
        "StatefulStandardNormal",
        "StatefulStandardNormalV2",
        "StatefulTruncatedNormal",
        "StatefulUniformFullInt",
        "StatefulUniformInt",
    ],
    cases=_make,
    reference=_drawn,
    determinism=_large,
)

# ---- RngSkip, NonDeterministicInts ----


def _make_skip(source: Source, op: Any) -> Case:
    state = [source.pick((0, 7, -1, 2**63 - 1)), source.pick((0, -1)), source.integer(0, 2**60)]
    if source.chance(0.05):
        state = state[:2]
    algorithm = 1 if source.chance(0.9) else source.pick((0, 2))
    inputs = [
        Input("int64", np.array(state, np.int64), source="resource"),
        scalar(algorithm, "int64"),
        scalar(source.pick((0, 1, 1000, 2**62, -1)), "int64"),
    ]
    return Case(op.name, inputs)


def _skip(case: Case) -> Outcome:
    state = case.array(0)
    refuse_unless(case.array(1) == 1, "algorithm")
    refuse_unless(len(state) >= 3, "resource")
    return [_moved(state, 0, int(case.array(2)) * _RESERVED & _BITS)]


define_tests("RngSkip", cases=_make_skip, reference=_skip)


def _make_system(source: Source, op: Any) -> Case:
    dtype = source.pick(_INTEGERS)
    shape = indices(source, drawn_sizes(source))
    attrs = {"dtype": type_attr(dtype), "shape_dtype": type_attr(shape.dtype)}
    return Case(op.name, [shape], attrs)


def _system(case: Case) -> Outcome:
    return [Drawn(checked_size(integers(case, 0), "shape"), lambda _: "")]


define_tests(
    "NonDeterministicInts",
    cases=_make_system,
    reference=_system,
    exceptions={
        Property.SAME_BITS: "numbers are others in each run",
        Property.REPEATABLE: "numbers are others in each run",
    },
)

# ---- StatefulRandomBinomial ----


def _make_binomial(source: Source, op: Any) -> Case:
    types = ("float16", "float32", "float64", "int32", "int64")
    kind, result = source.pick(types), source.pick(types)
    batches = list(source.pick(((), (source.integer(1, 4),), (2, 3))))
    sizes = [*(drawn_sizes(source) if source.chance(0.3) else [400]), *batches]
    if source.chance(0.06):
        sizes = source.pick((sizes[1:], [*sizes, 7]))
    shape = indices(source, sizes)
    # One parameter repeats along some of the dimensions.
    repeating = [size if source.chance(0.7) else 1 for size in batches]
    shapes = [batches, repeating[source.integer(0, len(batches)) :]]
    if source.chance(0.5):
        shapes.reverse()
    counts = np.floor(source.random.random(shapes[0]) * source.pick((4, 40, 2000)))
    chances = source.random.random(shapes[1])
    if source.chance(0.1):
        chances = chances * source.pick((0, -1, 3, np.nan))
    with np.errstate(all="ignore"):
        stored = [Input(kind, one.astype(kind)) for one in (counts, chances)]
    state = np.array([source.pick((0, 7, -1)), 0, source.integer(0, 2**60)], np.int64)
    inputs = [Input("int64", state, source="resource"), scalar(1, "int64"), shape, *stored]
    attrs = {"S": type_attr(shape.dtype), "T": type_attr(kind), "dtype": type_attr(result)}
    return Case(op.name, inputs, attrs, {"result": result})


def _binomial(case: Case) -> Outcome:
    shape = checked_size(integers(case, 2), "shape")
    trials, chances = np.broadcast_arrays(*(case.array(i).astype(float) for i in (3, 4)))
    own = len(shape) - trials.ndim
    refuse_unless(own >= 0 and shape[own:] == trials.shape, "shape")
    samples = int(np.prod(shape[:own], dtype=object))

    def check(values: Array) -> str:
        if values.size == 0 or np.isnan(trials).any() or np.isnan(chances).any():
            return ""
        drawn = values.astype(float)
        most = np.maximum(trials, 0)
        if ((drawn < 0) | (drawn > most)).any() or (drawn != np.floor(drawn)).any():
            return "is no count"
        chance = np.clip(chances, 0, 1)
        means = most * chance
        found = drawn.reshape(samples, *trials.shape).mean(0)
        bound = 8 * np.sqrt(means * (1 - chance) / samples) + 0.002 * means + 1e-9
        if samples < 200 or (np.abs(found - means) <= bound).all():
            return ""
        return f"has the means {found}, expected {means}"

    # The reference moves on by the numbers that it expects to draw.
    moved = trials.size * 200 * (samples + 3) // 4 * _RESERVED
    return [Drawn(shape, check), _moved(case.array(0), 0, moved)]


def _large_binomial(values: Values) -> Any:
    state = tf.Variable(np.array([1, 2, 3], np.int64), use_resource=True)
    counts = np.linspace(1, 500, 100)
    draw = function_of("StatefulRandomBinomial")
    return draw(state.handle, np.int64(1), [500, 100], counts, np.linspace(0.0, 1.0, 100))


define_tests(
    "StatefulRandomBinomial",
    cases=_make_binomial,
    reference=_binomial,
    determinism=LargeCase(_large_binomial),
)
