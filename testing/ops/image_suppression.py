"""Boxes that overlap, of which the best are chosen."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.image_boxes import float_scalar, sixteenths
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import FLOAT32, LargeCase, Values
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    numbers,
    pick_type,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import Property, define_tests
from testing.ops.support.source import Source

_CHOSEN = {Property.STATIC_SHAPE: "how many boxes are chosen follows from values"}


def _make_suppression(source: Source, op: Any) -> Case:
    dtype = "float32" if op.name in ("NonMaxSuppression", "NonMaxSuppressionWithOverlaps") else ""
    typed = not dtype
    dtype = dtype or pick_type(source, op, "T")
    count = source.size(10)
    overlaps = op.name.endswith("Overlaps")
    boxes = sixteenths(source, (count, count if overlaps else 4), 0, 16)
    scores = sixteenths(source, (count,), -4, 16)
    if source.chance(0.05):
        boxes = boxes[:, :3]
    if source.chance(0.05):
        scores = scores[:-1]
    most = source.integer(0, 12) if source.chance(0.95) else -1
    inputs = [
        Input(dtype, boxes.astype(dtype)),
        Input(dtype, scores.astype(dtype)),
        float_scalar(most, "int32"),
    ]
    attrs = {"T": type_attr(dtype)} if typed else {}
    limits = [source.integer(0, 16) / 16, source.integer(-8, 12) / 16, source.pick((0.0, 0.5))]
    if source.chance(0.05):
        limits[0] = source.pick((-0.5, 1.5))
    names = [spec.name for spec in op.attr]
    if "T_threshold" in names:
        attrs["T_threshold"] = type_attr(dtype)
    if "pad_to_max_output_size" in names:
        attrs["pad_to_max_output_size"] = attr_text(source.chance(0.5))
    if "iou_threshold" in names:
        attrs["iou_threshold"] = attr_text(limits[0])
    inputs += [float_scalar(limit, dtype) for limit in limits[: len(op.input_arg) - 3]]
    return Case(op.name, inputs, attrs, {"limits": limits})


def _area(box: Array) -> float:
    return float(abs(box[2] - box[0]) * abs(box[3] - box[1]))


def _iou(first: Array, second: Array) -> float:
    a, b = first.astype(np.float64), second.astype(np.float64)
    low_a, high_a = np.minimum(a[:2], a[2:]), np.maximum(a[:2], a[2:])
    low_b, high_b = np.minimum(b[:2], b[2:]), np.maximum(b[:2], b[2:])
    if _area(a) <= 0 or _area(b) <= 0:
        return 0
    sides = np.minimum(high_a, high_b) - np.maximum(low_a, low_b)
    common = float(np.prod(np.maximum(sides, 0)))
    return common / (_area(a) + _area(b) - common)


def _chosen(
    scores: Array,
    overlap: Callable[[int, int], float],
    most: int,
    limits: tuple[float, float, float],
) -> tuple[list[int], list[float]] | None:
    """The boxes and their scores; None where rounding decides."""
    threshold, least, sigma = limits
    left = {i: float(score) for i, score in enumerate(scores) if score > least}
    chosen: list[int] = []
    values: list[float] = []
    while left and len(chosen) < most:
        best = max(left, key=lambda i: (left[i], -i))
        if sigma > 0 and any(i != best and abs(left[i] - left[best]) < 1e-3 for i in left):
            return None
        score = left.pop(best)
        chosen.append(best)
        values.append(score)
        for i in list(left):
            share = overlap(i, best)
            if sigma <= 0:
                if abs(share - threshold) < 1e-3 and share != threshold:
                    return None
                if share > threshold:
                    del left[i]
                continue
            left[i] *= math.exp(-0.5 / sigma * share * share)
            if abs(left[i] - least) < 1e-3:
                return None
            if left[i] <= least:
                del left[i]
    return chosen, values


def _suppress(case: Case) -> Outcome:
    boxes, scores = numbers(case, 0), numbers(case, 1)
    overlaps = case.op.endswith("Overlaps")
    width = boxes.shape[0] if overlaps else 4
    refuse_unless(boxes.shape[1] == width, "boxes")
    refuse_unless(len(scores) == len(boxes), "scores")
    most = int(case.array(2))
    refuse_unless(most >= 0, "max_output_size")
    threshold, least, sigma = case.values["limits"]
    inputs = len(case.inputs) - 3
    if not overlaps:
        refuse_unless(0 <= threshold <= 1, "iou_threshold")
    limits = (threshold, least if inputs > 1 else -math.inf, sigma if inputs > 2 else 0.0)

    def overlap(i: int, j: int) -> float:
        return float(boxes[i, j]) if overlaps else _iou(boxes[i], boxes[j])

    found = _chosen(scores, overlap, most, limits)
    pad = "pad_to_max_output_size" in case.attrs and case.attr("pad_to_max_output_size")
    outputs = {"NonMaxSuppressionV4": 2, "NonMaxSuppressionV5": 3}.get(case.op, 1)
    if found is None:
        return [None] * outputs
    chosen, values = found
    size = most if pad else len(chosen)
    indices = np.zeros(size, np.int32)
    indices[: len(chosen)] = chosen
    kept = np.zeros(size)
    kept[: len(values)] = values
    near = Near(kept, 8 * number_types.epsilon(case.inputs[0].dtype))
    count = np.array(len(chosen), np.int32)
    results: list[Any] = [indices, near, count]
    return {1: results[:1], 2: [indices, count], 3: results}[outputs]


def _overlap_of(boxes: Array) -> Callable[[int, int], float]:
    return lambda i, j: _iou(boxes[i], boxes[j])


def _large_suppression(values: Values) -> Any:
    boxes, scores = values.of(2000, 4, low=0.0, high=1.0), values.positive(2000)
    return [
        gen_ops.non_max_suppression(boxes, scores, 500),
        gen_ops.non_max_suppression_v2(boxes, scores, 500, 0.4),
        gen_ops.non_max_suppression_v3(boxes, scores, 500, 0.4, 0.1),
        *gen_ops.non_max_suppression_v4(boxes, scores, 500, 0.4, 0.1),
        *gen_ops.non_max_suppression_v5(boxes, scores, 500, 0.4, 0.1, 0.5),
        gen_ops.non_max_suppression_with_overlaps(
            values.of(900, 900), values.positive(900), 500, 0.4, 0.1
        ),
    ]


define_tests(
    [
        "NonMaxSuppression",
        "NonMaxSuppressionV2",
        "NonMaxSuppressionV3",
        "NonMaxSuppressionV4",
        "NonMaxSuppressionV5",
        "NonMaxSuppressionWithOverlaps",
    ],
    cases=_make_suppression,
    reference=_suppress,
    determinism=LargeCase(_large_suppression, FLOAT32),
    exceptions=_CHOSEN,
)

# ---- CombinedNonMaxSuppression ----


def _make_combined(source: Source, op: Any) -> Case:
    batch, count, classes = source.size(2), source.size(6), source.integer(1, 3)
    kinds = source.pick((1, classes)) if source.chance(0.95) else classes + 1
    if count == 0 and source.chance(0.5):
        # Without boxes any number of classes takes no memory, and is to take no time.
        kinds, classes = 1, 2**40
    boxes = sixteenths(source, (batch, count, kinds, 4), -4, 20)
    # All scores differ: which of equal ones comes first is nobody's contract.
    shape = (batch, count, classes)
    scores = (source.random.permutation(batch * count * classes) / 64.0).reshape(shape)
    if source.chance(0.05):
        scores = scores[:, :-1]
    per_class = source.integer(1, 5) if source.chance(0.95) else 0
    total = source.integer(1, 8) if source.chance(0.95) else 0
    threshold = source.integer(0, 16) / 16 if source.chance(0.95) else 1.5
    least = source.integer(-4, 8) / 16
    inputs = [
        Input("float32", boxes),
        Input("float32", scores.astype(np.float32)),
        float_scalar(per_class, "int32"),
        float_scalar(total, "int32"),
        float_scalar(threshold, "float32"),
        float_scalar(least, "float32"),
    ]
    attrs = {
        "pad_per_class": attr_text(source.chance(0.5)),
        "clip_boxes": attr_text(source.chance(0.5)),
    }
    return Case(op.name, inputs, attrs)


def _combined(case: Case) -> Outcome:
    boxes, scores = case.array(0), case.array(1)
    per_class, total = int(case.array(2)), int(case.array(3))
    threshold, least = float(case.array(4)), float(case.array(5))
    batch, count, classes = scores.shape
    kinds = boxes.shape[2]
    refuse_unless(kinds in (1, classes), "boxes")
    refuse_unless(boxes.shape[:2] == (batch, count), "scores")
    refuse_unless(per_class > 0 and total > 0, "max_total_size")
    refuse_unless(0 <= threshold <= 1, "iou_threshold")
    if case.attr("pad_per_class"):
        total = min(total, per_class * classes)
    results = [
        np.zeros((batch, total, 4), np.float32),
        np.zeros((batch, total), np.float32),
        np.zeros((batch, total), np.float32),
        np.zeros(batch, np.int32),
    ]
    for n in range(batch):
        found: list[tuple[float, int, Array]] = []
        for c in range(classes if count else 0):
            own = boxes[n, :, c if kinds > 1 else 0]
            limits = (threshold, least, 0.0)
            chosen = _chosen(scores[n, :, c], _overlap_of(own), per_class, limits)
            if chosen is None:
                return [None] * 4
            found += [(score, c, own[i]) for i, score in zip(*chosen, strict=True)]
        found = sorted(found, key=lambda one: -one[0])[:total]
        for i, (score, c, box) in enumerate(found):
            results[0][n, i] = np.clip(box, 0, 1) if case.attr("clip_boxes") else box
            results[1][n, i], results[2][n, i] = score, c
        results[3][n] = len(found)
    return list(results)


def _large_combined(values: Values) -> Any:
    boxes, scores = values.of(8, 300, 1, 4, low=0.0, high=1.0), values.positive(8, 300, 6)
    return list(gen_ops.combined_non_max_suppression(boxes, scores, 20, 60, 0.5, 0.1))


define_tests(
    "CombinedNonMaxSuppression",
    cases=_make_combined,
    reference=_combined,
    determinism=LargeCase(_large_combined, FLOAT32),
)
