"""Boxes of images: drawn and made at random; glimpses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.image_sizes import STEP, whole_numbers
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import FLOAT32, LargeCase, Values
from testing.ops.support.gradient import Check
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Drawn,
    Near,
    Outcome,
    pick_type,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source


def sixteenths(source: Source, shape: Any, low: int, high: int) -> Array:
    """Numbers from low to high sixteenths."""
    drawn: Array = source.random.integers(low, high + 1, size=shape) / 16
    return drawn.astype(np.float32)


def float_scalar(value: float, dtype: str) -> Input:
    """A scalar of any type."""
    return Input(dtype, np.array(value, dtype))


# ---- RandomCrop ----


def _make_crop(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = [source.size(5) for _ in range(3)]
    sizes = [source.integer(0, shape[i]) if source.chance(0.8) else shape[i] for i in range(2)]
    if source.chance(0.08):
        sizes[source.integer(0, 1)] = source.pick((-1, 6, 2**40))
    if source.chance(0.04):
        shape = shape[1:]
    if source.chance(0.04):
        sizes.append(1)
    inputs = [Input(dtype, source.values(dtype, shape)), Input("int64", np.array(sizes, np.int64))]
    attrs = {"T": type_attr(dtype), "seed": attr_text(source.integer(1, 99))}
    return Case(op.name, inputs, attrs)


def _random_crop(case: Case) -> Outcome:
    image, sizes = case.array(0), case.array(1)
    refuse_unless(image.ndim == 3, "image")
    refuse_unless(sizes.shape == (2,), "size")
    height, width = (int(size) for size in sizes)
    refuse_unless(0 <= height <= image.shape[0] and 0 <= width <= image.shape[1], "size")

    def check(values: Array) -> str:
        for y in range(image.shape[0] - height + 1):
            for x in range(image.shape[1] - width + 1):
                part = image[y : y + height, x : x + width]
                if part.tobytes() == values.tobytes():
                    return ""
        return "is no part of the image"

    return [Drawn((height, width, image.shape[2]), check)]


def _large_crop(values: Values) -> Any:
    return gen_ops.random_crop(values.of(400, 400, 3), np.array([300, 200]), seed=3, seed2=5)


define_tests(
    "RandomCrop",
    cases=_make_crop,
    reference=_random_crop,
    determinism=LargeCase(_large_crop, FLOAT32),
)

# ---- ExtractGlimpse ----


def _make_glimpse(source: Source, op: Any) -> Case:
    shape = [source.integer(1, 2), *(source.size(5) for _ in range(2)), source.integer(1, 2)]
    size = [source.size(4) for _ in range(2)]
    if source.chance(0.06):
        size[source.integer(0, 1)] = -1
    if source.chance(0.04):
        size = size[:1]
    offsets = sixteenths(source, (shape[0], 2), -40, 40)
    if source.chance(0.1):
        offsets = offsets * np.float32(1e20)
    if source.chance(0.05):
        offsets = source.pick((offsets[:, :1], offsets[:0], offsets[0]))
    if source.chance(0.04):
        shape = shape[1:]
    uniform = source.chance(0.4)
    noise = "uniform" if uniform and source.chance(0.9) else source.pick(("zero", "gaussian", ""))
    flags = [source.chance(0.5) for _ in range(2)]
    attrs = {
        "centered": attr_text(flags[0]),
        "normalized": attr_text(flags[1]),
        "uniform_noise": attr_text(uniform),
        "noise": attr_text(noise),
    }
    inputs = [
        Input("float32", source.values("float32", shape, "plain")),
        Input("int32", np.array(size, np.int32)),
        Input("float32", offsets),
    ]
    return Case(op.name, inputs, attrs)


def _glimpse(case: Case) -> Outcome:
    image, size, offsets = (case.array(i) for i in range(3))
    noise = case.attr("noise")
    refuse_unless(noise in ("uniform", "gaussian", "zero"), "noise")
    refuse_unless(not case.attr("uniform_noise") or noise == "uniform", "noise")
    refuse_unless(image.ndim == 4, "input")
    refuse_unless(size.shape == (2,) and (size >= 0).all(), "size")
    refuse_unless(offsets.shape == (image.shape[0], 2), "offsets")
    result = np.zeros((image.shape[0], *size, image.shape[3]), np.float32)
    is_noise = np.zeros(result.shape, bool)
    for n, pair in enumerate(offsets):
        places = [_glimpse_places(case, pair[i], image.shape[i + 1], int(size[i])) for i in (0, 1)]
        inside = [[0 <= p < image.shape[i + 1] for p in places[i]] for i in (0, 1)]
        for y, row in enumerate(places[0]):
            for x, column in enumerate(places[1]):
                if inside[0][y] and inside[1][x]:
                    result[n, y, x] = image[n, row, column]
                else:
                    is_noise[n, y, x] = True
    # Noise is random, unless it is zero.
    return [Near(result, 0.0, is_noise if noise != "zero" and image.size else None)]


def _glimpse_places(case: Case, offset: Any, length: int, window: int) -> list[int]:
    place = offset * np.float32(length) if case.attr("normalized") else offset
    if case.attr("centered"):
        place = place / np.float32(2) + np.float32(length) / np.float32(2)
    place = place - np.float32(window) / np.float32(2)
    return [int(place) + i for i in range(window)]


def _large_glimpses(values: Values) -> Any:
    images, offsets = values.of(30, 60, 60, 3), values.of(30, 2)
    return gen_ops.extract_glimpse(images, [40, 40], offsets)


def _glimpse_checks(op: str) -> list[Check]:
    """Windows that stand out over the edges, and one that lies on the image."""

    def check(offsets: list[list[float]], is_centered: bool, is_normalized: bool) -> Check:
        def build(images: Any) -> Any:
            return gen_ops.extract_glimpse(
                images,
                [3, 2],
                np.array(offsets, np.float32),
                centered=is_centered,
                normalized=is_normalized,
                uniform_noise=False,
                noise="zero",
            )

        return Check(build, (whole_numbers(op, 2, 5, 4, 2),), STEP)

    return [
        check([[0.25, -0.5], [-1.0, 1.0]], True, True),
        check([[2.5, 1.5], [5.0, -3.0]], False, False),
        check([[0.5, 0.5], [1e20, 0.0]], False, True),
    ]


define_tests(
    "ExtractGlimpse",
    cases=_make_glimpse,
    reference=_glimpse,
    gradient=_glimpse_checks,
    determinism=LargeCase(_large_glimpses, FLOAT32),
)

# ---- DrawBoundingBoxes ----

_COLORS = [
    (1, 1, 0, 1), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 1), (0.5, 0, 0.5, 1),
    (0.5, 0.5, 0, 1), (0.5, 0, 0, 1), (0, 0, 0.5, 1), (0, 1, 1, 1), (1, 0, 1, 1),
]  # fmt: skip


def _make_drawing(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = [source.size(2), source.size(7), source.size(7), source.pick((1, 3, 4))]
    if source.chance(0.05):
        shape[3] = 2
    boxes = sixteenths(source, (shape[0], source.size(12), 4), -6, 22)
    if source.chance(0.2) and boxes.size:
        boxes.flat[source.integer(0, boxes.size - 1)] = source.pick((1e30, -1e30, math.nan))
    if source.chance(0.05):
        boxes = source.pick((boxes[..., :3], boxes[:0], boxes[:, 0] if boxes.shape[1] else boxes))
    inputs = [Input(dtype, source.values(dtype, shape)), Input("float32", boxes)]
    if op.name.endswith("V2"):
        colors = [source.size(3), shape[3] + source.pick((0, 0, 0, 1, -1))]
        inputs.append(Input("float32", sixteenths(source, colors, 0, 16)))
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _draw(case: Case) -> Outcome:
    image, boxes = case.array(0), case.array(1)
    batch, channels = image.shape[0], image.shape[3]
    refuse_unless(channels in (1, 3, 4), "images")
    refuse_unless(boxes.ndim == 3 and boxes.shape[::2] == (batch, 4), "boxes")
    colors = np.array(_COLORS, np.float32)[:, :channels] if channels > 1 else np.ones((1, 1))
    if len(case.inputs) > 2 and len(case.array(2)):
        refuse_unless(case.array(2).shape[1] >= channels, "colors")
        colors = case.array(2)[:, :channels]
    result = image.copy()
    for n, i in np.ndindex(*boxes.shape[:2]):
        color = number_types.from_numbers(
            colors[i % len(colors)].astype(image.dtype), case.inputs[0].dtype
        )
        _draw_box(result[n], boxes[n, i], color)
    return [result]


def _draw_box(image: Array, box: Array, color: Array) -> None:
    height, width = image.shape[:2]
    with np.errstate(all="ignore"):
        scaled = box * np.array([height - 1, width - 1] * 2, np.float32)
    if not np.isfinite(scaled).all():
        if np.isnan(scaled).any():
            return
        scaled = np.clip(scaled, -1e9, 1e9)
    top, left, bottom, right = (int(place) for place in scaled)
    if top > bottom or left > right:
        return
    for y in range(max(top, 0), min(bottom, height - 1) + 1):
        for x in range(max(left, 0), min(right, width - 1) + 1):
            if y in (top, bottom) or x in (left, right):
                image[y, x] = color


def _large_drawing(values: Values) -> Any:
    images, boxes = values.of(8, 90, 90, 3), values.of(8, 20, 4, low=0.0, high=1.0)
    colors = values.positive(7, 3)
    return [
        gen_ops.draw_bounding_boxes(images, boxes),
        gen_ops.draw_bounding_boxes_v2(images, boxes, colors),
    ]


define_tests(
    ["DrawBoundingBoxes", "DrawBoundingBoxesV2"],
    cases=_make_drawing,
    reference=_draw,
    determinism=LargeCase(_large_drawing, FLOAT32),
)

# ---- SampleDistortedBoundingBox ----


def _make_sample(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    sizes = [source.integer(1, 60), source.integer(1, 60), 3]
    if source.chance(0.05):
        sizes[source.integer(0, 1)] = 0
    if source.chance(0.04):
        sizes = sizes[:2]
    boxes = np.sort(sixteenths(source, (1, source.size(3), 2, 2), 0, 16), axis=2)
    boxes = boxes.reshape(1, -1, 4) if boxes.size else boxes.reshape(1, 0, 4)
    if source.chance(0.06) and boxes.size:
        boxes.flat[0] = source.pick((-0.5, 1.5, math.nan))
    if source.chance(0.04):
        boxes = boxes[0]
    covered = source.pick((0.0, 0.1, 0.5, 1.0)) if source.chance(0.95) else -1.0
    ratio = source.pick(([0.75, 1.33], [0.5, 2.0], [1.0, 1.0]))
    area = source.pick(([0.05, 1.0], [0.3, 0.6]))
    if source.chance(0.06):
        source.pick((ratio, area))
        ratio, area = source.pick((([2.0, 1.0], area), (ratio, [0.0, 0.5]), (ratio, [0.5, 2.0])))
    attrs = {
        "T": type_attr(dtype),
        "seed": attr_text(source.integer(1, 2**20)),
        "aspect_ratio_range": attr_text(ratio),
        "area_range": attr_text(area),
        "max_attempts": attr_text(source.pick((1, 20, 100)) if source.chance(0.95) else 0),
        "use_image_if_no_bounding_boxes": attr_text(source.chance(0.6)),
    }
    inputs = [Input(dtype, np.array(sizes, dtype)), Input("float32", boxes)]
    if op.name.endswith("V2"):
        inputs.append(float_scalar(covered, "float32"))
    else:
        attrs["min_object_covered"] = attr_text(covered)
    return Case(op.name, inputs, attrs, {"covered": covered})


def _sample(case: Case) -> Outcome:
    sizes, boxes = case.array(0), case.array(1)
    for name, most in (("aspect_ratio_range", math.inf), ("area_range", 1)):
        low, high = case.attr(name)
        refuse_unless(0 < low <= high <= most, name)
    refuse_unless(case.attr("max_attempts") > 0, "max_attempts")
    refuse_unless(case.values["covered"] >= 0, "min_object_covered")
    refuse_unless(sizes.shape == (3,) and (sizes[:2] > 0).all(), "image_size")
    refuse_unless(boxes.ndim == 3, "bounding_boxes")
    refuse_unless(((boxes >= 0) & (boxes <= 1)).all(), "bounding_boxes")
    refuse_unless(boxes.size or case.attr("use_image_if_no_bounding_boxes"), "bounding_boxes")
    height, width = (int(size) for size in sizes[:2])

    def of_begin(values: Array) -> str:
        inside = 0 <= int(values[0]) < height and 0 <= int(values[1]) < width and values[2] == 0
        return "" if inside else "does not begin in the image"

    def of_size(values: Array) -> str:
        inside = 0 < int(values[0]) <= height and 0 < int(values[1]) <= width
        return "" if inside and values[2] == np.array(-1).astype(values.dtype) else "is too large"

    def of_box(values: Array) -> str:
        top, left, bottom, right = values[0, 0]
        is_box = 0 <= top < bottom <= 1 and 0 <= left < right <= 1
        if not is_box:
            return "is no box"
        low, high = case.attr("area_range")
        area = (bottom - top) * (right - left)
        whole = tuple(values[0, 0]) == (0, 0, 1, 1)
        return "" if whole or low - 1e-5 <= area <= high + 1e-5 else "has another area"

    return [Drawn((3,), of_begin), Drawn((3,), of_size), Drawn((1, 1, 4), of_box)]


def _large_sample(values: Values) -> Any:
    boxes = values.of(1, 50, 4, low=0.2, high=0.7)
    sizes = np.array([3000, 4000, 3], np.int32)
    return [
        *gen_ops.sample_distorted_bounding_box(sizes, boxes, seed=3, seed2=4),
        *gen_ops.sample_distorted_bounding_box_v2(sizes, boxes, 0.0, seed=3, seed2=4),
    ]


define_tests(
    ["SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2"],
    cases=_make_sample,
    reference=_sample,
    determinism=LargeCase(_large_sample, FLOAT32),
)
