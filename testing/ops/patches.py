"""Patches of images and volumes, and changes of the order of dimensions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import FLOAT32_AND_64, LargeCase, Values, sizes_of
from testing.ops.support.gradient import Check, spread, with_arguments
from testing.ops.support.reference import Outcome, pick_type, refuse_unless, type_attr
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source
from testing.ops.support.windows import Window, are_32_bit

# ---- Patches ----


def _make_patches(source: Source, op: Any) -> Case:
    dims = 2 if op.name == "ExtractImagePatches" else 3
    dtype = pick_type(source, op, "T")
    rank = dims + 2 if source.chance(0.95) else source.integer(0, 6)
    shape = [source.size(4 if dims == 3 else 7) for _ in range(rank)]
    names = ["ksizes", "strides", *(["rates"] if dims == 2 else [])]
    lists = {name: [1, *(source.integer(1, 3) for _ in range(dims)), 1] for name in names}
    if source.chance(0.12):
        changed = lists[source.pick(names)]
        changed[source.integer(0, dims + 1)] = source.pick((0, -1, 2, 2**31, 2**62))
    padding = source.pick(("SAME", "VALID"))
    case = Case(op.name, [Input(dtype, source.values(dtype, shape))])
    case.values = {"padding": padding, **lists}
    case.attrs = {name: attr_text(values) for name, values in lists.items()}
    case.attrs |= {"T": type_attr(dtype), "padding": attr_text(padding)}
    return case


def _patches(case: Case) -> Outcome:
    x = case.array(0)
    dims = len(case.values["ksizes"]) - 2
    refuse_unless(x.ndim == dims + 2, "images" if dims == 2 else "input")
    ones = [1] * (dims + 2)
    sizes, strides = case.values["ksizes"], case.values["strides"]
    rates = case.values.get("rates", ones)
    for name, values in (("ksizes", sizes), ("strides", strides), ("rates", rates)):
        refuse_unless(are_32_bit(values) and values[0] == values[-1] == 1, name)
    places = [
        Window(sizes[i], strides[i], rates[i], case.values["padding"]).places(x.shape[i], "ksizes")
        for i in range(1, dims + 1)
    ]
    counts = [len(one) for one in places]
    result = np.zeros((x.shape[0], *counts, *sizes[1:-1], x.shape[-1]), x.dtype)
    for at in itertools.product(*(range(count) for count in counts)):
        for pairs in itertools.product(*(places[d][i] for d, i in enumerate(at))):
            inside, pixel = zip(*pairs, strict=True)
            result[(slice(None), *at, *inside)] = x[(slice(None), *pixel)]
    outer = result.shape[: dims + 1]
    return [result.reshape((*outer, int(np.prod(sizes[1:-1])) * x.shape[-1]))]


_IMAGE_ATTRS = {"ksizes": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "rates": [1, 1, 2, 1]}
_VOLUME_ATTRS = {"ksizes": [1, 2, 3, 2, 1], "strides": [1, 1, 2, 1, 1]}


def _large_patches(values: Values) -> Any:
    image, volume = values.of(8, 40, 40, 12), values.of(2, 12, 20, 20, 8)
    patches = [
        (image, gen_ops.extract_image_patches(image, padding="SAME", **_IMAGE_ATTRS)),
        (volume, gen_ops.extract_volume_patches(volume, padding="SAME", **_VOLUME_ATTRS)),
    ]
    return [[y, tf.gradients(y, x, values.of(*sizes_of(y)))[0]] for x, y in patches]


_LARGE = LargeCase(_large_patches, FLOAT32_AND_64)

define_tests(
    "ExtractImagePatches",
    cases=_make_patches,
    reference=_patches,
    gradient=[
        Check(
            with_arguments(gen_ops.extract_image_patches, padding=padding, **_IMAGE_ATTRS),
            (spread("image", 2, 5, 4, 2),),
        )
        for padding in ("SAME", "VALID")
    ],
    determinism=_LARGE,
)
define_tests(
    "ExtractVolumePatches",
    cases=_make_patches,
    reference=_patches,
    gradient=[
        Check(
            with_arguments(gen_ops.extract_volume_patches, padding=padding, **_VOLUME_ATTRS),
            (spread("volume", 1, 3, 4, 3, 2),),
        )
        for padding in ("SAME", "VALID")
    ],
    determinism=_LARGE,
)

# ---- Orders of dimensions ----

_FORMATS = ("NHWC", "NCHW", "HWNC", "HWCN")


def _make_format(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    formats = [source.pick(_FORMATS) for _ in range(2)]
    if source.chance(0.1):
        formats[source.integer(0, 1)] = source.pick(("", "NHW", "NNHW", "ABCD", "NHWCX"))
    if op.name == "DataFormatDimMap":
        values = source.index_values(dtype, source.small_shape(), -4, 3)
        if values.size and source.chance(0.1):
            values.reshape(-1)[0] = source.pick((-5, 4, 2**31 - 1))
    else:
        shape = source.pick(((4,), (4, 2))) if source.chance(0.85) else source.small_shape()
        values = source.values(dtype, shape)
    attrs = {"T": type_attr(dtype)}
    attrs |= {"src_format": attr_text(formats[0]), "dst_format": attr_text(formats[1])}
    return Case(op.name, [Input(dtype, values)], attrs, {"from": formats[0], "to": formats[1]})


def _order(case: Case) -> list[int]:
    """Where each dimension of the source order is in the other one."""
    source, target = case.values["from"], case.values["to"]
    refuse_unless(len(source) == len(set(source)) == 4, "src_format")
    refuse_unless(sorted(source) == sorted(target), "dst_format")
    return [target.index(letter) for letter in source]


def _dim_map(case: Case) -> Outcome:
    x, order = case.array(0), _order(case)
    refuse_unless(np.all((x >= -4) & (x < 4)), "x")
    return [np.array(order, x.dtype)[x]]


def _vec_permute(case: Case) -> Outcome:
    x, order = case.array(0), _order(case)
    refuse_unless(x.shape in ((4,), (4, 2)), "x")
    y = np.empty_like(x)
    y[order] = x
    return [y]


define_tests("DataFormatDimMap", cases=_make_format, reference=_dim_map)
define_tests("DataFormatVecPermute", cases=_make_format, reference=_vec_permute)
