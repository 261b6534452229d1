"""Images in other sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import FLOAT32, LargeCase, Values
from testing.ops.support.gradient import Check, with_arguments
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

# Places of pixels are rounded as float32, as kernels compute them. All else is exact here.
_F = np.float32


def pixels(source: Source, dtype: str, shape: Any) -> Array:
    """Finite numbers: a weight of 0 does not make an infinite pixel count for nothing."""
    return source.values(dtype, shape, source.pick(("small", "plain")))


def _step(before: int, after: int, corners: bool) -> Any:
    if corners and after > 1:
        return _F(before - 1) / _F(after - 1)
    return _F(before) / _F(after)


def _place(i: int, step: Any, centers: bool) -> Any:
    return (_F(i) + _F(0.5)) * step - _F(0.5) if centers else _F(i) * step


# ---- How much of each pixel each new pixel has: [new, old] ----


def _bilinear(before: int, after: int, corners: bool, centers: bool) -> Array:
    weights = np.zeros((after, before))
    step = _step(before, after, corners)
    for i in range(after):
        place = _place(i, step, centers)
        floor = math.floor(place)
        for pixel, weight in ((floor, 1 - (place - floor)), (math.ceil(place), place - floor)):
            if weight > 0:
                weights[i, min(max(pixel, 0), before - 1)] += weight
    return weights


def _cubic(distance: float, a: float) -> float:
    x = abs(distance)
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def _bicubic(before: int, after: int, corners: bool, centers: bool) -> Array:
    weights = np.zeros((after, before))
    step = _step(before, after, corners)
    for i in range(after):
        place = _place(i, step, centers)
        floor = math.floor(place)
        # In one of 1,024 places between two pixels.
        part = np.rint((place - _F(floor)) * _F(1024)) / 1024
        for k in range(-1, 3):
            pixel = min(max(floor + k, 0), before - 1)
            if not centers or pixel == floor + k:
                weights[i, pixel] += _cubic(k - part, -0.5 if centers else -0.75)
        if centers:
            weights[i] /= weights[i].sum()
    return weights


def _area(before: int, after: int, corners: bool, centers: bool) -> Array:
    weights = np.zeros((after, before))
    step = _step(before, after, corners)
    if step == 0:
        return np.ones((after, before))
    for i in range(after):
        start, end = _F(i) * step, _F(i + 1) * step
        for pixel in range(math.floor(start), math.ceil(end)):
            share = min(pixel + 1, end) - max(pixel, start)
            weights[i, min(pixel, before - 1)] += share / step
    return weights


def _lanczos(radius: int) -> Callable[[float], float]:
    return lambda x: np.sinc(x) * np.sinc(x / radius) if x <= radius else 0.0


def _mitchell(x: float) -> float:
    if x >= 2:
        return 0
    if x >= 1:
        return -7 / 18 * x**3 + 2 * x**2 - 10 / 3 * x + 16 / 9
    return 7 / 6 * x**3 - 2 * x**2 + 8 / 9


_KERNELS: dict[str, tuple[float, Callable[[float], float]]] = {
    "lanczos1": (1, _lanczos(1)),
    "lanczos3": (3, _lanczos(3)),
    "lanczos5": (5, _lanczos(5)),
    "gaussian": (1.5, lambda x: math.exp(-2 * x * x) if x < 1.5 else 0),
    "triangle": (1, lambda x: max(1 - x, 0)),
    "keyscubic": (2, lambda x: _cubic(x, -0.5) if x < 2 else 0),
    "mitchellcubic": (2, _mitchell),
}


def _sampled(before: int, after: int, case: Case, scale: Any, translation: Any) -> Array:
    weights = np.zeros((after, before))
    radius, kernel = _KERNELS[case.values["kernel_type"]]
    step = _F(1) / _F(scale)
    stretch = max(step, _F(1)) if case.attr("antialias") else _F(1)
    for i in range(after):
        place = (_F(i) + _F(0.5)) * step - step * _F(translation)
        if not 0 <= place <= before:
            continue
        for pixel in range(before):
            distance = abs(pixel + 0.5 - float(place))
            if distance <= radius * stretch:
                weights[i, pixel] = kernel(distance / float(stretch))
        total = weights[i].sum()
        weights[i] = weights[i] / total if abs(total) > 1e-34 else 0
    return weights


_WEIGHTS = {"ResizeBilinear": _bilinear, "ResizeBicubic": _bicubic, "ResizeArea": _area}


# ---- Resized images ----


def image_shape(source: Source, most: int = 6) -> list[int]:
    """The shape of images; some are none."""
    shape = [source.integer(1, 2), *(source.integer(1, most) for _ in range(2))]
    shape.append(source.integer(1, 3))
    if source.chance(0.05):
        shape[source.integer(0, 3)] = 0
    if source.chance(0.04):
        shape = shape[: source.integer(0, 3)]
    return shape


def drawn_sizes(source: Source) -> Array:
    """Height and width; some are none."""
    sizes = [source.integer(1, 8) for _ in range(2)]
    if source.chance(0.06):
        sizes[source.integer(0, 1)] = source.pick((0, -1, -(2**31)))
    if source.chance(0.03):
        sizes = sizes[:1]
    return np.array(sizes, np.int32)


def _place_attrs(source: Source, op: Any) -> dict[str, str]:
    names = [spec.name for spec in op.attr if spec.name != "T"]
    chosen = source.pick(("", *names)) if source.chance(0.95) else None
    return {name: attr_text(chosen in (None, name)) for name in names}


def _make_resize(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    inputs = [
        Input(dtype, pixels(source, dtype, image_shape(source))),
        Input("int32", drawn_sizes(source)),
    ]
    return Case(op.name, inputs, {"T": type_attr(dtype), **_place_attrs(source, op)})


def _make_resize_grad(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    image = image_shape(source)
    grads = list(image)
    grads[1:3] = [source.integer(1, 8) for _ in grads[1:3]]
    if source.chance(0.05) and grads:
        grads[source.integer(0, len(grads) - 1)] += 1
    first = "float32" if op.input_arg[0].type else dtype
    inputs = [
        Input(first, pixels(source, first, grads)),
        Input(dtype, pixels(source, dtype, image)),
    ]
    return Case(op.name, inputs, {"T": type_attr(dtype), **_place_attrs(source, op)})


def _places(case: Case) -> tuple[bool, bool]:
    corners = case.attr("align_corners")
    centers = "half_pixel_centers" in case.attrs and case.attr("half_pixel_centers")
    refuse_unless(not (corners and centers), "align_corners")
    return corners, centers


def _checked_images(array: Array, name: str) -> tuple[int, ...]:
    refuse_unless(array.ndim == 4 and 0 not in array.shape[1:], name)
    shape: tuple[int, ...] = array.shape
    return shape


def checked_sizes(case: Case, i: int, name: str) -> list[int]:
    """Height and width, which input i says."""
    sizes = case.array(i)
    refuse_unless(sizes.shape == (2,) and (sizes > 0).all(), name)
    return [int(size) for size in sizes]


def _resized(x: Array, rows: Array, columns: Array, dtype: str) -> Outcome:
    """Sums of pixels, whose terms are rounded as float32 and the result as its type."""
    wide = x.astype(np.float64)
    result = np.einsum("bhwc,yh,xw->byxc", wide, rows, columns)
    scale = np.einsum("bhwc,yh,xw->byxc", np.abs(wide), np.abs(rows), np.abs(columns))
    rounding = 64 * 2.0**-24 + number_types.epsilon(dtype)
    return [Near(result, (scale + np.abs(wide).max(initial=0)) * rounding)]


def _resize(case: Case) -> Outcome:
    corners, centers = _places(case)
    x = numbers(case, 0)
    _, height, width, _ = _checked_images(x, "images")
    new = checked_sizes(case, 1, "size")
    weights = _WEIGHTS[case.op]
    rows = weights(height, new[0], corners, centers)
    columns = weights(width, new[1], corners, centers)
    return _resized(x, rows, columns, "float32")


def _checked_gradient(case: Case) -> tuple[Array, tuple[int, ...]]:
    grads, image = numbers(case, 0), case.array(1)
    _checked_images(grads, "grads")
    shape = _checked_images(image, "original_image")
    refuse_unless((shape[0], shape[3]) == (grads.shape[0], grads.shape[3]), "original_image")
    return grads, shape


def _resize_grad(case: Case) -> Outcome:
    corners, centers = _places(case)
    grads, shape = _checked_gradient(case)
    weights = _WEIGHTS[case.op.removesuffix("Grad")]
    rows = weights(shape[1], grads.shape[1], corners, centers)
    columns = weights(shape[2], grads.shape[2], corners, centers)
    return _resized(grads, rows.T, columns.T, case.inputs[1].dtype)


# Sums of eighths and weights that are parts of powers of 2 are exact, so these differences are.
STEP = 0.125


def whole_numbers(name: str, *shape: int) -> Array:
    """Numbers from -4 to 4, in float32."""
    random = np.random.default_rng(len(name))
    return random.integers(-4, 5, shape).astype(np.float32)


def _resize_checks(op: str) -> list[Check]:
    down = op == "ResizeArea"
    image = whole_numbers(op, 1, *((4, 4) if down else (2, 3)), 2)
    size = [2, 4] if down else [4, 6]
    function = function_of(op)
    attrs: list[dict[str, bool]] = [{}]
    if op in ("ResizeBilinear", "ResizeNearestNeighbor"):
        attrs.append({"half_pixel_centers": True})
    return [Check(with_arguments(function, size, **one), (image,), STEP) for one in attrs]


def _resize_grad_checks(op: str) -> list[Check]:
    image = np.zeros((1, 2, 3, 2), np.float32)
    return [Check(function_of(op), (whole_numbers(op, 1, 4, 6, 2), image), STEP)]


def _large_resize(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        images = values.of(2, 60, 80, 3)
        grown, shrunk = ([150, 170], [31, 23])
        if not op.endswith("Grad"):
            return [function_of(op)(images, size) for size in (grown, shrunk)]
        like = values.of(2, 90, 110, 3)
        return function_of(op)(images, [90, 110] if "Nearest" in op else like)

    return LargeCase(build, FLOAT32)


define_tests(
    ["ResizeBilinear", "ResizeBicubic", "ResizeArea"],
    cases=_make_resize,
    reference=_resize,
    gradient=_resize_checks,
    determinism=_large_resize,
)
define_tests(
    ["ResizeBilinearGrad", "ResizeBicubicGrad"],
    cases=_make_resize_grad,
    reference=_resize_grad,
    gradient=_resize_grad_checks,
    determinism=_large_resize,
)

# ---- The nearest pixel ----


def _nearest_pixels(before: int, after: int, corners: bool, centers: bool) -> list[int]:
    step = _step(before, after, corners)
    places = [(_F(i) + _F(0.5)) * step if centers else _F(i) * step for i in range(after)]
    found = [int(np.floor(place + _F(0.5)) if corners else np.floor(place)) for place in places]
    return [min(max(pixel, 0), before - 1) for pixel in found]


def _nearest(case: Case) -> Outcome:
    corners, centers = _places(case)
    x = case.array(0)
    _, height, width, _ = _checked_images(x, "images")
    new = checked_sizes(case, 1, "size")
    rows = _nearest_pixels(height, new[0], corners, centers)
    columns = _nearest_pixels(width, new[1], corners, centers)
    return [x[:, rows][:, :, columns]]


def _nearest_grad(case: Case) -> Outcome:
    corners, centers = _places(case)
    grads, dtype = numbers(case, 0), case.inputs[0].dtype
    batch, height, width, channels = _checked_images(grads, "grads")
    old = checked_sizes(case, 1, "size")
    rows = _nearest_pixels(old[0], height, corners, centers)
    columns = _nearest_pixels(old[1], width, corners, centers)
    rounds = number_types.is_inexact(dtype)
    value = np.zeros((batch, *old, channels), np.float64 if rounds else grads.dtype)
    scale = np.zeros(value.shape)
    with np.errstate(all="ignore"):
        for y, row in enumerate(rows):
            for x, column in enumerate(columns):
                value[:, row, column] += grads[:, y, x]
                scale[:, row, column] += np.abs(grads[:, y, x].astype(np.float64))
    if not rounds:
        return [value]
    return [Near(value, scale * (64 * 2.0**-24 + number_types.epsilon(dtype)))]


def _nearest_grad_checks(op: str) -> list[Check]:
    return [Check(with_arguments(function_of(op), [2, 3]), (whole_numbers(op, 1, 4, 6, 2),), STEP)]


define_tests(
    "ResizeNearestNeighbor",
    cases=_make_resize,
    reference=_nearest,
    gradient=_resize_checks,
    determinism=_large_resize,
)
define_tests(
    "ResizeNearestNeighborGrad",
    cases=_make_resize,
    reference=_nearest_grad,
    gradient=_nearest_grad_checks,
    determinism=_large_resize,
)

# ---- ScaleAndTranslate ----


def _make_sample(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    image = image_shape(source)
    kernel = source.pick(list(_KERNELS)) if source.chance(0.95) else "none"
    scale = [source.integer(1, 12) / 4 for _ in range(2)]
    translation = [source.integer(-8, 8) / 4 for _ in range(2)]
    if source.chance(0.05):
        scale[source.integer(0, 1)] = source.pick((0.0, -1.0, math.nan))
    if source.chance(0.03):
        translation = translation[:1]
    inputs = [Input(dtype, pixels(source, dtype, image))]
    if op.name.endswith("Grad"):
        like = list(image)
        like[1:3] = [source.integer(1, 6) for _ in like[1:3]]
        inputs.append(Input(dtype, pixels(source, dtype, like)))
    else:
        inputs.append(Input("int32", drawn_sizes(source)))
    inputs += [Input("float32", np.array(pair, np.float32)) for pair in (scale, translation)]
    attrs = {
        "T": type_attr(dtype),
        "kernel_type": attr_text(kernel),
        "antialias": attr_text(source.chance(0.6)),
    }
    return Case(op.name, inputs, attrs, {"kernel_type": kernel})


def _sample(case: Case) -> Outcome:
    refuse_unless(case.values["kernel_type"] in _KERNELS, "kernel_type")
    is_gradient = case.op.endswith("Grad")
    if is_gradient:
        x, shape = _checked_gradient(case)
        old, new = list(shape[1:3]), list(x.shape[1:3])
    else:
        x = numbers(case, 0)
        old = list(_checked_images(x, "images")[1:3])
        new = checked_sizes(case, 1, "size")
    scale, translation = case.array(2), case.array(3)
    refuse_unless(scale.shape == (2,) and (scale > 0).all(), "scale")
    refuse_unless(translation.shape == (2,), "translation")
    weights = [_sampled(old[i], new[i], case, scale[i], translation[i]) for i in range(2)]
    if is_gradient:
        weights = [matrix.T for matrix in weights]
    # Sums of weights near zero magnify what is rounded.
    (near,) = _resized(x, weights[0], weights[1], "float32")
    return [Near(near.value, near.bound * 16)]


_MOVED = {"kernel_type": "box", "antialias": True}
_HALF, _STILL = np.full(2, 0.5, np.float32), np.zeros(2, np.float32)


def _sample_checks(op: str) -> list[Check]:
    if op.endswith("Grad"):
        image = np.zeros((1, 4, 4, 2), np.float32)

        def grad(dy: Any) -> Any:
            return gen_ops.scale_and_translate_grad(dy, image, _HALF, _STILL, **_MOVED)

        return [Check(grad, (whole_numbers(op, 1, 2, 2, 2),), STEP)]
    function = with_arguments(gen_ops.scale_and_translate, [2, 2], _HALF, _STILL, **_MOVED)
    return [Check(function, (whole_numbers(op, 1, 4, 4, 2),), STEP)]


def _large_sample(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        images = values.of(2, 60, 80, 3)
        second = values.of(2, 90, 110, 3) if op.endswith("Grad") else [90, 110]
        return function_of(op)(images, second, [1.4, 0.7], [2.0, -3.0])

    return LargeCase(build, FLOAT32)


define_tests(
    ["ScaleAndTranslate", "ScaleAndTranslateGrad"],
    cases=_make_sample,
    reference=_sample,
    gradient=_sample_checks,
    determinism=_large_sample,
)
