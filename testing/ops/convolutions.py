"""Convolutions and their gradients."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import FLOAT32_AND_64, LargeCase, Values, sizes_of
from testing.ops.support.gradient import Check, shape_of, spread, with_arguments
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
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
from testing.ops.support.windows import (
    EDGES,
    Window,
    are_32_bit,
    drawn_pair,
    image_sizes,
    laid,
    laid_sizes,
    moderate,
    unlaid,
)


def _is_depthwise(op: str) -> bool:
    return op.startswith("Depthwise")


def _of_one_channel(filters: tuple[int, ...]) -> tuple[int, ...]:
    """Depthwise filters as those of groups of one channel; they are the same in memory."""
    return (*filters[:2], 1, filters[2] * filters[3])


def _convolution_attrs(source: Source, case: Case) -> None:
    first = source.chance(0.35)
    depthwise = _is_depthwise(case.op)
    padding = source.pick(("SAME", "VALID") if depthwise else ("SAME", "VALID", "EXPLICIT"))
    strides = [1, *drawn_pair(source, 1, 3), 1]
    if depthwise and source.chance(0.9):
        strides[2] = strides[1]
    dilations = [1, *(drawn_pair(source, 1, 3) if source.chance(0.3) else [1, 1]), 1]
    pads = [0] * 8
    if padding == "EXPLICIT":
        pads[2:6] = [source.integer(0, 3) for _ in range(4)]
    if source.chance(0.12):
        values = source.pick((strides, dilations, pads))
        values[source.integer(0, len(values) - 1)] = source.pick(EDGES)
    case.values |= {"first": first, "padding": padding, "strides": strides}
    case.values |= {"dilations": dilations, "pads": pads}
    pairs = [pads[2 * i : 2 * i + 2] for i in range(4)]
    pairs = [pairs[i] for i in (0, 3, 1, 2)] if first else pairs
    explicit = [pad for pair in pairs for pad in pair] if padding == "EXPLICIT" else []
    case.attrs |= {
        "strides": attr_text(laid_sizes(strides, first)),
        "dilations": attr_text(laid_sizes(dilations, first)),
        "padding": attr_text(padding),
        "data_format": attr_text("NCHW" if first else "NHWC"),
    }
    if not depthwise:
        case.attrs["explicit_paddings"] = attr_text(explicit)


def _conv_windows(case: Case, sizes: tuple[int, ...]) -> list[Window]:
    values = case.values
    strides, dilations, pads = values["strides"], values["dilations"], values["pads"]
    refuse_unless(are_32_bit(strides), "strides")
    refuse_unless(are_32_bit(dilations), "dilations")
    refuse_unless(strides[0] == strides[3] == 1, "strides")
    refuse_unless(dilations[0] == dilations[3] == 1, "dilations")
    if values["padding"] == "EXPLICIT":
        refuse_unless(min(pads) >= 0 and max(pads) < 2**31, "explicit_paddings")
        refuse_unless(max(*pads[:2], *pads[6:]) == 0, "explicit_paddings")
    return [
        Window(
            sizes[i],
            strides[i + 1],
            dilations[i + 1],
            values["padding"],
            (pads[2 * i + 2], pads[2 * i + 3]) if values["padding"] == "EXPLICIT" else (0, 0),
        )
        for i in (0, 1)
    ]


def _conv_places(case: Case, image: tuple[int, ...], filters: tuple[int, ...]) -> Any:
    refuse_unless(len(image) == 4, "input")
    refuse_unless(len(filters) == 4, "filter")
    if _is_depthwise(case.op):
        refuse_unless(image[3] == filters[2], "filter")
        refuse_unless(case.values["strides"][1] == case.values["strides"][2], "strides")
        filters = _of_one_channel(filters)
    windows = _conv_windows(case, filters)
    # With filters of no channels the reference implementation divides by zero; it says so.
    refuse_unless(image[3] > 0 and filters[2] > 0 and image[3] % filters[2] == 0, "filter")
    refuse_unless(filters[3] % (image[3] // filters[2]) == 0, "filter")
    return [w.places(image[i + 1], "filter") for i, w in enumerate(windows)]


def _make_conv(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    case = Case(op.name, [], {"T": type_attr(dtype)})
    groups = source.integer(2, 3) if source.chance(0.25) else 1
    channels, results = source.size(4), groups * source.size(4)
    image = image_sizes(source, groups * channels)
    filters = [*drawn_pair(source, 0 if source.chance(0.05) else 1, 4), channels, results]
    if _is_depthwise(op.name):
        image[3] = channels
        results *= channels
        filters[3] = results // max(channels, 1)
    _convolution_attrs(source, case)
    first = case.values["first"]
    try:
        rows, columns = _conv_places(case, tuple(image), tuple(filters))
        pooled = [image[0], len(rows), len(columns), results]
    except Exception:
        pooled = [image[0], 1, 1, results]
    if source.chance(0.07):
        source.pick((image, filters, pooled))[source.integer(0, 3)] += 1
    given = {
        "image": laid_sizes(image, first),
        "filters": filters,
        "pooled": laid_sizes(pooled, first),
    }
    case.values["image"] = image
    case.values["filters"] = filters
    drawn = {name: Input(dtype, moderate(source, dtype, shape)) for name, shape in given.items()}
    shapes = {name: Input("int32", np.array(shape, np.int32)) for name, shape in given.items()}
    if not op.name.endswith(("BackpropInput", "BackpropFilter")):
        case.inputs = [drawn["image"], drawn["filters"]]
    elif op.name.endswith("BackpropInput"):
        case.inputs = [shapes["image"], drawn["filters"], drawn["pooled"]]
    else:
        case.inputs = [drawn["image"], shapes["filters"], drawn["pooled"]]
    return case


def _groups(array: Array, groups: int, depth: int) -> list[tuple[Any, Any]]:
    """Each group's channels and results, of arrays whose last dimension has all results."""
    share = array.shape[3] // groups
    return [
        (slice(g * depth, (g + 1) * depth), slice(g * share, (g + 1) * share))
        for g in range(groups)
    ]


def _over_all_channels(filters: Array, channels: int) -> Array:
    """Filters of groups as those of one, with zeros where a channel is of another group."""
    depth = filters.shape[2]
    whole = np.zeros([*filters.shape[:2], channels, filters.shape[3]], filters.dtype)
    for own, results in _groups(filters, channels // depth, depth):
        whole[:, :, own, results] = filters[:, :, :, results]
    return whole


def _of_groups(whole: Array, depth: int) -> Array:
    """What _over_all_channels was given."""
    groups = _groups(whole, whole.shape[2] // depth, depth)
    return np.concatenate([whole[:, :, own, results] for own, results in groups], axis=3)


def _grouped(case: Case, filters: Array) -> Array:
    return filters.reshape(_of_one_channel(filters.shape)) if _is_depthwise(case.op) else filters


def _conv(case: Case) -> Outcome:
    first, dtype = case.values["first"], case.inputs[-1].dtype
    if not case.op.endswith(("BackpropInput", "BackpropFilter")):
        image = unlaid(longer(numbers(case, 0)), first)
        filters = longer(numbers(case, 1))
        rows, columns = _conv_places(case, image.shape, filters.shape)
        filters = _over_all_channels(_grouped(case, filters), image.shape[3])
        shape = (image.shape[0], len(rows), len(columns), filters.shape[3])
        value, scale = np.zeros(shape), np.zeros(shape)
        for (i, j), (k, y), (m, x) in _taps(rows, columns):
            value[:, i, j] += image[:, y, x] @ filters[k, m]
            scale[:, i, j] += np.abs(image[:, y, x]) @ np.abs(filters[k, m])
        count = filters.size + 4
        return [summed(laid(value, first), laid(scale, first), count, dtype)]
    gradient = unlaid(longer(numbers(case, 2)), first)
    image_shape, filter_shape = tuple(case.values["image"]), tuple(case.values["filters"])
    rows, columns = _conv_places(case, image_shape, filter_shape)
    if _is_depthwise(case.op):
        filter_shape = _of_one_channel(filter_shape)
    wanted = (image_shape[0], len(rows), len(columns), filter_shape[3])
    refuse_unless(gradient.shape == wanted, "out_backprop")
    if case.op.endswith("BackpropInput"):
        filters = _over_all_channels(_grouped(case, longer(numbers(case, 1))), image_shape[3])
        value, scale = np.zeros(image_shape), np.zeros(image_shape)
        for (i, j), (k, y), (m, x) in _taps(rows, columns):
            value[:, y, x] += gradient[:, i, j] @ filters[k, m].T
            scale[:, y, x] += np.abs(gradient[:, i, j]) @ np.abs(filters[k, m].T)
        count = filters.size + 4
        return [summed(laid(value, first), laid(scale, first), count, dtype)]
    image = unlaid(longer(numbers(case, 0)), first)
    whole = (*filter_shape[:2], image_shape[3], filter_shape[3])
    value, scale = np.zeros(whole), np.zeros(whole)
    for (i, j), (k, y), (m, x) in _taps(rows, columns):
        value[k, m] += image[:, y, x].T @ gradient[:, i, j]
        scale[k, m] += np.abs(image[:, y, x]).T @ np.abs(gradient[:, i, j])
    depth = filter_shape[2]
    own = tuple(case.values["filters"])
    value, scale = _of_groups(value, depth).reshape(own), _of_groups(scale, depth).reshape(own)
    return [summed(value, scale, gradient.size + 4, dtype)]


def _taps(rows: Any, columns: Any) -> Any:
    """All (result, place in the window and the image by row, the same by column)."""
    for i, j in itertools.product(range(len(rows)), range(len(columns))):
        for row, column in itertools.product(rows[i], columns[j]):
            yield (i, j), row, column


_X, _W = spread("x", 2, 5, 4, 2), spread("w", 3, 2, 2, 3)
_STEPS: list[dict[str, Any]] = [
    {"strides": [1, 1, 1, 1], "padding": "SAME"},
    {"strides": [1, 2, 1, 1], "padding": "VALID"},
    {"strides": [1, 2, 2, 1], "padding": "SAME"},
]
_DEPTHWISE_STEPS: list[dict[str, Any]] = [
    {"strides": [1, 1, 1, 1], "padding": "SAME"},
    {"strides": [1, 2, 2, 1], "padding": "VALID"},
    {"strides": [1, 1, 1, 1], "padding": "SAME", "dilations": [1, 2, 1, 1]},
]


def _convolution_checks(op: str) -> list[Check]:
    steps = _DEPTHWISE_STEPS if _is_depthwise(op) else _STEPS
    return [_convolution_check(op, attrs) for attrs in steps]


def _convolution_check(op: str, attrs: dict[str, Any]) -> Check:
    name = "depthwise_conv2d_native" if _is_depthwise(op) else "conv2d"
    forward = with_arguments(getattr(gen_ops, name), **attrs)
    dy = spread("dy", *shape_of(forward, _X, _W))
    of_input = getattr(gen_ops, f"{name}_backprop_input")
    of_filter = getattr(gen_ops, f"{name}_backprop_filter")
    if op.endswith("BackpropInput"):
        return Check(lambda w, dy: of_input(_X.shape, w, dy, **attrs), (_W, dy))
    if op.endswith("BackpropFilter"):
        return Check(lambda x, dy: of_filter(x, _W.shape, dy, **attrs), (_X, dy))
    return Check(forward, (_X, _W))


_IMAGES = (
    (32, 28, 28, 1, 5, 16),
    (16, 14, 14, 16, 5, 32),
    (4, 12, 12, 64, 3, 64),
    (2, 9, 9, 8, 1, 32),
)


def _large_convolutions(values: Values) -> Any:
    found = []
    for count, height, width, depth, side, filters in _IMAGES:
        image = values.of(count, height, width, depth)
        kernel = values.of(side, side, depth, filters)
        for stride, padding in ((1, "SAME"), (2, "VALID")):
            strides = [1, stride, stride, 1]
            output = tf.nn.conv2d(image, kernel, strides, padding)
            gradient = values.of(*sizes_of(output))
            found += [output, *tf.gradients(output, [image, kernel], gradient)]
    return found


define_tests(
    ["Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"],
    cases=_make_conv,
    reference=_conv,
    gradient=_convolution_checks,
    determinism=LargeCase(_large_convolutions, FLOAT32_AND_64),
)


_DEPTHWISE = ((8, 20, 24, 40, 3, 1), (3, 17, 15, 7, 5, 3), (1, 40, 40, 64, 3, 1))


def _large_depthwise(values: Values) -> Any:
    found = []
    for count, height, width, depth, side, multiplier in _DEPTHWISE:
        image = values.of(count, height, width, depth)
        kernel = values.of(side, side, depth, multiplier)
        for stride, padding in ((1, "SAME"), (2, "VALID")):
            strides = [1, stride, stride, 1]
            output = gen_ops.depthwise_conv2d_native(image, kernel, strides, padding)
            gradient = values.of(*sizes_of(output))
            found += [output, *tf.gradients(output, [image, kernel], gradient)]
    return found


define_tests(
    [
        "DepthwiseConv2dNative",
        "DepthwiseConv2dNativeBackpropInput",
        "DepthwiseConv2dNativeBackpropFilter",
    ],
    cases=_make_conv,
    reference=_conv,
    gradient=_convolution_checks,
    determinism=LargeCase(_large_depthwise, FLOAT32_AND_64),
)
