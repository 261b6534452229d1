"""Convolutions and pooling."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from testing.properties import number_types
from testing.properties.case import Case, Input, attr_text
from testing.properties.families.rows import summed
from testing.properties.number_types import Array
from testing.properties.reference import (
    Near,
    Outcome,
    longer,
    numbers,
    pick_type,
    refer,
    refuse_unless,
    type_attr,
)
from testing.properties.source import Source

# ---- Windows over images ----


@dataclass
class Window:
    """A window along one dimension. `pads` are before and after, for explicit padding."""

    size: int
    stride: int
    dilation: int = 1
    padding: str = "VALID"
    pads: tuple[int, int] = (0, 0)

    def places(self, whole: int, argument: str) -> list[list[tuple[int, int]]]:
        """For each result, the (place in the window, place in the image) pairs inside of it."""
        refuse_unless(self.size > 0, argument)
        length = (self.size - 1) * self.dilation + 1
        before, after = self.pads
        if self.padding == "SAME":
            count = -(-whole // self.stride)
            before = max((count - 1) * self.stride + length - whole, 0) // 2
        else:
            refuse_unless(length - whole - before - after <= self.stride, argument)
            count = (whole + before + after - length + self.stride) // self.stride
        refuse_unless(count < 10**6, argument)
        found = []
        for i in range(count):
            start = i * self.stride - before
            pairs = [(k, start + k * self.dilation) for k in range(self.size)]
            found.append([pair for pair in pairs if 0 <= pair[1] < whole])
        return found


_EDGES = (0, -1, 2**31, 2**62, 2**63 - 1)


def _are_32_bit(values: list[int]) -> bool:
    """What libraries take as sizes and steps."""
    return all(1 <= value < 2**31 for value in values)


def _image(source: Source, channels: int) -> list[int]:
    return [source.size(3), source.size(7), source.size(7), channels]


def _pair(source: Source, low: int, high: int) -> list[int]:
    return [source.integer(low, high), source.integer(low, high)]


def _layout(values: list[int], first: bool) -> list[int]:
    """From the order NHWC to that of the case."""
    return [values[i] for i in (0, 3, 1, 2)] if first else values


def _unlaid(x: Array, first: bool) -> Array:
    return x.transpose(0, 2, 3, 1) if first else x


def _laid(x: Array, first: bool) -> Array:
    return x.transpose(0, 3, 1, 2) if first else x


def _convolution_attrs(source: Source, case: Case) -> None:
    first = source.chance(0.35)
    padding = source.pick(("SAME", "VALID", "EXPLICIT"))
    strides = [1, *_pair(source, 1, 3), 1]
    dilations = [1, *(_pair(source, 1, 3) if source.chance(0.3) else [1, 1]), 1]
    pads = [0] * 8
    if padding == "EXPLICIT":
        pads[2:6] = [source.integer(0, 3) for _ in range(4)]
    if source.chance(0.12):
        values = source.pick((strides, dilations, pads))
        values[source.integer(0, len(values) - 1)] = source.pick(_EDGES)
    case.values |= {"first": first, "padding": padding, "strides": strides}
    case.values |= {"dilations": dilations, "pads": pads}
    pairs = [pads[2 * i : 2 * i + 2] for i in range(4)]
    pairs = [pairs[i] for i in (0, 3, 1, 2)] if first else pairs
    explicit = [pad for pair in pairs for pad in pair] if padding == "EXPLICIT" else []
    case.attrs |= {
        "strides": attr_text(_layout(strides, first)),
        "dilations": attr_text(_layout(dilations, first)),
        "padding": attr_text(padding),
        "explicit_paddings": attr_text(explicit),
        "data_format": attr_text("NCHW" if first else "NHWC"),
    }


def _conv_windows(case: Case, sizes: tuple[int, ...]) -> list[Window]:
    values = case.values
    strides, dilations, pads = values["strides"], values["dilations"], values["pads"]
    refuse_unless(_are_32_bit(strides), "strides")
    refuse_unless(_are_32_bit(dilations), "dilations")
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
    image = _image(source, groups * channels)
    filters = [*_pair(source, 0 if source.chance(0.05) else 1, 4), channels, results]
    _convolution_attrs(source, case)
    first = case.values["first"]
    try:
        rows, columns = _conv_places(case, tuple(image), tuple(filters))
        pooled = [image[0], len(rows), len(columns), results]
    except Exception:
        pooled = [image[0], 1, 1, results]
    if source.chance(0.07):
        source.pick((image, filters, pooled))[source.integer(0, 3)] += 1
    given = {"image": _layout(image, first), "filters": filters, "pooled": _layout(pooled, first)}
    case.values["image"] = image
    case.values["filters"] = filters
    drawn = {name: Input(dtype, _moderate(source, dtype, shape)) for name, shape in given.items()}
    shapes = {name: Input("int32", np.array(shape, np.int32)) for name, shape in given.items()}
    if op.name == "Conv2D":
        case.inputs = [drawn["image"], drawn["filters"]]
    elif op.name == "Conv2DBackpropInput":
        case.inputs = [shapes["image"], drawn["filters"], drawn["pooled"]]
    else:
        case.inputs = [drawn["image"], shapes["filters"], drawn["pooled"]]
    return case


def _moderate(source: Source, dtype: str, shape: list[int]) -> Array:
    """Values whose sums of products neither overflow nor are no numbers."""
    style = source.pick(("small", "plain")) if number_types.is_inexact(dtype) else ""
    return source.values(dtype, shape, style)


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


def _conv(case: Case) -> Outcome:
    first, dtype = case.values["first"], case.inputs[-1].dtype
    if case.op == "Conv2D":
        image = _unlaid(longer(numbers(case, 0)), first)
        filters = longer(numbers(case, 1))
        rows, columns = _conv_places(case, image.shape, filters.shape)
        filters = _over_all_channels(filters, image.shape[3])
        shape = (image.shape[0], len(rows), len(columns), filters.shape[3])
        value, scale = np.zeros(shape), np.zeros(shape)
        for (i, j), (k, y), (m, x) in _taps(rows, columns):
            value[:, i, j] += image[:, y, x] @ filters[k, m]
            scale[:, i, j] += np.abs(image[:, y, x]) @ np.abs(filters[k, m])
        count = filters.size + 4
        return [summed(_laid(value, first), _laid(scale, first), count, dtype)]
    gradient = _unlaid(longer(numbers(case, 2)), first)
    image_shape, filter_shape = tuple(case.values["image"]), tuple(case.values["filters"])
    rows, columns = _conv_places(case, image_shape, filter_shape)
    wanted = (image_shape[0], len(rows), len(columns), filter_shape[3])
    refuse_unless(gradient.shape == wanted, "out_backprop")
    if case.op == "Conv2DBackpropInput":
        filters = _over_all_channels(longer(numbers(case, 1)), image_shape[3])
        value, scale = np.zeros(image_shape), np.zeros(image_shape)
        for (i, j), (k, y), (m, x) in _taps(rows, columns):
            value[:, y, x] += gradient[:, i, j] @ filters[k, m].T
            scale[:, y, x] += np.abs(gradient[:, i, j]) @ np.abs(filters[k, m].T)
        count = filters.size + 4
        return [summed(_laid(value, first), _laid(scale, first), count, dtype)]
    image = _unlaid(longer(numbers(case, 0)), first)
    whole = (*filter_shape[:2], image_shape[3], filter_shape[3])
    value, scale = np.zeros(whole), np.zeros(whole)
    for (i, j), (k, y), (m, x) in _taps(rows, columns):
        value[k, m] += image[:, y, x].T @ gradient[:, i, j]
        scale[k, m] += np.abs(image[:, y, x]).T @ np.abs(gradient[:, i, j])
    depth = filter_shape[2]
    value, scale = _of_groups(value, depth), _of_groups(scale, depth)
    return [summed(value, scale, gradient.size + 4, dtype)]


def _taps(rows: Any, columns: Any) -> Any:
    """All (result, place in the window and the image by row, the same by column)."""
    for i, j in itertools.product(range(len(rows)), range(len(columns))):
        for row, column in itertools.product(rows[i], columns[j]):
            yield (i, j), row, column


refer(["Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"], _make_conv, _conv)


# ---- Pooling ----


def _make_pool(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    first = source.chance(0.35)
    padding = source.pick(("SAME", "VALID"))
    image = _image(source, source.size(4))
    sizes, strides = [1, *_pair(source, 1, 4), 1], [1, *_pair(source, 1, 3), 1]
    if source.chance(0.15):
        sizes[1:3] = strides[1:3] = [1, 1]
        sizes[3] = strides[3] = source.integer(1, 3)
        image[3] = sizes[3] * source.integer(0, 2)
    if source.chance(0.1):
        source.pick((sizes, strides))[source.integer(0, 3)] = source.pick(_EDGES)
    case = Case(op.name, [], {"T": type_attr(dtype)})
    case.values = {"first": first, "padding": padding, "sizes": sizes, "strides": strides}
    case.values["image"] = image
    case.attrs |= {
        "ksize": attr_text(_layout(sizes, first)),
        "strides": attr_text(_layout(strides, first)),
        "padding": attr_text(padding),
        "data_format": attr_text("NCHW" if first else "NHWC"),
    }
    try:
        pooled = [image[0], *(len(places) for places in _pool_places(case, tuple(image)))]
    except Exception:
        pooled = [image[0], 1, 1, 1]
    x = Input(dtype, _moderate(source, dtype, _layout(image, first)))
    if source.chance(0.07):
        pooled[source.integer(0, 3)] += 1
    gradient = Input(dtype, _moderate(source, dtype, _layout(pooled, first)))
    if op.name in ("MaxPool", "AvgPool"):
        case.inputs = [x]
    elif op.name == "AvgPoolGrad":
        shape = np.array(_layout(image, first), np.int32)
        case.inputs = [Input("int32", shape), gradient]
    else:
        case.inputs = [x, _true_output(case, x, pooled), gradient]
        if op.name == "MaxPoolGradGrad":
            case.inputs[2] = Input(dtype, _moderate(source, dtype, _layout(image, first)))
    return case


def _true_output(case: Case, x: Input, pooled: list[int]) -> Input:
    """What MaxPool gives, or zeros where it gives nothing."""
    of_pool = Case("MaxPool", [x], values=case.values)
    try:
        result = _max_pool(of_pool)[0]
        value = result.value if isinstance(result, Near) else result
    except Exception:
        shape = _layout(pooled, case.values["first"])
        return Input(x.dtype, np.zeros(shape, number_types.stored_type(x.dtype)))
    return Input(x.dtype, number_types.from_numbers(value, x.dtype))


def _pool_places(case: Case, image: tuple[int, ...]) -> Any:
    sizes, strides = case.values["sizes"], case.values["strides"]
    refuse_unless(_are_32_bit(sizes), "ksize")
    refuse_unless(_are_32_bit(strides), "strides")
    # Channels are pooled where they are last, and without gradients.
    over_channels = case.op == "MaxPool" and not case.values["first"]
    refuse_unless(sizes[3] == 1 or over_channels, "ksize")
    refuse_unless(sizes[0] == strides[0] == 1, "ksize")
    refuse_unless(sizes[3] == strides[3], "strides")
    refuse_unless(sizes[3] == 1 or max(*sizes[1:3], *strides[1:3]) == 1, "ksize")
    refuse_unless(image[3] % sizes[3] == 0, "ksize")
    padding = case.values["padding"]
    places = []
    for i in (1, 2):
        places.append(_clipped(Window(sizes[i], strides[i], 1, padding), image[i]))
    channels = Window(sizes[3], sizes[3]).places(image[3], "ksize") if image[3] else []
    return [*places, channels]


def _clipped(window: Window, whole: int) -> list[list[tuple[int, int]]]:
    """The places, without going through those of a huge window outside of the image."""
    if window.size <= 100:
        return window.places(whole, "ksize")
    if window.padding == "SAME":
        count = -(-whole // window.stride)
        before = max((count - 1) * window.stride + window.size - whole, 0) // 2
        starts = [i * window.stride - before for i in range(count)]
        inside = [range(max(s, 0), min(s + window.size, whole)) for s in starts]
        return [[(0, place) for place in places] for places in inside]
    refuse_unless(window.size - whole <= window.stride, "ksize")
    return []


def _windows(case: Case, image: tuple[int, ...]) -> Any:
    """All (result's place, places in the image by dimension) but for the batch."""
    places = _pool_places(case, image)
    if 0 in image:
        return
    for result in itertools.product(*(range(len(one)) for one in places)):
        inside = [[at for _, at in places[d][i]] for d, i in enumerate(result)]
        yield result, inside


def _pooled_shape(case: Case, image: tuple[int, ...]) -> tuple[int, ...]:
    return (image[0], *(len(one) for one in _pool_places(case, image)))


def _max_pool(case: Case) -> Outcome:
    x, first = numbers(case, 0), case.values["first"]
    image = _unlaid(x, first)
    pooled = np.zeros(_pooled_shape(case, image.shape), x.dtype)
    for (i, j, c), inside in _windows(case, image.shape):
        block = image[np.ix_(range(len(image)), *inside)]
        pooled[:, i, j, c] = block.reshape(len(image), -1).max(1)
    result = _laid(pooled, first)
    return [result if x.dtype.kind in "iu" else Near(result, 0.0)]


def _avg_pool(case: Case) -> Outcome:
    x, first, dtype = longer(numbers(case, 0)), case.values["first"], case.inputs[0].dtype
    image = _unlaid(x, first)
    value = np.zeros(_pooled_shape(case, image.shape))
    scale = np.zeros(value.shape)
    for (i, j, c), inside in _windows(case, image.shape):
        block = image[np.ix_(range(len(image)), *inside)].reshape(len(image), -1)
        value[:, i, j, c] = block.mean(1)
        scale[:, i, j, c] = np.abs(block).mean(1)
    return [summed(_laid(value, first), _laid(scale, first), 20, dtype)]


def _avg_pool_grad(case: Case) -> Outcome:
    shape, first = tuple(case.values["image"]), case.values["first"]
    gradient, dtype = _unlaid(longer(numbers(case, 1)), first), case.inputs[1].dtype
    refuse_unless(gradient.shape == _pooled_shape(case, shape), "grad")
    value, scale = np.zeros(shape), np.zeros(shape)
    for (i, j, c), inside in _windows(case, shape):
        count = len(inside[0]) * len(inside[1])
        for y, x in itertools.product(*inside[:2]):
            value[:, y, x, c] += gradient[:, i, j, c] / count
            scale[:, y, x, c] += np.abs(gradient[:, i, j, c]) / count
    return [summed(_laid(value, first), _laid(scale, first), 20, dtype)]


def _max_pool_gradients(case: Case) -> Outcome:
    """Each window's gradient goes to, or comes from, its first largest element."""
    first, dtype = case.values["first"], case.inputs[0].dtype
    image = _unlaid(numbers(case, 0), first)
    gradient = _unlaid(numbers(case, 2), first)
    shape = _pooled_shape(case, image.shape)
    refuse_unless(_unlaid(case.array(1), first).shape == shape, "orig_output")
    goes_back = case.op == "MaxPoolGrad"
    refuse_unless(gradient.shape == (shape if goes_back else image.shape), "grad")
    inexact = number_types.is_inexact(dtype)
    wide = longer(gradient) if inexact else gradient
    value = np.zeros(image.shape if goes_back else shape, wide.dtype)
    scale = np.zeros(value.shape)
    for (i, j, c), inside in _windows(case, image.shape):
        places = list(itertools.product(*inside))
        for n in range(len(image)):
            block = [image[(n, *place)] for place in places]
            best = (n, *places[int(np.argmax(block))])
            if goes_back:
                value[best] += wide[n, i, j, c]
                scale[best] += abs(float(wide[n, i, j, c]))
            else:
                value[n, i, j, c] = wide[best]
    if not inexact:
        return [_laid(value, first)]
    return [summed(_laid(value, first), _laid(scale, first), 20, dtype)]


refer("MaxPool", _make_pool, _max_pool)
refer("AvgPool", _make_pool, _avg_pool)
refer("AvgPoolGrad", _make_pool, _avg_pool_grad)
refer(["MaxPoolGrad", "MaxPoolGradGrad"], _make_pool, _max_pool_gradients)
