"""Pooling and its gradients."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import FLOAT32_AND_64, LargeCase, Values, sizes_of
from testing.ops.support.gradient import Check, shape_of, spread, with_arguments
from testing.ops.support.reference import (
    Near,
    Outcome,
    Reference,
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


def _kind(case: Case) -> str:
    """The op whose windows are attributes."""
    return case.op.removesuffix("V2")


def _with_window_inputs(case: Case) -> Case:
    """The case with its windows as inputs, where the op has them as that."""
    if case.op.endswith("V2"):
        for name, key in (("ksize", "sizes"), ("strides", "strides")):
            del case.attrs[name]
            windows = laid_sizes(case.values[key], case.values["first"])
            case.inputs.append(Input("int32", np.array(windows, np.int32)))
    return case


def _make_pool(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    first = source.chance(0.35)
    padding = source.pick(("SAME", "VALID"))
    image = image_sizes(source, source.size(4))
    sizes, strides = [1, *drawn_pair(source, 1, 4), 1], [1, *drawn_pair(source, 1, 3), 1]
    if source.chance(0.15):
        sizes[1:3] = strides[1:3] = [1, 1]
        sizes[3] = strides[3] = source.integer(1, 3)
        image[3] = sizes[3] * source.integer(0, 2)
    if source.chance(0.1):
        edges = (0, -1, 2**31 - 1) if op.name.endswith("V2") else EDGES
        source.pick((sizes, strides))[source.integer(0, 3)] = source.pick(edges)
    case = Case(op.name, [], {"T": type_attr(dtype)})
    case.values = {"first": first, "padding": padding, "sizes": sizes, "strides": strides}
    case.values["image"] = image
    case.attrs |= {
        "ksize": attr_text(laid_sizes(sizes, first)),
        "strides": attr_text(laid_sizes(strides, first)),
        "padding": attr_text(padding),
        "data_format": attr_text("NCHW" if first else "NHWC"),
    }
    try:
        pooled = [image[0], *(len(places) for places in _pool_places(case, tuple(image)))]
    except Exception:
        pooled = [image[0], 1, 1, 1]
    x = Input(dtype, moderate(source, dtype, laid_sizes(image, first)))
    if source.chance(0.07):
        pooled[source.integer(0, 3)] += 1
    gradient = Input(dtype, moderate(source, dtype, laid_sizes(pooled, first)))
    kind = _kind(case)
    if kind in ("MaxPool", "AvgPool"):
        case.inputs = [x]
    elif kind == "AvgPoolGrad":
        shape = np.array(laid_sizes(image, first), np.int32)
        case.inputs = [Input("int32", shape), gradient]
    else:
        case.inputs = [x, _true_output(case, x, pooled), gradient]
        if kind == "MaxPoolGradGrad":
            case.inputs[2] = Input(dtype, moderate(source, dtype, laid_sizes(image, first)))
    return _with_window_inputs(case)


def _true_output(case: Case, x: Input, pooled: list[int]) -> Input:
    """What MaxPool gives, or zeros where it gives nothing."""
    of_pool = Case("MaxPool", [x], values=case.values)
    try:
        result = _max_pool(of_pool)[0]
        value = result.value if isinstance(result, Near) else result
    except Exception:
        shape = laid_sizes(pooled, case.values["first"])
        return Input(x.dtype, np.zeros(shape, number_types.stored_type(x.dtype)))
    return Input(x.dtype, number_types.from_numbers(value, x.dtype))


def _pool_places(case: Case, image: tuple[int, ...]) -> Any:
    sizes, strides = case.values["sizes"], case.values["strides"]
    refuse_unless(are_32_bit(sizes), "ksize")
    refuse_unless(are_32_bit(strides), "strides")
    # Channels are pooled where they are last, and without gradients.
    over_channels = _kind(case) == "MaxPool" and not case.values["first"]
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
    image = unlaid(x, first)
    pooled = np.zeros(_pooled_shape(case, image.shape), x.dtype)
    for (i, j, c), inside in _windows(case, image.shape):
        block = image[np.ix_(range(len(image)), *inside)]
        pooled[:, i, j, c] = block.reshape(len(image), -1).max(1)
    result = laid(pooled, first)
    return [result if x.dtype.kind in "iu" else Near(result, 0.0)]


def _avg_pool(case: Case) -> Outcome:
    x, first, dtype = longer(numbers(case, 0)), case.values["first"], case.inputs[0].dtype
    image = unlaid(x, first)
    value = np.zeros(_pooled_shape(case, image.shape))
    scale = np.zeros(value.shape)
    for (i, j, c), inside in _windows(case, image.shape):
        block = image[np.ix_(range(len(image)), *inside)].reshape(len(image), -1)
        value[:, i, j, c] = block.mean(1)
        scale[:, i, j, c] = np.abs(block).mean(1)
    return [summed(laid(value, first), laid(scale, first), 20, dtype)]


def _avg_pool_grad(case: Case) -> Outcome:
    shape, first = tuple(case.values["image"]), case.values["first"]
    gradient, dtype = unlaid(longer(numbers(case, 1)), first), case.inputs[1].dtype
    refuse_unless(gradient.shape == _pooled_shape(case, shape), "grad")
    value, scale = np.zeros(shape), np.zeros(shape)
    for (i, j, c), inside in _windows(case, shape):
        count = len(inside[0]) * len(inside[1])
        for y, x in itertools.product(*inside[:2]):
            value[:, y, x, c] += gradient[:, i, j, c] / count
            scale[:, y, x, c] += np.abs(gradient[:, i, j, c]) / count
    return [summed(laid(value, first), laid(scale, first), 20, dtype)]


def _max_pool_gradients(case: Case) -> Outcome:
    """Each window's gradient goes to, or comes from, its first largest element."""
    first, dtype = case.values["first"], case.inputs[0].dtype
    image = unlaid(numbers(case, 0), first)
    gradient = unlaid(numbers(case, 2), first)
    shape = _pooled_shape(case, image.shape)
    refuse_unless(unlaid(case.array(1), first).shape == shape, "orig_output")
    goes_back = _kind(case) == "MaxPoolGrad"
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
        return [laid(value, first)]
    return [summed(laid(value, first), laid(scale, first), 20, dtype)]


_X = spread("x", 2, 5, 4, 2)


def _pool_checks(op: str) -> list[Check]:
    return [_pool_check(op, padding) for padding in ("SAME", "VALID")]


def _pool_check(op: str, padding: str) -> Check:
    attrs = {"ksize": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "padding": padding}
    if op in ("MaxPool", "MaxPoolV2", "AvgPool"):
        return Check(with_arguments(function_of(op), **attrs), (_X,))
    pooled = spread("pooled", *shape_of(with_arguments(gen_ops.avg_pool, **attrs), _X))
    if op == "AvgPoolGrad":
        return Check(lambda dy: gen_ops.avg_pool_grad(_X.shape, dy, **attrs), (pooled,))

    def of_last(last: Any) -> Any:
        x = tf.constant(_X)
        return function_of(op)(x, gen_ops.max_pool(x, **attrs), last, **attrs)

    last = pooled if op in ("MaxPoolGrad", "MaxPoolGradV2") else spread("image", *_X.shape)
    return Check(of_last, (last,))


def _large_pools(values: Values) -> Any:
    image = values.of(16, 28, 28, 24)
    found = []
    for pool in (tf.nn.max_pool, tf.nn.avg_pool):
        for side, stride in ((2, 2), (3, 1)):
            output = pool(image, [1, side, side, 1], [1, stride, stride, 1], "SAME")
            found += [output, tf.gradients(output, image, values.of(*sizes_of(output)))[0]]
    return found


def _large_second_gradient(values: Values) -> Any:
    image = values.of(16, 28, 28, 24)
    pooled = tf.nn.max_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    return gen_ops.max_pool_grad_grad(
        image, pooled, values.of(16, 28, 28, 24), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"
    )


_LARGE_POOLS = LargeCase(_large_pools, FLOAT32_AND_64)


def _large_window_inputs(values: Values) -> Any:
    image = values.of(16, 28, 28, 24)
    windows = ([1, 3, 3, 1], [1, 2, 2, 1])
    pooled = gen_ops.max_pool_v2(image, *windows, "SAME")
    gradient = gen_ops.max_pool_grad_v2(
        image, pooled, values.of(*sizes_of(pooled)), *windows, "SAME"
    )
    return [
        pooled,
        gradient,
        gen_ops.max_pool_grad_grad_v2(image, pooled, values.of(16, 28, 28, 24), *windows, "SAME"),
    ]


_LARGE_WINDOW_INPUTS = LargeCase(_large_window_inputs, FLOAT32_AND_64)


def _define_pool(op: str, reference: Reference, large: LargeCase = _LARGE_POOLS) -> None:
    define_tests(
        op, cases=_make_pool, reference=reference, gradient=_pool_checks, determinism=large
    )


_define_pool("MaxPool", _max_pool)
_define_pool("AvgPool", _avg_pool)
_define_pool("AvgPoolGrad", _avg_pool_grad)
_define_pool("MaxPoolGrad", _max_pool_gradients)
_define_pool(
    "MaxPoolGradGrad", _max_pool_gradients, LargeCase(_large_second_gradient, FLOAT32_AND_64)
)
_define_pool("MaxPoolV2", _max_pool, _LARGE_WINDOW_INPUTS)
_define_pool("MaxPoolGradV2", _max_pool_gradients, _LARGE_WINDOW_INPUTS)
_define_pool("MaxPoolGradGradV2", _max_pool_gradients, _LARGE_WINDOW_INPUTS)
