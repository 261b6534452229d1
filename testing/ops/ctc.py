"""Connectionist temporal classification: the loss, and decoders."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import FLOAT32_AND_64, LargeCase, Values
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    longer,
    numbers,
    pick_type,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import NotTested, Property, define_tests
from testing.ops.support.source import Source

# Sums of probabilities are corrected in single precision, once a time step and state.
_BOUND = 1e-4


def _make_inputs(source: Source, op: Any) -> tuple[Case, list[int]]:
    """A case with logits, and the lengths of its sequences."""
    dtype = pick_type(source, op, "T")
    shape = [source.size(5), source.size(3), source.integer(2, 4)]
    if source.chance(0.05):
        shape = list(source.small_shape(0, 4))
    logits = np.asarray(source.values(dtype, shape, "plain") / 8, dtype)
    case = Case(op.name, [Input(dtype, logits)])
    case.attrs = {"T": type_attr(dtype)}
    time, batch = [*shape, 1, 1][:2]
    lengths = [source.integer(max(time - 2, 0), time) for _ in range(batch)]
    if lengths and source.chance(0.07):
        lengths[0] = source.pick((-1, time + 1, 2**31 - 1))
    if source.chance(0.05):
        lengths.append(0)
    return case, lengths


def _lengths(case: Case, i: int) -> Array:
    """The lengths, after the checks of logits and lengths."""
    x, lengths = case.array(0), case.array(i)
    refuse_unless(x.ndim == 3 and x.shape[0] > 0 and x.shape[2] > 0, "inputs")
    refuse_unless(lengths.shape == (x.shape[1],), "sequence_length")
    refuse_unless(np.all((lengths >= 0) & (lengths <= x.shape[0])), "sequence_length")
    return lengths


def _make_loss(source: Source, op: Any) -> Case:
    case, lengths = _make_inputs(source, op)
    classes = case.array(0).shape[-1] if case.array(0).ndim else 2
    indices: list[tuple[int, int]] = []
    values: list[int] = []
    for b in range(len(lengths)):
        count = source.integer(1, 3) if source.chance(0.97) else 0
        for i in range(count):
            indices.append((b, i))
            values.append(source.integer(0, max(classes - 2, 0)))
    if values and source.chance(0.1):
        values[source.integer(0, len(values) - 1)] = source.pick((-1, classes - 1, 2**31 - 1))
    if len(indices) > 1 and source.chance(0.07):
        indices[0] = source.pick((indices[1], (0, -1), (len(lengths), 0), (2**40, 0)))
    flags = {
        "preprocess_collapse_repeated": source.chance(0.3),
        "ctc_merge_repeated": source.chance(0.7),
        "ignore_longer_outputs_than_inputs": source.chance(0.5),
    }
    case.values = flags
    case.attrs |= {name: attr_text(value) for name, value in flags.items()}
    case.inputs += [
        Input("int64", np.array(indices, np.int64).reshape(len(indices), 2)),
        Input("int32", np.array(values, np.int32)),
        Input("int32", np.array(lengths, np.int32)),
    ]
    return case


def _labels(case: Case, lengths: Array) -> list[list[int]]:
    """The labels of each sequence as the loss takes them."""
    classes, flags = case.array(0).shape[2], case.values
    indices, values = case.array(1), case.array(2)
    pairs = [tuple(int(i) for i in pair) for pair in indices]
    refuse_unless(all(a < b for a, b in itertools.pairwise(pairs)), "labels_indices")
    refuse_unless(all(0 <= b < len(lengths) and i >= 0 for b, i in pairs), "labels_indices")
    found: list[list[int]] = [[] for _ in lengths]
    for (b, _), value in zip(pairs, values, strict=True):
        found[b].append(int(value))
    for b, labels in enumerate(found):
        refuse_unless(labels, "labels_indices")
        if flags["preprocess_collapse_repeated"]:
            labels[:] = [label for label, _ in itertools.groupby(labels)]
        refuse_unless(min(labels) >= 0, "labels_values")
        ends = [i for i, label in enumerate(labels) if label >= classes - 1]
        if ends:
            refuse_unless(all(label >= classes - 1 for label in labels[ends[0] :]), "labels_values")
            del labels[ends[0] :]
        fits = len(labels) <= lengths[b] or flags["ignore_longer_outputs_than_inputs"]
        refuse_unless(fits, "labels_values")
    return found


def _gives(path: tuple[int, ...], labels: list[int], blank: int, merge: bool) -> bool:
    """Whether a path gives the labels."""
    kept = [c for i, c in enumerate(path) if not (merge and i > 0 and c == path[i - 1])]
    return [c for c in kept if c != blank] == labels


def _ctc_loss(case: Case) -> Outcome:
    """The sum over all paths, one after the other."""
    x, lengths = longer(numbers(case, 0)), _lengths(case, 3)
    labels = _labels(case, lengths)
    loss, gradient = np.zeros(x.shape[1]), np.zeros(x.shape)
    for b, length in enumerate(lengths):
        if length == 0 or len(labels[b]) > length:
            continue
        logits = x[:length, b].astype(np.float64)
        y = np.exp(logits - logits.max(1, keepdims=True))
        y /= y.sum(1, keepdims=True)
        total, by_class = 0.0, np.zeros(y.shape)
        for path in itertools.product(range(x.shape[2]), repeat=int(length)):
            if _gives(path, labels[b], x.shape[2] - 1, case.values["ctc_merge_repeated"]):
                product = math.prod(y[t, c] for t, c in enumerate(path))
                total += product
                by_class[np.arange(length), path] += product
        if not labels[b] and length > 1:  # the path of blanks that ends a step early counts as well
            product = math.prod(y[:-1, -1])
            total += product
            by_class[:-1, -1] += product
        loss[b] = math.inf if total == 0 else -math.log(total)
        gradient[:length, b] = y if total == 0 else y - by_class / total
    return [Near(loss, _BOUND), Near(gradient, _BOUND)]


def _make_decoder(source: Source, op: Any) -> Case:
    case, lengths = _make_inputs(source, op)
    case.values["merge"] = source.chance(0.5)
    case.attrs["merge_repeated"] = attr_text(case.values["merge"])
    case.inputs.append(Input("int32", np.array(lengths, np.int32)))
    return case


def _make_beam_decoder(source: Source, op: Any) -> Case:
    """A legal case: there is no reference that would tell which cases are."""
    dtype = pick_type(source, op, "T")
    time, batch = max(source.size(5), 1), source.size(3)
    shape = [time, batch, source.integer(2, 4)]
    logits = np.asarray(source.values(dtype, shape, "plain") / 8, dtype)
    lengths = [source.integer(0, time) for _ in range(batch)]
    case = Case(op.name, [Input(dtype, logits), Input("int32", np.array(lengths, np.int32))])
    flags = {
        "beam_width": source.integer(1, 4),
        "top_paths": 1,
        "merge_repeated": source.chance(0.5),
    }
    case.attrs = {"T": type_attr(dtype)}
    case.attrs |= {name: attr_text(value) for name, value in flags.items()}
    return case


def _greedy(case: Case) -> Outcome:
    x, lengths = numbers(case, 0), _lengths(case, 1)
    blank = x.shape[2] - 1
    indices: list[tuple[int, int]] = []
    values: list[int] = []
    sums: list[list[float]] = []
    longest = 0
    for b, length in enumerate(lengths):
        best = [int(np.argmax(x[t, b])) for t in range(length)]
        kept = [
            c
            for t, c in enumerate(best)
            if c != blank and not (case.values["merge"] and t > 0 and c == best[t - 1])
        ]
        indices += [(b, i) for i in range(len(kept))]
        values += kept
        longest = max(longest, len(kept))
        sums.append([-float(sum(longer(x)[t, b, c] for t, c in enumerate(best)))])
    return [
        np.array(indices, np.int64).reshape(len(indices), 2),
        np.array(values, np.int64),
        np.array([x.shape[1], longest], np.int64),
        Near(np.array(sums).reshape(x.shape[1], 1), 1e-4),
    ]


def _large_loss(values: Values) -> Any:
    time, batch, classes, count = 60, 32, 20, 12
    logits = values.of(time, batch, classes)
    labels = np.random.RandomState(3).randint(0, classes - 1, batch * count)
    indices = [(b, i) for b in range(batch) for i in range(count)]
    lengths = [time - b for b in range(batch)]
    loss, gradient = gen_ops.ctc_loss(logits, indices, labels.astype(np.int32), lengths)
    decoded = [
        *gen_ops.ctc_greedy_decoder(logits, lengths),
        *gen_ops.ctc_beam_search_decoder(logits, lengths, 10, 2).decoded_values,
    ]
    return [loss, gradient, tf.gradients(loss, logits)[0], *decoded]


_LARGE = LargeCase(_large_loss, FLOAT32_AND_64)

define_tests(
    "CTCLoss",
    cases=_make_loss,
    reference=_ctc_loss,
    # A difference of two losses has the error of each, 1e-7, over the distance of the points.
    gradient=NotTested(
        "the loss is computed in single precision in part; its kernel test and golden cases check "
        "its gradient"
    ),
    determinism=_LARGE,
)
_SPARSE = {Property.STATIC_SHAPE: "the number of labels follows from values"}

define_tests(
    "CTCGreedyDecoder",
    cases=_make_decoder,
    reference=_greedy,
    determinism=_LARGE,
    exceptions=_SPARSE,
)
define_tests(
    "CTCBeamSearchDecoder",
    cases=_make_beam_decoder,
    reference=NotTested("golden cases and a kernel test, by a sum over all paths, check it"),
    determinism=_LARGE,
    exceptions=_SPARSE,
)
