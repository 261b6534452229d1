"""Colors of images: other spaces, contrast, hue and saturation."""

from __future__ import annotations

import colorsys
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input
from testing.ops.support.definitions import float_dtypes_of, function_of, registered_ops
from testing.ops.support.determinism import LargeCase, Values
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
from testing.ops.support.registry import NotTested, define_tests
from testing.ops.support.source import Source

_Color = tuple[float, float, float]


def _scalar(value: float, dtype: str) -> Input:
    return Input(dtype, np.array(value, dtype))


def _make_colors(source: Source, op: Any) -> Case:
    """Colors in sixteenths from 0 to 1, for an op of them and of scalars."""
    dtype = pick_type(source, op, "T")
    scalars = len(op.input_arg) - 1
    least = 3 if scalars else 1
    shape = [source.integer(1, 3) for _ in range(least + source.integer(0, 1))]
    shape[-1] = 3
    if source.chance(0.08):
        shape[source.integer(0, len(shape) - 1)] = source.pick((0, 4))
    if source.chance(0.04):
        shape = shape[1:]
    whole = not number_types.is_inexact(dtype)
    values = source.random.integers(0, 17, size=shape).astype(np.float32) / (1 if whole else 16)
    if op.name.startswith("AdjustContrast") and source.chance(0.3):
        values *= 7
    computed = values.astype(np.float32 if dtype == "bfloat16" else dtype)
    case = Case(op.name, [Input(dtype, number_types.from_numbers(computed, dtype))])
    drawn = [source.integer(-24, 24) / 8, 1.0, 12.0][:scalars]
    case.inputs += [_scalar(value, "float32") for value in drawn]
    if scalars and source.chance(0.05):
        case.inputs[-1] = Input("float32", np.ones(2, np.float32))
    case.attrs = {"T": type_attr(dtype)}
    return case


def _mapped(colors: Array, function: Callable[..., _Color]) -> Array:
    result = np.zeros(colors.shape)
    for place in np.ndindex(*colors.shape[:-1]):
        result[place] = function(*(float(part) for part in colors[place]))
    return result


def _colors(case: Case) -> Array:
    least = 3 if len(case.inputs) > 1 else 1
    x = numbers(case, 0)
    refuse_unless(x.ndim >= least and x.shape[-1] == 3, "images")
    for i in range(1, len(case.inputs)):
        refuse_unless(case.array(i).ndim == 0, "delta")
    return x


def _near(value: Array, dtype: str) -> Near:
    # A hue of 1 and one of 0 are the same.
    return Near(value, (1 + np.abs(value)) * 24 * number_types.epsilon(dtype))


def _to_hsv(case: Case) -> Outcome:
    return [_near(_mapped(_colors(case), colorsys.rgb_to_hsv), case.inputs[0].dtype)]


def _to_rgb(case: Case) -> Outcome:
    return [_near(_mapped(_colors(case), _rgb), case.inputs[0].dtype)]


def _rgb(hue: float, saturation: float, value: float) -> _Color:
    red, green, blue = colorsys.hsv_to_rgb(hue % 1 if hue != 1 else 1, 1, 1)
    parts = [(1 - saturation + saturation * pure) * value for pure in (red, green, blue)]
    return parts[0], parts[1], parts[2]


def _hue(case: Case) -> Outcome:
    delta = float(case.array(1)) if case.array(1).ndim == 0 else math.nan

    def turned(red: float, green: float, blue: float) -> _Color:
        hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
        return _rgb((hue + delta) % 1, saturation, value)

    return [_near(_mapped(_colors(case), turned), case.inputs[0].dtype)]


def _saturation(case: Case) -> Outcome:
    scale = float(case.array(1)) if case.array(1).ndim == 0 else math.nan

    def changed(red: float, green: float, blue: float) -> _Color:
        hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
        return _rgb(hue, min(max(saturation * scale, 0), 1), value)

    return [_near(_mapped(_colors(case), changed), case.inputs[0].dtype)]


def _contrast(case: Case) -> Outcome:
    x = numbers(case, 0).astype(np.float64)
    refuse_unless(x.ndim >= 3, "images")
    for i in range(1, len(case.inputs)):
        refuse_unless(case.array(i).ndim == 0, "contrast_factor")
    limits = [float(case.array(i)) for i in range(2, len(case.inputs))]
    if x.size == 0:
        return [np.zeros(x.shape, np.float32) if limits else case.array(0)]
    mean = x.mean(axis=(-3, -2), keepdims=True)
    result = (x - mean) * float(case.array(1)) + mean
    if limits:
        result = np.clip(result, limits[0], limits[1])
    rounding = 2.0**-18 + (0 if limits else number_types.epsilon(case.inputs[0].dtype))
    return [Near(result, (np.abs(x).max() * 4 + np.abs(result)) * rounding)]


def _contrast_checks(op: str) -> list[Check]:
    # With four pixels means are exact, and so are differences.
    image = np.random.default_rng(3).integers(-4, 5, (2, 2, 2, 2)).astype(np.float32)
    return [Check(gen_ops.adjust_contrastv2, (image, np.array(0.5, np.float32)), 0.125)]


def _large_colors(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        images = values.positive(4, 200, 200, 3)
        scalars = [0.3, 0.5, 1.5][: len(registered_ops()[op].input_arg) - 1]
        return function_of(op)(images, *scalars)

    return LargeCase(build, float_dtypes_of(op))


# Each order of three parts, and a hue in each sixth of the circle.
_RGB: Array = np.array(list(itertools.permutations((0.25, 0.75, 1.5))))
_HSV: Array = np.stack(
    [(np.arange(6) + 0.4) / 6, np.linspace(0.2, 0.8, 6), np.linspace(0.9, 0.3, 6)], -1
)
define_tests(
    "RGBToHSV",
    cases=_make_colors,
    reference=_to_hsv,
    gradient=[Check(gen_ops.rgb_to_hsv, (_RGB,))],
    determinism=_large_colors,
)
define_tests(
    "HSVToRGB",
    cases=_make_colors,
    reference=_to_rgb,
    gradient=[Check(gen_ops.hsv_to_rgb, (_HSV,))],
    determinism=_large_colors,
)
for _op, _reference in (("AdjustHue", _hue), ("AdjustSaturation", _saturation)):
    define_tests(
        _op,
        cases=_make_colors,
        reference=_reference,
        gradient=NotTested(
            "float32 hides differences; images_test compares with the gradient of the same by "
            "RGBToHSV and HSVToRGB"
        ),
        determinism=_large_colors,
    )
define_tests("AdjustContrast", cases=_make_colors, reference=_contrast, determinism=_large_colors)
define_tests(
    "AdjustContrastv2",
    cases=_make_colors,
    reference=_contrast,
    gradient=_contrast_checks,
    determinism=_large_colors,
)
