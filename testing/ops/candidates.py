"""Candidate samplers, and what else losses of sampled classes need."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import FLOAT32, LargeCase, Values
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Drawn, Outcome, refuse_unless
from testing.ops.support.registry import Property, define_tests
from testing.ops.support.source import Source


def _make_sampler(source: Source, op: Any) -> Case:
    names = {attr.name for attr in op.attr}
    num_true, batch = source.integer(1, 3), source.size()
    sampled, unique = source.integer(1, 12), source.chance(0.5)
    classes = source.integer(sampled, sampled + 30) if unique else source.integer(1, 40)
    if unique and source.chance(0.1):
        classes = max(1, sampled - 1)
    if source.chance(0.2):
        unique, classes = False, 1
    shape = [batch, num_true if source.chance(0.95) else num_true + 1]
    if source.chance(0.05):
        shape = list(source.small_shape(0, 3))
    true_classes = source.index_values("int64", shape, 0, classes - 1)
    if true_classes.size and source.chance(0.1):
        true_classes.reshape(-1)[0] = source.pick((-1, classes, 2**63 - 1, -(2**63)))
    case = Case(op.name, [Input("int64", true_classes)])
    case.values = {"num_true": num_true, "sampled": sampled, "unique": unique, "classes": classes}
    case.values["repeatable"] = classes == 1  # whatever the weights are
    case.attrs = {
        "num_true": attr_text(num_true),
        "num_sampled": attr_text(sampled),
        "unique": attr_text(unique),
        "seed": attr_text(source.integer(1, 2**31)),
        "seed2": attr_text(source.integer(0, 2**62)),
    }
    if "range_max" in names:
        case.attrs["range_max"] = attr_text(classes)
    if "unigrams" in names:
        _add_weights(source, case)
    return case


def _add_weights(source: Source, case: Case) -> None:
    """Weights for the classes; at times some are 0 or too few, or there are shards."""
    classes = case.values["classes"]
    reserved = source.integer(0, 2) if source.chance(0.3) else 0
    shards = source.integer(2, 3) if source.chance(0.3) and reserved == 0 else 1
    shard = source.integer(0, shards - 1)
    count = max(classes - reserved, 0) * shards
    weights = [float(source.integer(0 if source.chance(0.2) else 1, 9)) for _ in range(count)]
    if source.chance(0.1):
        weights = source.pick(([], [*weights, 1.0] * 2, [-1.0, *weights[1:]], [0.0] * count))
    case.values["weights"] = [0.0] * reserved + weights[shard::shards]
    case.values["given"] = bool(weights)
    case.attrs["unigrams"] = attr_text(weights)
    case.attrs["num_reserved_ids"] = attr_text(reserved)
    case.attrs["num_shards"] = attr_text(shards)
    case.attrs["shard"] = attr_text(shard)
    case.attrs["distortion"] = attr_text(source.pick((1.0, 0.75)))


def _checked(case: Case) -> Array:
    """The true classes of a legal case."""
    values, classes = case.values, case.array(0)
    refuse_unless(not values["unique"] or values["sampled"] <= values["classes"], "num_sampled")
    refuse_unless(classes.ndim == 2 and classes.shape[1] == values["num_true"], "true_classes")
    if "Learned" in case.op or "Unsafe" in case.op:
        in_range = (classes >= 0) & (classes < values["classes"])
        refuse_unless(in_range.all(), "true_classes")
    if "weights" in values:
        weights = np.array(values["weights"])
        refuse_unless(values["given"] and len(weights) == values["classes"], "unigrams")
        refuse_unless((weights >= 0).all() and weights.sum() > 0, "unigrams")
        possible = np.sum(weights > 0)
        refuse_unless(not values["unique"] or values["sampled"] <= possible, "num_sampled")
    return classes


def _sampler(case: Case) -> Outcome:
    classes, values = _checked(case), case.values
    sampled = values["sampled"]

    def check_drawn(drawn: Array) -> str:
        if not ((drawn >= 0) & (drawn < values["classes"])).all():
            return "is outside of the range"
        repeats = values["unique"] and len(set(drawn.tolist())) < len(drawn)
        return "has a class twice" if repeats else ""

    def check_drawn_counts(counts: Array) -> str:
        return "" if ((counts > 0) & (counts <= sampled * 1.001)).all() else "is no count"

    # A class outside of the range has no probability that means anything.
    inside = (classes >= 0) & (classes < values["classes"])

    def check_true_counts(counts: Array) -> str:
        legal = (counts >= 0) & (counts <= sampled * 1.001)
        return "" if legal[inside].all() else "is no count"

    return [
        Drawn((sampled,), check_drawn),
        Drawn(classes.shape, check_true_counts),
        Drawn((sampled,), check_drawn_counts),
    ]


def _all_candidates(case: Case) -> Outcome:
    case.values["classes"] = case.values["sampled"]
    classes, sampled = _checked(case), case.values["sampled"]
    ones = np.ones(sampled, np.float32)
    return [np.arange(sampled), np.ones(classes.shape, np.float32), ones]


_WEIGHTS = [float(i % 7) for i in range(1, 1000)]


def _large_samplers(values: Values) -> Any:
    classes = tf.cast(tf.reshape(values.rows(3000, 999), [-1, 1]), tf.int64)
    arguments = (classes, 1, 500, True, 999)
    samplers: list[Callable[..., Any]] = [
        tf.nn.uniform_candidate_sampler,
        tf.nn.log_uniform_candidate_sampler,
        tf.nn.learned_unigram_candidate_sampler,
        gen_ops.thread_unsafe_unigram_candidate_sampler,
        functools.partial(tf.nn.fixed_unigram_candidate_sampler, unigrams=_WEIGHTS),
    ]
    found = [part for sampler in samplers for part in sampler(*arguments, seed=5)]
    found += list(tf.nn.all_candidate_sampler(classes, 1, 500, True))
    return [*found, *tf.nn.compute_accidental_hits(classes, found[0], 1)]


_LARGE_SAMPLERS = LargeCase(_large_samplers, FLOAT32)

define_tests(
    ["UniformCandidateSampler", "LogUniformCandidateSampler", "FixedUnigramCandidateSampler"],
    cases=_make_sampler,
    reference=_sampler,
    determinism=_LARGE_SAMPLERS,
)
define_tests(
    ["LearnedUnigramCandidateSampler", "ThreadUnsafeUnigramCandidateSampler"],
    cases=_make_sampler,
    reference=_sampler,
    determinism=_LARGE_SAMPLERS,
    exceptions={Property.REPEATABLE: "the weights of the ids change with each execution"},
)
define_tests(
    "AllCandidateSampler",
    cases=_make_sampler,
    reference=_all_candidates,
    determinism=_LARGE_SAMPLERS,
)


def _make_hits(source: Source, op: Any) -> Case:
    num_true = source.integer(0, 3)
    shape = [source.size(), num_true if source.chance(0.95) else num_true + 1]
    if source.chance(0.05):
        shape = list(source.small_shape(0, 3))
    sampled_shape = [source.size(8)] if source.chance(0.95) else list(source.small_shape(0, 3))
    low, high = source.pick(((0, 5), (-3, 3), (2**63 - 3, 2**63 - 1)))
    inputs = [
        Input("int64", source.index_values("int64", size, low, high))
        for size in (shape, sampled_shape)
    ]
    return Case(op.name, inputs, {"num_true": attr_text(num_true)}, {"num_true": num_true})


def _hits(case: Case) -> Outcome:
    classes, sampled = case.array(0), case.array(1)
    num_true = case.values["num_true"]
    refuse_unless(classes.ndim == 2 and classes.shape[1] == num_true, "true_classes")
    refuse_unless(sampled.ndim == 1, "sampled_candidates")
    places = {int(value): place for place, value in enumerate(sampled)}
    found = [
        (row, places[int(value)])
        for row, values in enumerate(classes)
        for value in values
        if int(value) in places
    ]
    rows, ids = [list(part) for part in zip(*found, strict=True)] if found else ([], [])
    lowest = np.full(len(found), np.finfo(np.float32).min, np.float32)
    return [np.array(rows, np.int32), np.array(ids, np.int64), lowest]


define_tests(
    "ComputeAccidentalHits",
    cases=_make_hits,
    reference=_hits,
    determinism=_LARGE_SAMPLERS,
    exceptions={Property.STATIC_SHAPE: "hits are counted in the step"},
)
