"""Convolutions of volumes and their gradients."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import FLOAT32_AND_64, LargeCase, Values, sizes_of
from testing.ops.support.gradient import Check, shape_of, spread, with_arguments
from testing.ops.support.inputs import INDEX_TYPES
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
from testing.ops.support.windows import EDGES, Window, are_32_bit, moderate

_LAST, _FIRST = (0, 1, 2, 3, 4), (0, 4, 1, 2, 3)


def _laid(values: list[int], first: bool) -> list[int]:
    """Sizes with the channels last, in the order of the case."""
    return [values[i] for i in (_FIRST if first else _LAST)]


def _of_tensor(op: str) -> bool:
    """Whether tensors stand for their sizes, as in the first versions, whose channels are last."""
    return op in ("Conv3DBackpropInput", "Conv3DBackpropFilter")


def _volume_attrs(source: Source, case: Case) -> None:
    first = not _of_tensor(case.op) and source.chance(0.35)
    padding = source.pick(("SAME", "VALID"))
    strides = [1, *(source.integer(1, 3) for _ in range(3)), 1]
    dilations = [1, 1, 1, 1, 1]
    if source.chance(0.3):
        dilations[1:4] = [source.integer(1, 3) for _ in range(3)]
    if source.chance(0.12):
        source.pick((strides, dilations))[source.integer(0, 4)] = source.pick(EDGES)
    case.values |= {"first": first, "padding": padding, "strides": strides}
    case.values["dilations"] = dilations
    case.attrs |= {
        "strides": attr_text(_laid(strides, first)),
        "dilations": attr_text(_laid(dilations, first)),
        "padding": attr_text(padding),
    }
    if not _of_tensor(case.op):
        case.attrs["data_format"] = attr_text("NCDHW" if first else "NDHWC")


def _places(case: Case, volume: tuple[int, ...], filters: tuple[int, ...]) -> list[Any]:
    refuse_unless(len(volume) == 5, "input")
    refuse_unless(len(filters) == 5, "filter")
    strides, dilations = case.values["strides"], case.values["dilations"]
    for name, steps in (("strides", strides), ("dilations", dilations)):
        refuse_unless(are_32_bit(steps) and steps[0] == steps[4] == 1, name)
    refuse_unless(volume[4] > 0 and filters[3] > 0 and volume[4] % filters[3] == 0, "filter")
    refuse_unless(filters[4] % (volume[4] // filters[3]) == 0, "filter")
    padding = case.values["padding"]
    windows = [Window(filters[i], strides[i + 1], dilations[i + 1], padding) for i in range(3)]
    return [window.places(volume[i + 1], "filter") for i, window in enumerate(windows)]


def _make_conv(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    case = Case(op.name, [], {"T": type_attr(dtype)})
    groups = 2 if source.chance(0.15) else 1
    channels, results = source.size(3), groups * source.size(3)
    volume = [source.size(2), *(source.size(4) for _ in range(3)), groups * channels]
    low = 0 if source.chance(0.05) else 1
    filters = [*(source.integer(low, 3) for _ in range(3)), channels, results]
    _volume_attrs(source, case)
    first = case.values["first"]
    try:
        places = _places(case, tuple(volume), tuple(filters))
        output = [volume[0], *(len(place) for place in places), results]
    except Exception:
        output = [volume[0], 1, 1, 1, results]
    if source.chance(0.07):
        source.pick((volume, filters, output))[source.integer(0, 4)] += 1
    given = {"volume": _laid(volume, first), "filters": filters, "output": _laid(output, first)}
    case.values |= {"volume": volume, "filters": filters}
    drawn = {name: Input(dtype, moderate(source, dtype, shape)) for name, shape in given.items()}
    sizes = dict(drawn)
    if not _of_tensor(op.name):
        of_input = op.name.startswith("Conv3DBackpropInput")
        index = source.pick(INDEX_TYPES) if of_input else "int32"
        sizes = {name: Input(index, np.array(shape, index)) for name, shape in given.items()}
        if of_input:
            case.attrs["Tshape"] = type_attr(index)
    if op.name == "Conv3D":
        case.inputs = [drawn["volume"], drawn["filters"]]
    elif op.name.startswith("Conv3DBackpropInput"):
        case.inputs = [sizes["volume"], drawn["filters"], drawn["output"]]
    else:
        case.inputs = [drawn["volume"], sizes["filters"], drawn["output"]]
    return case


def _unlaid(x: Array, first: bool) -> Array:
    return x.transpose(0, 2, 3, 4, 1) if first else x


def _laid_array(x: Array, first: bool) -> Array:
    return x.transpose(*_FIRST) if first else x


def _taps(places: list[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """All (place of the result, place in the window, place in the volume)."""
    for result in itertools.product(*(range(len(place)) for place in places)):
        pairs = [places[i][at] for i, at in enumerate(result)]
        for taken in itertools.product(*pairs):
            yield result, tuple(k for k, _ in taken), tuple(at for _, at in taken)


def _over_all_channels(filters: Array, channels: int) -> Array:
    """Filters of groups as those of one, with zeros where a channel is of another group."""
    depth, results = filters.shape[3:]
    groups = channels // depth
    share = results // groups
    whole = np.zeros([*filters.shape[:3], channels, results], filters.dtype)
    for g in range(groups):
        own, to = slice(g * depth, (g + 1) * depth), slice(g * share, (g + 1) * share)
        whole[:, :, :, own, to] = filters[..., to]
    return whole


def _of_groups(whole: Array, depth: int) -> Array:
    """What _over_all_channels was given."""
    groups = whole.shape[3] // depth
    share = whole.shape[4] // groups
    parts = [
        whole[:, :, :, g * depth : (g + 1) * depth, g * share : (g + 1) * share]
        for g in range(groups)
    ]
    return np.concatenate(parts, axis=4)


def _conv(case: Case) -> Outcome:
    first, dtype = case.values["first"], case.inputs[-1].dtype
    if case.op == "Conv3D":
        volume, filters = _unlaid(longer(numbers(case, 0)), first), longer(numbers(case, 1))
        places = _places(case, volume.shape, filters.shape)
        whole = _over_all_channels(filters, volume.shape[4])
        shape = (volume.shape[0], *(len(place) for place in places), filters.shape[4])
        value, scale = np.zeros(shape), np.zeros(shape)
        for o, k, i in _taps(places):
            value[(slice(None), *o)] += volume[(slice(None), *i)] @ whole[k]
            scale[(slice(None), *o)] += np.abs(volume[(slice(None), *i)]) @ np.abs(whole[k])
        laid = _laid_array(value, first), _laid_array(scale, first)
        return [summed(*laid, whole.size + 4, dtype)]
    gradient = _unlaid(longer(numbers(case, 2)), first)
    volume_shape, filter_shape = tuple(case.values["volume"]), tuple(case.values["filters"])
    places = _places(case, volume_shape, filter_shape)
    wanted = (volume_shape[0], *(len(place) for place in places), filter_shape[4])
    refuse_unless(gradient.shape == wanted, "out_backprop")
    if case.op.startswith("Conv3DBackpropInput"):
        whole = _over_all_channels(longer(numbers(case, 1)), volume_shape[4])
        value, scale = np.zeros(volume_shape), np.zeros(volume_shape)
        for o, k, i in _taps(places):
            value[(slice(None), *i)] += gradient[(slice(None), *o)] @ whole[k].T
            scale[(slice(None), *i)] += np.abs(gradient[(slice(None), *o)]) @ np.abs(whole[k].T)
        laid = _laid_array(value, first), _laid_array(scale, first)
        return [summed(*laid, whole.size + 4, dtype)]
    volume = _unlaid(longer(numbers(case, 0)), first)
    shape = (*filter_shape[:3], volume_shape[4], filter_shape[4])
    value, scale = np.zeros(shape), np.zeros(shape)
    for o, k, i in _taps(places):
        value[k] += volume[(slice(None), *i)].T @ gradient[(slice(None), *o)]
        scale[k] += np.abs(volume[(slice(None), *i)]).T @ np.abs(gradient[(slice(None), *o)])
    depth = filter_shape[3]
    return [summed(_of_groups(value, depth), _of_groups(scale, depth), gradient.size + 4, dtype)]


_X, _W = spread("x", 1, 3, 4, 3, 2), spread("w", 2, 2, 2, 2, 2)
_STEPS: list[dict[str, Any]] = [
    {"strides": [1, 1, 1, 1, 1], "padding": "SAME"},
    {"strides": [1, 1, 2, 1, 1], "padding": "VALID"},
]


def _checks(op: str) -> list[Check]:
    return [_check(op, attrs) for attrs in _STEPS]


def _check(op: str, attrs: dict[str, Any]) -> Check:
    forward = with_arguments(gen_ops.conv3d, **attrs)
    if op == "Conv3D":
        return Check(forward, (_X, _W))
    dy = spread("dy", *shape_of(forward, _X, _W))
    if op == "Conv3DBackpropInputV2":
        return Check(
            lambda w, dy: gen_ops.conv3d_backprop_input_v2(
                np.array(_X.shape, np.int32), w, dy, **attrs
            ),
            (_W, dy),
        )
    return Check(
        lambda x, dy: gen_ops.conv3d_backprop_filter_v2(x, _W.shape, dy, **attrs), (_X, dy)
    )


_LARGE = (((4, 8, 14, 14, 8), (3, 3, 3, 8, 16)), ((2, 6, 9, 9, 8), (1, 1, 1, 8, 8)))


def _large_convolutions(values: Values) -> Any:
    found = []
    for volume, window in _LARGE:
        x, w = values.of(*volume), values.of(*window)
        for stride, padding in ((1, "SAME"), (2, "VALID")):
            steps = [1, stride, stride, stride, 1]
            output = gen_ops.conv3d(x, w, steps, padding)
            gradient = values.of(*sizes_of(output))
            found += [output, *tf.gradients(output, [x, w], gradient)]
    return found


def _large_of_tensors(values: Values) -> Any:
    x, w = values.of(4, 8, 14, 14, 8), values.of(3, 3, 3, 8, 16)
    gradient, steps = values.of(4, 8, 14, 14, 16), [1, 1, 1, 1, 1]
    return [
        gen_ops.conv3d_backprop_input(x, w, gradient, steps, "SAME"),
        gen_ops.conv3d_backprop_filter(x, w, gradient, steps, "SAME"),
    ]


define_tests(
    ["Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"],
    cases=_make_conv,
    reference=_conv,
    gradient=_checks,
    determinism=LargeCase(_large_convolutions, FLOAT32_AND_64),
)
define_tests(
    ["Conv3DBackpropInput", "Conv3DBackpropFilter"],
    cases=_make_conv,
    reference=_conv,
    determinism=LargeCase(_large_of_tensors, FLOAT32_AND_64),
)
