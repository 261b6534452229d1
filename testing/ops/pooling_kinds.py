"""Pooling of volumes, and by the places of the largest elements."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import FLOAT32, FLOAT32_AND_64, LargeCase, Values, sizes_of
from testing.ops.support.gradient import Check, shape_of, spread, with_arguments
from testing.ops.support.number_types import Array
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
from testing.ops.support.registry import NotTested, define_tests
from testing.ops.support.source import Source
from testing.ops.support.windows import Window, are_32_bit, moderate


def _order(rank: int, first: bool) -> list[int]:
    """Where the dimensions of the case's tensors are in tensors with the channels last."""
    return [0, rank - 1, *range(1, rank - 1)] if first else list(range(rank))


def _laid(x: Array, first: bool) -> Array:
    return x.transpose(_order(x.ndim, first))


def _unlaid(x: Array, first: bool) -> Array:
    return x.transpose(np.argsort(_order(x.ndim, first)))


def _make_windows(source: Source, op: Any, dims: int) -> Case:
    """A case of random windows over `dims` dimensions, with no inputs yet."""
    first = dims == 3 and source.chance(0.35)
    case = Case(op.name)
    sizes = [1, *(source.integer(1, 3) for _ in range(dims)), 1]
    strides = [1, *(source.integer(1, 3) for _ in range(dims)), 1]
    if source.chance(0.1):
        source.pick((sizes, strides))[source.integer(0, dims + 1)] = source.pick((0, -1, 2, 2**31))
    image = [source.size(2), *(source.size(5 if dims == 3 else 6) for _ in range(dims))]
    image.append(source.size(3))
    padding = source.pick(("SAME", "VALID"))
    case.values = {"first": first, "sizes": sizes, "strides": strides, "padding": padding}
    case.values["image"] = tuple(image)
    order = _order(dims + 2, first)
    case.attrs = {
        "ksize": attr_text([sizes[i] for i in order]),
        "strides": attr_text([strides[i] for i in order]),
        "padding": attr_text(padding),
    }
    if dims == 3:
        case.attrs["data_format"] = attr_text("NCDHW" if first else "NDHWC")
    return case


def _places(case: Case, image: tuple[int, ...]) -> list[list[list[int]]]:
    """For each dimension of space and each window, the places in the image."""
    sizes, strides = case.values["sizes"], case.values["strides"]
    refuse_unless(are_32_bit(sizes), "ksize")
    refuse_unless(are_32_bit(strides), "strides")
    refuse_unless(sizes[0] == sizes[-1] == 1, "ksize")
    refuse_unless(strides[0] == strides[-1] == 1, "strides")
    found = []
    for i in range(1, len(sizes) - 1):
        window = Window(sizes[i], strides[i], 1, case.values["padding"])
        found.append([[at for _, at in pairs] for pairs in window.places(image[i], "ksize")])
    return found


def _pooled_shape(case: Case, image: tuple[int, ...]) -> tuple[int, ...]:
    return (image[0], *(len(one) for one in _places(case, image)), image[-1])


def _windows(case: Case, image: tuple[int, ...]) -> Iterator[tuple[Any, list[Any]]]:
    """For each window of each image and channel, its place and those of its elements."""
    places = _places(case, image)
    for at in itertools.product(*(range(len(one)) for one in places)):
        inside = list(itertools.product(*(places[d][i] for d, i in enumerate(at))))
        for n, c in itertools.product(range(image[0]), range(image[-1])):
            yield (n, *at, c), [(n, *place, c) for place in inside]


def _largest(x: Array, elements: list[Any]) -> Any:
    """The place of the first largest of some elements."""
    return elements[int(np.argmax([x[place] for place in elements]))]


def _pooled_or_small(case: Case, image: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the output, or any other where there is none."""
    try:
        return _pooled_shape(case, image)
    except Exception:
        return tuple(min(size, 1) for size in image)


# ---- Volumes ----


def _make_volumes(source: Source, op: Any) -> Case:
    case = _make_windows(source, op, 3)
    dtype = pick_type(source, op, "T")
    case.attrs["T"] = type_attr(dtype)
    if op.name == "MaxPool3DGrad":
        case.attrs["TInput"] = type_attr(dtype)
    image, first = case.values["image"], case.values["first"]
    pooled = list(_pooled_or_small(case, image))
    if source.chance(0.07):
        pooled[source.integer(0, 4)] += 1

    def tensor(shape: Any) -> Input:
        laid = [list(shape)[i] for i in _order(5, first)]
        return Input(dtype, moderate(source, dtype, laid))

    x = tensor(image)
    if op.name in ("MaxPool3D", "AvgPool3D"):
        case.inputs = [x]
    elif op.name == "AvgPool3DGrad":
        sizes = [image[i] for i in _order(5, first)]
        case.inputs = [Input("int32", np.array(sizes, np.int32)), tensor(pooled)]
    else:
        of_image = op.name == "MaxPool3DGradGrad"
        case.inputs = [x, tensor(pooled), tensor(image if of_image else pooled)]
        _set_true_output(case)
    return case


def _set_true_output(case: Case) -> None:
    """Makes input 1 what the pooling gives for input 0, where it gives anything of its shape."""
    x = case.inputs[0]
    try:
        pooled = _max_pool(Case("MaxPool3D", [x], values=case.values))[0]
    except Exception:
        return
    value = pooled.value if isinstance(pooled, Near) else pooled
    if value.shape == case.array(1).shape:
        case.inputs[1] = Input(x.dtype, number_types.from_numbers(value, x.dtype))


def _max_pool(case: Case) -> Outcome:
    first = case.values["first"]
    x = _unlaid(numbers(case, 0), first)
    pooled = np.zeros(_pooled_shape(case, x.shape), x.dtype)
    for at, elements in _windows(case, x.shape):
        pooled[at] = x[_largest(x, elements)]
    result = _laid(pooled, first)
    return [result if x.dtype.kind in "iu" else Near(result, 0.0)]


def _max_pool_gradients(case: Case) -> Outcome:
    first, dtype = case.values["first"], case.inputs[0].dtype
    x, gradient = _unlaid(numbers(case, 0), first), _unlaid(numbers(case, 2), first)
    shape = _pooled_shape(case, x.shape)
    refuse_unless(_unlaid(case.array(1), first).shape == shape, "orig_output")
    goes_back = case.op == "MaxPool3DGrad"
    refuse_unless(gradient.shape == (shape if goes_back else x.shape), "grad")
    inexact = number_types.is_inexact(dtype)
    wide = longer(gradient) if inexact else gradient
    value = np.zeros(x.shape if goes_back else shape, wide.dtype)
    scale = np.zeros(value.shape)
    for at, elements in _windows(case, x.shape):
        best = _largest(x, elements)
        if goes_back:
            value[best] += wide[at]
            scale[best] += abs(float(wide[at]))
        else:
            value[at] = wide[best]
    if not inexact:
        return [_laid(value, first)]
    return [summed(_laid(value, first), _laid(scale, first), 40, dtype)]


def _avg_pool(case: Case) -> Outcome:
    first, dtype = case.values["first"], case.inputs[0].dtype
    x = _unlaid(longer(numbers(case, 0)), first)
    value = np.zeros(_pooled_shape(case, x.shape), x.dtype)
    scale = np.zeros(value.shape)
    for at, elements in _windows(case, x.shape):
        block = np.array([x[place] for place in elements])
        value[at], scale[at] = block.mean(), np.abs(block).mean()
    return [summed(_laid(value, first), _laid(scale, first), 40, dtype)]


def _avg_pool_grad(case: Case) -> Outcome:
    first, dtype, shape = case.values["first"], case.inputs[1].dtype, case.values["image"]
    gradient = _unlaid(longer(numbers(case, 1)), first)
    refuse_unless(gradient.shape == _pooled_shape(case, shape), "grad")
    value, scale = np.zeros(shape, gradient.dtype), np.zeros(shape)
    for at, elements in _windows(case, shape):
        for place in elements:
            value[place] += gradient[at] / len(elements)
            scale[place] += abs(float(gradient[at])) / len(elements)
    return [summed(_laid(value, first), _laid(scale, first), 40, dtype)]


_VOLUME = spread("volume", 1, 3, 4, 3, 2)


def _volume_checks(op: str) -> list[Check]:
    return [_volume_check(op, padding) for padding in ("SAME", "VALID")]


def _volume_check(op: str, padding: str) -> Check:
    attrs = {"ksize": [1, 2, 3, 2, 1], "strides": [1, 1, 2, 1, 1], "padding": padding}
    if op == "AvgPool3D":
        return Check(with_arguments(function_of(op), **attrs), (_VOLUME,))
    pooled = spread("pooled", *shape_of(with_arguments(gen_ops.avg_pool3d, **attrs), _VOLUME))
    return Check(lambda dy: gen_ops.avg_pool3d_grad(_VOLUME.shape, dy, **attrs), (pooled,))


def _large_volumes(values: Values) -> Any:
    volume = values.of(4, 12, 16, 16, 12)
    found = []
    for side, stride in ((2, 2), (3, 1)):
        windows = ([1, side, side, side, 1], [1, stride, stride, stride, 1], "SAME")
        for pool in (gen_ops.max_pool3d, gen_ops.avg_pool3d):
            output = pool(volume, *windows)
            found += [output, tf.gradients(output, volume, values.of(*sizes_of(output)))[0]]
        largest = gen_ops.max_pool3d(volume, *windows)
        found.append(
            gen_ops.max_pool3d_grad_grad(volume, largest, values.of(4, 12, 16, 16, 12), *windows)
        )
    return found


_LARGE_VOLUMES = LargeCase(_large_volumes, FLOAT32)


def _define_volumes(op: str, reference: Reference, gradient: Any) -> None:
    define_tests(
        op,
        cases=_make_volumes,
        reference=reference,
        gradient=gradient,
        determinism=_LARGE_VOLUMES,
    )


_NOT_IN_FLOAT64 = NotTested(
    "MaxPool3D takes no float64; the gradient function is MaxPool's, and golden cases have it"
)
_define_volumes("MaxPool3D", _max_pool, _NOT_IN_FLOAT64)
_define_volumes("MaxPool3DGrad", _max_pool_gradients, _NOT_IN_FLOAT64)
_define_volumes("MaxPool3DGradGrad", _max_pool_gradients, _NOT_IN_FLOAT64)
_define_volumes("AvgPool3D", _avg_pool, _volume_checks)
_define_volumes("AvgPool3DGrad", _avg_pool_grad, _volume_checks)


# ---- Places of the largest elements ----


def _make_places(source: Source, op: Any) -> Case:
    case = _make_windows(source, op, 2)
    dtype, index = pick_type(source, op, "T"), source.pick(("int32", "int64"))
    with_batch = source.chance(0.5)
    case.values["with_batch"] = with_batch
    case.attrs |= {
        "T": type_attr(dtype),
        "Targmax": type_attr(index),
        "include_batch_in_index": attr_text(with_batch),
    }
    image = case.values["image"]
    x = Input(dtype, moderate(source, dtype, list(image)))
    case.inputs = [x]
    if op.name == "MaxPoolWithArgmax":
        return case
    argmax = np.zeros(_pooled_or_small(case, image), index)
    try:
        argmax = _with_argmax(case)[1]
    except Exception:
        case.values["no_places"] = True
    if argmax.size > 0 and source.chance(0.1):
        argmax.flat[source.integer(0, argmax.size - 1)] = source.pick((-1, 2**31 - 1, 7))
    shape = list(argmax.shape if op.name == "MaxPoolGradWithArgmax" else image)
    if source.chance(0.07):
        shape[source.integer(0, 3)] += 1
    case.inputs += [Input(dtype, moderate(source, dtype, shape)), Input(index, argmax)]
    return case


def _index_of(case: Case, image: tuple[int, ...], place: tuple[int, ...]) -> int:
    n, y, x, c = place
    within = (y * image[2] + x) * image[3] + c
    return within + (n * image[1] * image[2] * image[3] if case.values["with_batch"] else 0)


def _with_argmax(case: Case) -> Outcome:
    x = numbers(case, 0)
    shape = _pooled_shape(case, x.shape)
    index = "int32" if "32" in case.attrs["Targmax"] else "int64"
    pooled, argmax = np.zeros(shape, x.dtype), np.zeros(shape, index)
    for at, elements in _windows(case, x.shape):
        best = _largest(x, elements)
        pooled[at], argmax[at] = x[best], _index_of(case, x.shape, best)
    return [pooled if x.dtype.kind in "iu" else Near(pooled, 0.0), argmax]


def _argmax_gradients(case: Case) -> Outcome:
    image, dtype = case.array(0).shape, case.inputs[0].dtype
    shape = _pooled_shape(case, image)
    gradient, argmax = numbers(case, 1), case.array(2)
    goes_back = case.op == "MaxPoolGradWithArgmax"
    refuse_unless(gradient.shape == (shape if goes_back else image), "grad")
    refuse_unless(argmax.shape == shape, "argmax")
    inexact = number_types.is_inexact(dtype)
    wide = longer(gradient) if inexact else gradient
    size = int(np.prod(image[1:]))
    value = np.zeros(image if goes_back else shape, wide.dtype)
    scale = np.zeros(value.shape)
    for at in np.ndindex(*shape):
        index = int(argmax[at]) - (at[0] * size if case.values["with_batch"] else 0)
        refuse_unless(0 <= index < size, "argmax")
        place = np.unravel_index(at[0] * size + index, image)
        if goes_back:
            value[place] += wide[at]
            scale[place] += abs(float(wide[at]))
        else:
            value[at] = wide[place]
    return [summed(value, scale, 40, dtype) if inexact else value]


_IMAGES = spread("images", 2, 5, 4, 2)
_ARGMAX_ATTRS = {"ksize": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "padding": "SAME"}


def _argmax_checks(op: str) -> list[Check]:
    def pooled(x: Any) -> Any:
        return gen_ops.max_pool_with_argmax(x, **_ARGMAX_ATTRS)

    if op == "MaxPoolWithArgmax":
        return [Check(lambda x: pooled(x)[0], (_IMAGES,))]
    last = spread("last", *shape_of(lambda x: pooled(x)[0], _IMAGES))
    if op == "MaxPoolGradGradWithArgmax":
        last = spread("last", *_IMAGES.shape)
    return [
        Check(lambda g: function_of(op)(_IMAGES, g, pooled(_IMAGES)[1], **_ARGMAX_ATTRS), (last,))
    ]


def _large_places(values: Values) -> Any:
    image = values.of(16, 28, 28, 24)
    pooled, argmax = gen_ops.max_pool_with_argmax(image, **_ARGMAX_ATTRS)
    gradient = values.of(*sizes_of(pooled))
    return [
        pooled,
        argmax,
        gen_ops.max_pool_grad_with_argmax(image, gradient, argmax, **_ARGMAX_ATTRS),
        gen_ops.max_pool_grad_grad_with_argmax(
            image, values.of(16, 28, 28, 24), argmax, **_ARGMAX_ATTRS
        ),
    ]


def _define_places(op: str, reference: Reference) -> None:
    define_tests(
        op,
        cases=_make_places,
        reference=reference,
        gradient=_argmax_checks,
        determinism=LargeCase(_large_places, FLOAT32_AND_64),
    )


_define_places("MaxPoolWithArgmax", _with_argmax)
_define_places("MaxPoolGradWithArgmax", _argmax_gradients)
_define_places("MaxPoolGradGradWithArgmax", _argmax_gradients)
