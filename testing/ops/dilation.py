"""Dilation of grayscale images, and convolution of mirrored ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.image_sizes import STEP, whole_numbers
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import FLOAT32, FLOAT32_AND_64, LargeCase, Values
from testing.ops.support.gradient import Check, shape_of, spread, with_arguments
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
from testing.ops.support.windows import EDGES, Window, are_32_bit, drawn_pair, image_sizes

# ---- Dilation2D ----


def _whole_numbers(source: Source, dtype: str, shape: list[int]) -> Array:
    """Numbers whose sums are exact in the type: equal sums are equal, and the first one counts."""
    return source.values(dtype, shape, "small" if number_types.is_inexact(dtype) else "")


def _make_dilation(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    case = Case(op.name, [], {"T": type_attr(dtype)})
    channels = source.size(3)
    image = image_sizes(source, channels)
    filters = [*drawn_pair(source, 0 if source.chance(0.05) else 1, 3), channels]
    strides = [1, *drawn_pair(source, 1, 3), 1]
    rates = [1, *(drawn_pair(source, 1, 3) if source.chance(0.4) else [1, 1]), 1]
    if source.chance(0.1):
        source.pick((strides, rates))[source.integer(0, 3)] = source.pick(EDGES)
    case.values = {"strides": strides, "rates": rates, "padding": source.pick(("SAME", "VALID"))}
    case.attrs |= {name: attr_text(value) for name, value in case.values.items()}
    try:
        rows, columns = _dilation_places(case, tuple(image), tuple(filters))
        output = [image[0], len(rows), len(columns), channels]
    except Exception:
        output = [image[0], 1, 1, channels]
    if source.chance(0.08):
        chosen = source.pick((image, filters, output))
        chosen[source.integer(0, len(chosen) - 1)] += 1
    shapes = [image, filters] if op.name == "Dilation2D" else [image, filters, output]
    case.inputs = [Input(dtype, _whole_numbers(source, dtype, shape)) for shape in shapes]
    return case


def _dilation_places(case: Case, image: tuple[int, ...], filters: tuple[int, ...]) -> list[Any]:
    refuse_unless(len(image) == 4, "input")
    refuse_unless(len(filters) == 3, "filter")
    strides, rates = case.values["strides"], case.values["rates"]
    for name, steps in (("strides", strides), ("rates", rates)):
        refuse_unless(are_32_bit(steps) and steps[0] == steps[3] == 1, name)
    refuse_unless(image[3] == filters[2] > 0, "filter")
    padding = case.values["padding"]
    windows = [Window(filters[i], strides[i + 1], rates[i + 1], padding) for i in (0, 1)]
    return [window.places(image[i + 1], "filter") for i, window in enumerate(windows)]


def _corner(case: Case, image: Array, filters: Array, i: int, place: int, count: int) -> int:
    """Where a window along height (0) or width (1) begins, or would begin inside of the image."""
    stride, rate = case.values["strides"][i + 1], case.values["rates"][i + 1]
    length = (filters.shape[i] - 1) * rate + 1
    margin = max((count - 1) * stride + length - image.shape[i + 1], 0)
    before = margin // 2 if case.values["padding"] == "SAME" else 0
    return int(max(place * stride - before, 0))


def _largest(
    case: Case, image: Array, filters: Array, lowest: Any
) -> Iterator[tuple[Any, Any, Any, Any]]:
    """For each (image, row, column, channel): its largest sum, and the tap and pixel of that.

    A search starts with the lowest number, which counts for the first tap and pixel.
    """
    rows, columns = _dilation_places(case, image.shape, filters.shape)
    for n, i, j, c in itertools.product(
        range(image.shape[0]), range(len(rows)), range(len(columns)), range(image.shape[3])
    ):
        corner = (
            _corner(case, image, filters, 0, i, len(rows)),
            _corner(case, image, filters, 1, j, len(columns)),
        )
        largest, tap, pixel = lowest, (0, 0), corner
        for (k, y), (m, x) in itertools.product(rows[i], columns[j]):
            with np.errstate(all="ignore"):
                found = np.add(image[n, y, x, c], filters[k, m, c])
            if found > largest:
                largest, tap, pixel = found, (k, m), (y, x)
        yield (n, i, j, c), largest, tap, pixel


def _dilated(case: Case) -> Outcome:
    image, filters = numbers(case, 0), numbers(case, 1)
    dtype = case.inputs[0].dtype
    rounds = number_types.is_inexact(dtype)
    lowest = -number_types.largest(dtype) if rounds else np.iinfo(image.dtype).min
    rows, columns = _dilation_places(case, image.shape, filters.shape)
    shape = (image.shape[0], len(rows), len(columns), image.shape[3])
    if case.op == "Dilation2D":
        result = np.zeros(shape, image.dtype)
        for place, largest, _, _ in _largest(case, image, filters, lowest):
            result[place] = largest
        return [number_types.from_numbers(result, dtype)]
    gradient = numbers(case, 2)
    refuse_unless(gradient.shape == shape, "out_backprop")
    to_input = case.op == "Dilation2DBackpropInput"
    like = image if to_input else filters
    value = np.zeros(like.shape, longer(like).dtype if rounds else like.dtype)
    scale = np.zeros(like.shape)
    for place, _, tap, pixel in _largest(case, image, filters, lowest):
        at = (place[0], *pixel, place[3]) if to_input else (*tap, place[3])
        with np.errstate(all="ignore"):
            value[at] += gradient[place]
        scale[at] += abs(float(gradient[place]))
    return [summed(value, scale, gradient.size + 4, dtype) if rounds else value]


# No two sums of a window are near each other: elements of the image are multiples of 0.1 apart,
# taps multiples of 0.538, of which the first seven are 0.009 or more from a multiple of 0.1.
_X, _W = spread("image", 1, 5, 4, 2), 1.076 * spread("taps", 2, 2, 2)
_STEPS: list[dict[str, Any]] = [
    {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"},
    {"strides": [1, 2, 1, 1], "rates": [1, 1, 2, 1], "padding": "VALID"},
]


def _dilation_check(attrs: dict[str, Any]) -> Check:
    return Check(lambda x, w: gen_ops.dilation2d(x, w, **attrs), (_X, _W))


def _large_dilations(values: Values) -> Any:
    image, filters = values.of(4, 40, 40, 16), values.of(3, 3, 16)
    gradient, ones = values.of(4, 40, 40, 16), [1, 1, 1, 1]
    return [
        gen_ops.dilation2d(image, filters, ones, ones, "SAME"),
        gen_ops.dilation2d_backprop_input(image, filters, gradient, ones, ones, "SAME"),
        gen_ops.dilation2d_backprop_filter(image, filters, gradient, ones, ones, "SAME"),
    ]


define_tests(
    "Dilation2D",
    cases=_make_dilation,
    reference=_dilated,
    gradient=[_dilation_check(attrs) for attrs in _STEPS],
    determinism=LargeCase(_large_dilations, FLOAT32_AND_64),
)


def _dilation_gradient_checks(op: str) -> list[Check]:
    """By the gradient that comes down, of the shape of what the dilation gives."""
    checks = []
    for attrs in _STEPS:
        shape = shape_of(with_arguments(gen_ops.dilation2d, **attrs), _X, _W)
        gradient = with_arguments(function_of(op), **attrs)
        checks.append(Check(lambda dy, of=gradient: of(_X, _W, dy), (spread("dy", *shape),)))
    return checks


define_tests(
    ["Dilation2DBackpropInput", "Dilation2DBackpropFilter"],
    cases=_make_dilation,
    reference=_dilated,
    gradient=_dilation_gradient_checks,
    determinism=LargeCase(_large_dilations, FLOAT32),
)

# ---- FusedPadConv2D ----


def _make_padded(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    channels = source.size(3)
    image = image_sizes(source, channels)
    mode = source.pick(("REFLECT", "SYMMETRIC"))
    pads = [[0, 0] for _ in range(4)]
    for i in (1, 2):
        most = max(image[i] - (mode == "REFLECT"), 0)
        pads[i] = [source.integer(0, min(most, 3)) for _ in range(2)]
    if source.chance(0.15):
        pads[source.integer(0, 3)][source.integer(0, 1)] = source.pick((-1, 1, 7, 2**31 - 1))
    filters = [*drawn_pair(source, 1, 3), channels, source.size(3)]
    if source.chance(0.05):
        filters[source.integer(0, 3)] += 1
    strides, padding = [1, *drawn_pair(source, 1, 2), 1], source.pick(("SAME", "VALID"))
    inputs = [
        Input(dtype, source.values(dtype, image, "small")),
        Input("int32", np.array(pads, np.int32)),
        Input(dtype, source.values(dtype, filters, "small")),
    ]
    attrs = {
        "T": type_attr(dtype),
        "mode": attr_text(mode),
        "strides": attr_text(strides),
        "padding": attr_text(padding),
    }
    values = {"mode": mode, "strides": strides, "padding": padding}
    return Case(op.name, inputs, attrs, values)


def _padded_conv(case: Case) -> Outcome:
    image, filters = longer(numbers(case, 0)), longer(numbers(case, 2))
    pads, mode = case.array(1).tolist(), case.values["mode"]
    for i, pair in enumerate(pads):
        most = image.shape[i] - (mode == "REFLECT") if i in (1, 2) else 0
        refuse_unless(all(0 <= pad <= max(most, 0) for pad in pair), "paddings")
    refuse_unless(image.shape[3] > 0 and filters.shape[2] > 0, "filter")
    refuse_unless(image.shape[3] % filters.shape[2] == 0, "filter")
    groups = image.shape[3] // filters.shape[2]
    refuse_unless(filters.shape[3] % groups == 0, "filter")
    places = []
    for i in (0, 1):
        before, after = pads[i + 1]
        order = _mirrored(image.shape[i + 1], before, after, mode)
        window = Window(filters.shape[i], case.values["strides"][i + 1], 1, case.values["padding"])
        found = window.places(len(order), "filter")
        places.append([[(k, order[at]) for k, at in place] for place in found])
    rows, columns = places
    shape = (image.shape[0], len(rows), len(columns), filters.shape[3])
    value, scale = np.zeros(shape), np.zeros(shape)
    share, depth = filters.shape[3] // groups, filters.shape[2]
    for (i, row), (j, column) in itertools.product(enumerate(rows), enumerate(columns)):
        for (k, y), (m, x), g in itertools.product(row, column, range(groups)):
            own, to = slice(g * depth, (g + 1) * depth), slice(g * share, (g + 1) * share)
            value[:, i, j, to] += image[:, y, x, own] @ filters[k, m][:, to]
            scale[:, i, j, to] += np.abs(image[:, y, x, own]) @ np.abs(filters[k, m][:, to])
    return [summed(value, scale, filters.size + 4, case.inputs[0].dtype)]


def _mirrored(size: int, before: int, after: int, mode: str) -> list[int]:
    """Where each place of a padded dimension comes from."""
    order = list(range(size))
    turned = order[1:] if mode == "REFLECT" else order
    left = turned[:before][::-1]
    turned = order[:-1] if mode == "REFLECT" else order
    right = turned[::-1][:after]
    return left + order + right


def _large_padded(values: Values) -> Any:
    image, filters = values.of(4, 24, 24, 16), values.of(3, 3, 16, 32)
    pads = [[0, 0], [1, 1], [2, 2], [0, 0]]
    return gen_ops.fused_pad_conv2d(image, pads, filters, "REFLECT", [1, 1, 1, 1], "VALID")


_PADS = [[0, 0], [1, 0], [1, 2], [0, 0]]


def _padded_check(mode: str, padding: str) -> Check:
    def build(image: Any, filters: Any) -> Any:
        return gen_ops.fused_pad_conv2d(image, _PADS, filters, mode, [1, 2, 1, 1], padding)

    return Check(build, (spread("image", 1, 4, 5, 2), spread("filter", 2, 2, 2, 3)))


define_tests(
    "FusedPadConv2D",
    cases=_make_padded,
    reference=_padded_conv,
    gradient=[_padded_check("REFLECT", "VALID"), _padded_check("SYMMETRIC", "SAME")],
    determinism=LargeCase(_large_padded, FLOAT32_AND_64),
)

# ---- FusedResizeAndPadConv2D ----


def _make_resized(source: Source, op: Any) -> Case:
    case = _make_padded(source, op)
    sizes = [source.integer(1, 7), source.integer(1, 7)]
    if source.chance(0.04):
        sizes[source.integer(0, 1)] = source.pick((0, -1))
    case.inputs.insert(1, Input("int32", np.array(sizes, np.int32)))
    case.attrs["resize_align_corners"] = attr_text(source.chance(0.5))
    return case


def _resized(x: Array, axis: int, after: int, corners: bool) -> Array:
    before = x.shape[axis]
    of = np.float32
    step = of(before) / of(after)
    if corners and after > 1:
        step = of(before - 1) / of(after - 1)
    places = np.arange(after).astype(of) * step
    high = np.minimum(np.ceil(places).astype(int), before - 1)
    low = np.minimum(places.astype(int), high)
    parts = (places - np.floor(places)).astype(float)
    parts = parts.reshape([-1 if i == axis else 1 for i in range(4)])
    first = x.take(low, axis)
    return np.asarray(first + (x.take(high, axis) - first) * parts)


def _resized_conv(case: Case) -> Outcome:
    image, sizes = longer(numbers(case, 0)), case.array(1).tolist()
    refuse_unless(image.shape[1] > 0 and image.shape[2] > 0, "input")
    refuse_unless(min(sizes) > 0, "size")
    for axis in (1, 2):
        image = _resized(image, axis, sizes[axis - 1], case.attr("resize_align_corners"))
    # float64 images; results are rounded as those of the type of the case.
    inputs = [Input("float64", image), *case.inputs[2:]]
    wide = _padded_conv(Case(case.op, inputs, case.attrs, case.values))[0]
    scale = np.abs(image).max(initial=1) * np.abs(longer(numbers(case, 3))).sum()
    return [Near(wide.value, 16 * number_types.epsilon(case.inputs[0].dtype) * (scale + 1))]


def _large_resized(values: Values) -> Any:
    image, filters = values.of(4, 24, 24, 16), values.of(3, 3, 16, 32)
    pads = [[0, 0], [1, 1], [2, 2], [0, 0]]
    return gen_ops.fused_resize_and_pad_conv2d(
        image, [30, 20], pads, filters, mode="REFLECT", strides=[1, 1, 1, 1], padding="VALID"
    )


def _resized_check(size: list[int], corners: bool) -> Check:
    """Of images in float32, for a size whose pixels are old ones or half between two."""

    def build(image: Any, filters: Any) -> Any:
        return gen_ops.fused_resize_and_pad_conv2d(
            image,
            size,
            _PADS,
            filters,
            resize_align_corners=corners,
            mode="REFLECT",
            strides=[1, 1, 1, 1],
            padding="VALID",
        )

    image, filters = whole_numbers("image", 1, 2, 3, 2), whole_numbers("filter", 2, 2, 2, 3)
    return Check(build, (image, filters), STEP)


define_tests(
    "FusedResizeAndPadConv2D",
    cases=_make_resized,
    reference=_resized_conv,
    gradient=[_resized_check([4, 6], False), _resized_check([3, 5], True)],
    determinism=LargeCase(_large_resized, FLOAT32_AND_64),
)
