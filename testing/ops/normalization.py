"""Normalization of the channels of a batch, and across channels."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import FLOAT32, FLOAT32_AND_64, LargeCase, Values
from testing.ops.support.gradient import Check, positive, spread, with_arguments
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    longer,
    numbers,
    pick_type,
    refuse_unless,
    type_attr,
    types_among,
)
from testing.ops.support.registry import NotTested, Property, define_tests
from testing.ops.support.source import Source
from testing.ops.support.windows import EDGES, image_sizes, laid, laid_sizes, moderate, unlaid

_AROUND = (0, 1, 2)
_FLOAT_EPSILON = number_types.epsilon("float32")

# ---- Batch normalization ----


def _channel_vector(source: Source, dtype: str, size: int) -> Input:
    """A number for each channel; at times one too many."""
    count = size + 1 if source.chance(0.03) else size
    return Input(dtype, source.values(dtype, [count], source.pick(("small", "plain"))))


def _deviations(source: Source, dtype: str, size: int) -> Input:
    """A variance for each channel."""
    item = _channel_vector(source, dtype, size)
    drawn = number_types.as_numbers(item.value, dtype) if item.value is not None else np.zeros(0)
    item.value = number_types.from_numbers(np.abs(drawn), dtype)
    return item


def _make_batch_norm(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    first, is_training = source.chance(0.4), source.chance(0.6)
    image = image_sizes(source, source.size(9))
    case = Case(op.name, [], {"T": type_attr(dtype)}, {"first": first})
    if "V" in op.name:
        case.attrs["U"] = type_attr("float32")
    case.attrs |= {
        "epsilon": attr_text(source.pick((1e-3, 1e-4, 0.25))),
        "data_format": attr_text("NCHW" if first else "NHWC"),
        "is_training": attr_text(is_training),
    }
    sizes = laid_sizes(image, first)
    if source.chance(0.04):
        sizes = sizes[1:]
    images = Input(dtype, moderate(source, dtype, sizes))
    scale = _channel_vector(source, "float32", image[3])
    if "Grad" in op.name:
        gradient = laid_sizes(image, first)
        if source.chance(0.05):
            gradient[source.integer(0, 3)] += 1
        case.inputs = [Input(dtype, moderate(source, dtype, gradient)), images, scale]
    else:
        case.inputs = [images, scale, _channel_vector(source, "float32", image[3])]
        has_none = is_training if source.chance(0.96) else not is_training
        image[3] = 0 if has_none else image[3]
    case.inputs.append(_channel_vector(source, "float32", image[3]))
    case.inputs.append(_deviations(source, "float32", image[3]))
    if op.name == "FusedBatchNormGradV3":
        case.inputs.append(Input("float32", np.zeros(0, np.float32)))
    return case


def _images(case: Case, i: int, argument: str) -> Array:
    """Input i in the order NHWC."""
    images = numbers(case, i)
    refuse_unless(images.ndim == 4, argument)
    return unlaid(longer(images), case.values["first"])


def _vector(case: Case, i: int, argument: str, size: int) -> Array:
    vector = longer(numbers(case, i))
    refuse_unless(vector.shape == (size,), argument)
    return vector


def _rounded(value: Array, bound: Array, dtype: str, any_where: Array | None = None) -> Near:
    """A result within a bound of a value, that is rounded to a type afterwards."""
    tiny = number_types.smallest_normal(dtype)
    bound = bound + np.abs(value) * number_types.epsilon(dtype) + tiny
    return Near(value, np.where(np.isfinite(bound), bound, 0), any_where)


def _batch_norm(case: Case) -> Outcome:
    x = _images(case, 0, "x")
    size, count, dtype = x.shape[3], x[..., :1].size, case.inputs[0].dtype
    is_training, epsilon = case.attr("is_training"), float(np.float32(case.attr("epsilon")))
    scale, offset = (_vector(case, i, name, size) for i, name in ((1, "scale"), (2, "offset")))
    given = 0 if is_training else size
    mean, variance = (_vector(case, i, name, given) for i, name in ((3, "mean"), (4, "variance")))
    reserved = [np.zeros(0, np.float32)] if case.op.endswith("V3") else []
    if is_training and count == 0:
        unknown = np.full(size, np.nan, np.float32)
        images = np.zeros(case.array(0).shape, case.array(0).dtype)
        return [images, *[unknown] * 4, *reserved]
    off_mean = off_variance = np.zeros(size)
    unbiased = variance
    if is_training:
        mean, variance = x.mean(_AROUND), x.var(_AROUND)
        unbiased = variance * count / max(count - 1, 1)
        # A block's mean is rounded, so that distances to it are off by as much; these and their
        # squares are rounded too.
        largest = np.abs(x).max(_AROUND)
        off_mean = _FLOAT_EPSILON * 8 * largest
        off_variance = _FLOAT_EPSILON * 16 * variance + off_mean**2
    factor = scale / np.sqrt(variance + epsilon)
    share = off_variance / (variance + epsilon) + 8 * _FLOAT_EPSILON
    value = (x - mean) * factor + offset
    bound = np.abs((x - mean) * factor) * share + np.abs(factor) * off_mean
    bound += _FLOAT_EPSILON * (np.abs(value) + np.abs(offset))
    laid_value, laid_bound = (laid(part, case.values["first"]) for part in (value, bound))
    means = _rounded(mean, off_mean, "float32")
    variances = _rounded(variance, off_variance, "float32")
    moved = _rounded(unbiased, off_variance * max(count, 1) / max(count - 1, 1), "float32")
    return [_rounded(laid_value, laid_bound, dtype), means, moved, means, variances, *reserved]


def _gradient_sums(
    dy: Array, x: Array, mean: Array, epsilon: float
) -> tuple[Array, Array, Array, Array]:
    """Sums of dy and of dy * (x - mean), and what each may be off by."""
    distance = x - mean
    sums = dy.sum(_AROUND), (dy * distance).sum(_AROUND)
    off = np.abs(dy).sum(_AROUND), (np.abs(dy) * (np.abs(x) + np.abs(mean))).sum(_AROUND)
    return *sums, off[0] * epsilon * 64, off[1] * epsilon * 64


def _batch_norm_grad(case: Case) -> Outcome:
    dy, x = _images(case, 0, "y_backprop"), _images(case, 1, "x")
    refuse_unless(dy.shape == x.shape, "x")
    size, count, dtype = x.shape[3], x[..., :1].size, case.inputs[0].dtype
    scale = _vector(case, 2, "scale", size)
    mean = _vector(case, 3, "reserve_space_1", size)
    variance = _vector(case, 4, "reserve_space_2", size)
    inverse = 1 / np.sqrt(variance + float(np.float32(case.attr("epsilon"))))
    total, along, off_total, off_along = _gradient_sums(dy, x, mean, _FLOAT_EPSILON)
    factor = scale * inverse
    value, bound = factor * dy, np.abs(factor * dy) * 8
    if case.attr("is_training") and count > 0:
        slope = factor * inverse**2 / count
        value = value - factor * total / count - (x - mean) * slope * along
        distance = np.abs(x) + np.abs(mean)
        bound = bound + np.abs(factor * total / count) * 8 + np.abs(distance * slope * along) * 8
        bound = bound * _FLOAT_EPSILON
        bound += np.abs(factor) * off_total / count + distance * np.abs(slope) * off_along
    else:
        bound = bound * _FLOAT_EPSILON
    laid_value, laid_bound = (laid(part, case.values["first"]) for part in (value, bound))
    of_scale = along * inverse
    off_scale = off_along * inverse + np.abs(of_scale) * 8 * _FLOAT_EPSILON
    nothing = np.zeros(0, np.float32)
    return [
        _rounded(laid_value, laid_bound, dtype),
        _rounded(of_scale, off_scale, "float32"),
        _rounded(total, off_total, "float32"),
        nothing,
        nothing,
    ]


# Few wide channels, many narrow ones, and more than sums keep on the stack.
_LARGE_SHAPES = ((8, 56, 56, 24), (200, 40, 40, 3), (64, 3, 3, 1100))


def _large_batch_norm(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        found: list[Any] = []
        for shape in _LARGE_SHAPES:
            for data_format in ("NHWC", "NCHW"):
                found += _normalized(op, values, shape, data_format)
        return found

    return LargeCase(build, FLOAT32 if "V" not in op else (tf.float32, tf.float16))


def _normalized(op: str, values: Values, shape: Any, data_format: str) -> list[Any]:
    size = shape[data_format.index("C")]
    vectors = [tf.cast(values.positive(size), tf.float32) for _ in range(3)]
    images = values.of(*shape)
    nothing = tf.zeros([0])
    if "Grad" not in op:
        inputs = [images, *vectors[:2], nothing, nothing]
    else:
        inputs = [values.of(*shape), images, *vectors, *[nothing] * op.endswith("V3")]
    return list(function_of(op)(*inputs, data_format=data_format)[:3])


_IN_FLOAT = NotTested(
    "it computes in float32, whose rounding hides differences. The golden cases have gradients, and"
    " statistics_test.py compares those of both orders with the ones of a composition in float64"
)
_FORWARD = ["FusedBatchNorm", "FusedBatchNormV2"]

define_tests(
    _FORWARD,
    cases=_make_batch_norm,
    reference=_batch_norm,
    gradient=_IN_FLOAT,
    determinism=_large_batch_norm,
)
define_tests(
    "FusedBatchNormV3",
    cases=_make_batch_norm,
    reference=_batch_norm,
    gradient=_IN_FLOAT,
    determinism=_large_batch_norm,
    exceptions={Property.STATIC_SHAPE: "that of reserve_space_3 is unknown, as in the reference"},
)
define_tests(
    ["FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"],
    cases=_make_batch_norm,
    reference=_batch_norm_grad,
    gradient=_IN_FLOAT,
    determinism=_large_batch_norm,
)


# ---- The old form ----


def _make_global(source: Source, op: Any) -> Case:
    dtype = source.pick(types_among(("float32", "float64", "float16"), op, "T"))
    image = image_sizes(source, source.size(9))
    case = Case(op.name, [], {"T": type_attr(dtype)}, {"first": False})
    case.attrs["variance_epsilon"] = attr_text(source.pick((1e-3, 0.25)))
    case.attrs["scale_after_normalization"] = attr_text(source.chance(0.6))
    case.inputs = [
        Input(dtype, moderate(source, dtype, image)),
        _channel_vector(source, dtype, image[3]),
        _deviations(source, dtype, image[3]),
        _channel_vector(source, dtype, image[3]),
    ]
    if op.name.endswith("Grad"):
        case.inputs.append(Input(dtype, moderate(source, dtype, image)))
    else:
        case.inputs.append(_channel_vector(source, dtype, image[3]))
    return case


def _global(case: Case) -> Outcome:
    names = ("m", "v", "gamma") if case.op.endswith("Grad") else ("m", "v", "beta", "gamma")
    x, dtype = _images(case, 0, "t"), case.inputs[0].dtype
    vectors = {name: _vector(case, i + 1, name, x.shape[3]) for i, name in enumerate(names)}
    is_scaled = case.attr("scale_after_normalization")
    mean, gamma = vectors["m"], vectors["gamma"] if is_scaled else np.ones(x.shape[3])
    inverse = 1 / np.sqrt(vectors["v"] + float(np.float32(case.attr("variance_epsilon"))))
    epsilon = number_types.epsilon("float64" if dtype == "float64" else "float32")
    factor = gamma * inverse
    if not case.op.endswith("Grad"):
        value = (x - mean) * factor + vectors["beta"]
        bound = np.abs((x - mean) * factor) * 8 + np.abs(value) + np.abs(vectors["beta"])
        return [_rounded(value, bound * epsilon, dtype)]
    dy = _images(case, 4, "backprop")
    total, along, off_total, off_along = _gradient_sums(dy, x, mean, epsilon)
    to_variance = -0.5 * factor * inverse**2
    to_scale = inverse if is_scaled else np.zeros_like(inverse)
    return [
        _rounded(dy * factor, np.abs(dy * factor) * 8 * epsilon, dtype),
        *(
            _rounded(sums * by, (off + np.abs(sums) * 8 * epsilon) * np.abs(by), dtype)
            for sums, off, by in (
                (total, off_total, -factor),
                (along, off_along, to_variance),
                (total, off_total, np.ones_like(inverse)),
                (along, off_along, to_scale),
            )
        ),
    ]


def _large_global(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        images, vectors = values.of(8, 56, 56, 24), [values.positive(24) for _ in range(3)]
        last = values.of(8, 56, 56, 24) if op.endswith("Grad") else values.positive(24)
        result = function_of(op)(images, *vectors, last, 0.01, True)
        return list(result) if op.endswith("Grad") else result

    return LargeCase(build, FLOAT32_AND_64)


_GLOBAL_INPUTS = (
    spread("t", 2, 2, 3, 2), spread("m", 2), positive("v", 2), spread("beta", 2), spread("gamma", 2)
)  # fmt: skip

define_tests(
    "BatchNormWithGlobalNormalization",
    cases=_make_global,
    reference=_global,
    gradient=[
        Check(
            with_arguments(
                gen_ops.batch_norm_with_global_normalization,
                variance_epsilon=0.25,
                scale_after_normalization=is_scaled,
            ),
            _GLOBAL_INPUTS,
        )
        for is_scaled in (True, False)
    ],
    determinism=_large_global,
)
define_tests(
    "BatchNormWithGlobalNormalizationGrad",
    cases=_make_global,
    reference=_global,
    gradient=[
        Check(
            with_arguments(
                gen_ops.batch_norm_with_global_normalization_grad,
                variance_epsilon=0.25,
                scale_after_normalization=is_scaled,
            ),
            (*_GLOBAL_INPUTS[:3], _GLOBAL_INPUTS[4], spread("dy", 2, 2, 3, 2)),
        )
        for is_scaled in (True, False)
    ],
    determinism=_large_global,
)


# ---- Across channels ----


def _make_lrn(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    sizes = image_sizes(source, source.size(9))
    radius = source.pick(EDGES) if source.chance(0.1) else source.integer(0, 5)
    case = Case(op.name, [], {"T": type_attr(dtype)})
    case.attrs |= {
        "depth_radius": attr_text(radius),
        "bias": attr_text(source.pick((1.0, 0.5, 2.0))),
        "alpha": attr_text(source.pick((1.0, 0.25, 1e-4))),
        "beta": attr_text(source.pick((0.5, 0.75, 1.0, 0.6))),
    }
    for _ in op.input_arg:
        given = sizes if source.chance(0.97) else sizes[1:]
        case.inputs.append(Input(dtype, moderate(source, dtype, given)))
    return case


def _window_sums(x: Array, radius: int) -> Array:
    """The sums of channels at most `radius` away."""
    size = x.shape[-1]
    near = np.abs(np.arange(size)[:, None] - np.arange(size)) <= radius
    return np.asarray(x @ near)


def _lrn(case: Case) -> Outcome:
    radius, dtype = case.attr("depth_radius"), case.inputs[0].dtype
    refuse_unless(radius >= 0, "depth_radius")
    names = ("input",) if case.op == "LRN" else ("input_grads", "input_image", "output_image")
    tensors = [longer(numbers(case, i)) for i in range(len(names))]
    for name, tensor in zip(names, tensors, strict=True):
        refuse_unless(tensor.ndim == 4 and tensor.shape == tensors[0].shape, name)
    bias, alpha, beta = (float(np.float32(case.attr(name))) for name in ("bias", "alpha", "beta"))
    x = tensors[0] if case.op == "LRN" else tensors[1]
    norm = bias + alpha * _window_sums(x * x, radius)
    power = norm**-beta
    # The terms of a window's sum are positive, so that each addition rounds what is known as well.
    share = _FLOAT_EPSILON * (4 * x.shape[3] + 24)
    if case.op == "LRN":
        return [_rounded(x * power, np.abs(x * power) * share, dtype)]
    dy, _, y = tensors
    slope = 2 * alpha * beta
    value = dy * power - slope * x * _window_sums(dy * y / norm, radius)
    scale = np.abs(dy * power) + np.abs(slope * x) * _window_sums(np.abs(dy * y / norm), radius)
    return [_rounded(value, scale * share, dtype)]


def _large_lrn(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        inputs = [values.of(16, 28, 28, 24) for _ in range(1 if op == "LRN" else 3)]
        return [function_of(op)(*inputs, beta=beta) for beta in (0.5, 0.6, 0.75)]

    return LargeCase(build, (tf.float32, tf.float16))


define_tests(
    "LRN",
    cases=_make_lrn,
    reference=_lrn,
    gradient=NotTested(
        "it computes in float32, whose rounding hides differences. The golden cases have gradients"
    ),
    determinism=_large_lrn,
)
define_tests(
    "LRNGrad",
    cases=_make_lrn,
    reference=_lrn,
    gradient=NotTested(
        "it computes in float32, whose rounding hides differences; local_response_test compares "
        "with the same of other operations"
    ),
    determinism=_large_lrn,
)
