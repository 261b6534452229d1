"""Crops of images that are resized."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.image_sizes import (
    STEP,
    checked_sizes,
    drawn_sizes,
    image_shape,
    pixels,
    whole_numbers,
)
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import FLOAT32, LargeCase, Values
from testing.ops.support.gradient import Check
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    numbers,
    pick_type,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source

# Places of pixels are rounded as float32, as kernels compute them.
_F = np.float32


def _boxes(source: Source, count: int) -> Array:
    """Corners in sixteenths, some outside of the image, some turned around."""
    return np.array(
        [[source.integer(-4, 20) / 16 for _ in range(4)] for _ in range(count)], np.float32
    ).reshape(count, 4)


def _make_crop(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    image = image_shape(source)
    count = source.size(4)
    boxes = _boxes(source, count)
    indices = source.index_values("int32", [count], 0, max(image[0] - 1, 0) if image else 0)
    if source.chance(0.05) and count:
        indices[source.integer(0, count - 1)] = source.pick((-1, 7))
    if source.chance(0.04):
        boxes = boxes[:, :3]
    if source.chance(0.04):
        indices = indices[:-1]
    placed = [Input("float32", boxes), Input("int32", indices)]
    attrs = {"T": type_attr(dtype), "method": attr_text("bilinear")}
    if op.name != "CropAndResizeGradBoxes":
        attrs["method"] = attr_text(source.pick(("bilinear", "nearest")))
    grads = [count, source.integer(1, 4), source.integer(1, 4), image[-1] if image else 1]
    if source.chance(0.05):
        grads[source.integer(0, 3)] += 1
    gradient = Input("float32", pixels(source, "float32", grads))
    image_input = Input(dtype, pixels(source, dtype, image))
    if op.name == "CropAndResize":
        attrs["extrapolation_value"] = attr_text(source.pick((0.0, 2.5)))
        inputs = [image_input, *placed, Input("int32", drawn_sizes(source))]
    elif op.name == "CropAndResizeGradImage":
        inputs = [gradient, *placed, Input("int32", np.array(image, np.int32))]
    else:
        inputs = [gradient, image_input, *placed]
    return Case(op.name, inputs, attrs)


def _checked_boxes(case: Case, first: int, image: tuple[int, ...]) -> tuple[Array, Array]:
    boxes, indices = case.array(first), case.array(first + 1)
    refuse_unless(len(image) == 4 and image[1] > 0 and image[2] > 0, "image")
    refuse_unless(boxes.ndim == 2 and boxes.shape[1] == 4, "boxes")
    refuse_unless(indices.shape == boxes.shape[:1], "box_ind")
    refuse_unless(((indices >= 0) & (indices < image[0])).all(), "box_ind")
    return boxes, indices


def _crop_places(begin: Any, end: Any, size: int, count: int) -> list[tuple[Any, float]]:
    """Each place of a crop, None outside of the image, and how far the end of the box moves it."""
    last = _F(size - 1)
    step = (end - begin) * last / _F(count - 1) if count > 1 else _F(0)
    found: list[tuple[Any, float]] = []
    for i in range(count):
        place = begin * last + _F(i) * step if count > 1 else _F(0.5) * (begin + end) * last
        spread = i / (count - 1) if count > 1 else 0.5
        found.append((place if 0 <= place <= last else None, spread))
    return found


def _crop_weights(place: Any, size: int, nearest: bool) -> Array:
    weights = np.zeros(size)
    if place is None:
        return weights
    floor = math.floor(place)
    if nearest:
        weights[floor if place - floor < 0.5 else math.ceil(place)] = 1
    else:
        weights[floor] += 1 - (place - floor)
        weights[math.ceil(place)] += place - floor
    return weights


def _crop_matrices(case: Case, box: Array, image: Any, size: Any) -> list[Array]:
    nearest = case.attr("method") == "nearest"
    return [
        np.array(
            [
                _crop_weights(place, image[i + 1], nearest)
                for place, _ in _crop_places(box[i], box[i + 2], image[i + 1], size[i])
            ]
        )
        for i in range(2)
    ]


def _crop(case: Case) -> Outcome:
    x = numbers(case, 0).astype(np.float64)
    boxes, indices = _checked_boxes(case, 1, x.shape)
    size = checked_sizes(case, 3, "crop_size")
    result = np.zeros((len(boxes), *size, x.shape[3]))
    for i, box in enumerate(boxes):
        rows, columns = _crop_matrices(case, box, x.shape, size)
        result[i] = np.einsum("hwc,yh,xw->yxc", x[indices[i]], rows, columns)
        outside = (rows.sum(1) == 0)[:, None] | (columns.sum(1) == 0)[None]
        result[i][outside] = case.attr("extrapolation_value")
    return [Near(result, (np.abs(x).max(initial=0) + 1) * 2.0**-18)]


def _crop_grad_image(case: Case) -> Outcome:
    shape = tuple(case.array(3).tolist())
    boxes, indices = _checked_boxes(case, 1, shape)
    grads = case.array(0).astype(np.float64)
    refuse_unless(grads.shape[0] == len(boxes) and grads.shape[3] == shape[3], "grads")
    result = np.zeros(shape)
    for i, box in enumerate(boxes):
        rows, columns = _crop_matrices(case, box, shape, grads.shape[1:3])
        result[indices[i]] += np.einsum("yxc,yh,xw->hwc", grads[i], rows, columns)
    rounding = 2.0**-18 + number_types.epsilon(case.attr("T")[1])
    return [Near(result, (np.abs(grads).sum() + 1) * rounding)]


def _crop_grad_boxes(case: Case) -> Outcome:
    grads, x = case.array(0).astype(np.float64), numbers(case, 1).astype(np.float64)
    boxes, indices = _checked_boxes(case, 2, x.shape)
    refuse_unless(grads.shape[0] == len(boxes) and grads.shape[3] == x.shape[3], "grads")
    result = np.zeros((len(boxes), 4))
    for i, box in enumerate(boxes):
        places = [
            _crop_places(box[d], box[d + 2], x.shape[d + 1], grads.shape[d + 1]) for d in range(2)
        ]
        for y, (row, row_spread) in enumerate(places[0]):
            for z, (column, column_spread) in enumerate(places[1]):
                if row is None or column is None:
                    continue
                down, right = _slopes(x[indices[i]], row, column) @ grads[i, y, z]
                down, right = down * (x.shape[1] - 1), right * (x.shape[2] - 1)
                result[i] += [
                    down * (1 - row_spread),
                    right * (1 - column_spread),
                    down * row_spread,
                    right * column_spread,
                ]
    size = np.abs(x).max(initial=0) * np.abs(grads).sum() * max(x.shape[1:3], default=1)
    return [Near(result, (size + 1) * 2.0**-18)]


def _slopes(image: Array, row: Any, column: Any) -> Array:
    """How the color at a place changes downwards and to the right: [2, channels]."""
    top, left = math.floor(row), math.floor(column)
    bottom, right = math.ceil(row), math.ceil(column)
    down = row - top
    across = column - left
    left_slope = image[bottom, left] - image[top, left]
    right_slope = image[bottom, right] - image[top, right]
    upper_slope = image[top, right] - image[top, left]
    lower_slope = image[bottom, right] - image[bottom, left]
    return np.array(
        [
            left_slope * (1 - across) + right_slope * across,
            upper_slope * (1 - down) + lower_slope * down,
        ]
    )


_BOXES = np.array([[0.125, 0.125, 0.625, 0.625], [0.875, 0.375, 0.125, 0.625]], np.float32)
_INDICES = np.array([1, 0], np.int32)


def _crop_checks(op: str) -> list[Check]:
    def crop(image: Any, boxes: Any) -> Any:
        return gen_ops.crop_and_resize(image, boxes, _INDICES, [2, 2])

    def nearest(image: Any) -> Any:
        return gen_ops.crop_and_resize(image, _BOXES, _INDICES, [2, 2], method="nearest")

    image = whole_numbers(op, 2, 5, 5, 2)
    return [Check(crop, (image, _BOXES), 2.0**-8), Check(nearest, (image,), STEP)]


def _crop_grad_checks(op: str) -> list[Check]:
    def grad(dy: Any, boxes: Any) -> Any:
        return gen_ops.crop_and_resize_grad_image(dy, boxes, _INDICES, [2, 5, 5, 2], dy.dtype)

    def nearest(dy: Any) -> Any:
        return gen_ops.crop_and_resize_grad_image(
            dy, _BOXES, _INDICES, [2, 5, 5, 2], dy.dtype, method="nearest"
        )

    dy = whole_numbers(op, 2, 2, 2, 2)
    return [Check(grad, (dy, _BOXES), 2.0**-8), Check(nearest, (dy,), STEP)]


# No place of a crop of one, two or three rows or columns is that of a pixel, where slopes change.
_BETWEEN = np.array([[0.125, 0.125, 0.625, 0.625], [0.875, 0.3125, 0.3125, 0.8125]], np.float32)


def _crop_slope_checks(op: str) -> list[Check]:
    def slopes(dy: Any, images: Any, boxes: Any) -> Any:
        return gen_ops.crop_and_resize_grad_boxes(dy, images, boxes, _INDICES)

    images = whole_numbers("images", 2, 5, 5, 2)
    return [
        Check(slopes, (whole_numbers(op, 2, height, 3, 2), images, _BETWEEN), 2.0**-8)
        for height in (1, 2)
    ]


def _large_crops(values: Values) -> Any:
    images, boxes = values.of(8, 50, 50, 3), values.of(40, 4, low=0.0, high=1.0)
    indices, grads = values.rows(40, 8), values.of(40, 20, 20, 3)
    return [
        gen_ops.crop_and_resize(images, boxes, indices, [20, 20]),
        gen_ops.crop_and_resize_grad_image(grads, boxes, indices, [8, 50, 50, 3], values.dtype),
        gen_ops.crop_and_resize_grad_boxes(grads, images, boxes, indices),
    ]


_LARGE_CROPS = LargeCase(_large_crops, FLOAT32)
define_tests(
    "CropAndResize",
    cases=_make_crop,
    reference=_crop,
    gradient=_crop_checks,
    determinism=_LARGE_CROPS,
)
define_tests(
    "CropAndResizeGradImage",
    cases=_make_crop,
    reference=_crop_grad_image,
    gradient=_crop_grad_checks,
    determinism=_LARGE_CROPS,
)
define_tests(
    "CropAndResizeGradBoxes",
    cases=_make_crop,
    reference=_crop_grad_boxes,
    gradient=_crop_slope_checks,
    determinism=_LARGE_CROPS,
)
