"""Colors of images: types of numbers, brightness, contrast, hue, saturation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, FLAG, INTEGER, NUMBER, TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.image_arguments import after, known_value, required
from millstream._impl.ops import array_ops, math_ops, random_ops, reductions
from millstream._impl.values import dtypes


@public("image.convert_image_dtype")
@takes(image=TENSOR, dtype=DTYPE, saturate=FLAG)
def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Images in another type: floating-point numbers are from 0 to 1, integers fill their range.

    Parameters
    ----------
    image
        The numbers.
    dtype
        Their new type.
    saturate
        Whether numbers beyond the range of the type become its limits.
    name
        Name of the result.

    Examples
    --------
    >>> tf.image.convert_image_dtype(tf.constant([0, 255], tf.uint8), tf.float32).eval().tolist()
    [0.0, 1.0]
    """
    with scopes.name_scope(name, "convert_image", [image]) as scope:
        tensor = convert_to_tensor(image, name="image")
        wanted = dtypes.as_dtype(dtype)
        if tensor.dtype == wanted:
            return array_ops.identity(tensor, scope)
        convert = math_ops.saturate_cast if saturate else math_ops.cast
        if tensor.dtype.is_integer and wanted.is_integer:
            return _between_integers(tensor, wanted, convert, scope)
        if tensor.dtype.is_integer:
            return math_ops.multiply(
                math_ops.cast(tensor, wanted), 1.0 / tensor.dtype.max, name=scope
            )
        if wanted.is_integer:
            return convert(tensor * (wanted.max + 0.5), wanted, name=scope)
        return math_ops.cast(tensor, wanted, name=scope)


def _between_integers(
    tensor: Tensor, dtype: dtypes.DType, convert: Callable[..., Tensor], scope: str
) -> Tensor:
    given, wanted = int(tensor.dtype.max) + 1, int(dtype.max) + 1
    if given > wanted:
        return convert(tensor // (given // wanted), dtype, name=scope)
    return math_ops.multiply(convert(tensor, dtype), wanted // given, name=scope)


def as_floats(image: Tensor) -> Tensor:
    """Numbers that are computed with: integers become float32, from 0 to 1."""
    if image.dtype in (dtypes.float16, dtypes.float32):
        return image
    return convert_image_dtype(image, dtypes.float32)


def _adjusted(image: Any, name: str, function: Callable[[Tensor], Tensor]) -> Tensor:
    """What a function makes of floating-point numbers, in the type of the image."""
    with scopes.name_scope(None, name, [image]):
        tensor = convert_to_tensor(image, name="image")
        return convert_image_dtype(function(as_floats(tensor)), tensor.dtype, saturate=True)


@public("image.adjust_brightness")
@takes(image=TENSOR, delta=NUMBER)
def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """Images with a number added to all of theirs.

    Parameters
    ----------
    image
        The images.
    delta
        The number; 1 is the whole range of integers.

    Examples
    --------
    >>> tf.image.adjust_brightness(tf.constant([[[10]]], tf.uint8), 0.2).eval().tolist()
    [[[61]]]
    """
    return _adjusted(image, "adjust_brightness", lambda x: x + math_ops.cast(delta, x.dtype))


@public("image.adjust_contrast")
@takes(images=TENSOR, contrast_factor=NUMBER)
def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Images whose numbers keep their distance from the mean of their channel, times a factor.

    Parameters
    ----------
    images
        Shape [..., height, width, channels].
    contrast_factor
        The factor.

    Examples
    --------
    >>> tf.image.adjust_contrast([[[1.0], [3.0]]], 2.0).eval().tolist()
    [[[0.0], [4.0]]]
    """
    return _adjusted(
        images, "adjust_contrast", lambda x: gen_ops.adjust_contrastv2(x, contrast_factor)
    )


@public("image.adjust_gamma")
@takes(image=TENSOR, gamma=NUMBER, gain=NUMBER)
def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """Images whose numbers are raised to a power.

    Parameters
    ----------
    image
        The images.
    gamma
        The power, not negative.
    gain
        What the result is multiplied by.

    Raises
    ------
    ValueError
        `gamma` is known to be negative.

    Examples
    --------
    >>> tf.image.adjust_gamma([[[0.5]]], 2.0).eval().tolist()
    [[[0.25]]]
    """
    known = known_value(gamma)
    checks = required(
        gamma >= 0 if known is None else known >= 0,
        "Gamma should be a non-negative real number.",
    )
    return _adjusted(
        image, "adjust_gamma", lambda x: after(checks, x) ** math_ops.cast(gamma, x.dtype) * gain
    )


@public("image.adjust_hue")
@takes(image=TENSOR, delta=NUMBER)
def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Colors turned around the circle of hues.

    Parameters
    ----------
    image
        Shape [..., height, width, 3]: red, green and blue.
    delta
        The angle; 1 is the whole circle.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.image.adjust_hue([[[1.0, 0.0, 0.0]]], 0.5).eval().tolist()
    [[[0.0, 1.0, 1.0]]]
    """
    return _adjusted(image, name or "adjust_hue", lambda x: gen_ops.adjust_hue(x, delta))


@public("image.adjust_saturation")
@takes(image=TENSOR, saturation_factor=NUMBER)
def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Colors whose saturation is multiplied by a factor.

    Parameters
    ----------
    image
        Shape [..., height, width, 3]: red, green and blue.
    saturation_factor
        The factor.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.image.adjust_saturation([[[1.0, 0.5, 0.5]]], 2.0).eval().tolist()
    [[[1.0, 0.0, 0.0]]]
    """
    return _adjusted(
        image,
        name or "adjust_saturation",
        lambda x: gen_ops.adjust_saturation(x, saturation_factor),
    )


# ---- At random ----


def _drawn(low: Any, high: Any, seed: int | None) -> Tensor:
    return random_ops.random_uniform([], low, high, seed=seed)


@public("image.random_brightness")
@takes(image=TENSOR, max_delta=NUMBER, seed=INTEGER)
def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Images with a random number added; see `adjust_brightness`.

    Parameters
    ----------
    image
        The images.
    max_delta
        The number is between -max_delta and max_delta.
    seed
        Seed of the operation, see `set_random_seed`.

    Raises
    ------
    ValueError
        `max_delta` is negative.

    Examples
    --------
    >>> tf.image.random_brightness(tf.ones([2, 2, 1]), 0.2, seed=1).shape.as_list()
    [2, 2, 1]
    """
    if max_delta < 0:
        raise ValueError("max_delta: must be non-negative.")
    return adjust_brightness(image, _drawn(-max_delta, max_delta, seed))


@public("image.random_contrast")
@takes(image=TENSOR, lower=NUMBER, upper=NUMBER, seed=INTEGER)
def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """Images of random contrast; see `adjust_contrast`.

    Parameters
    ----------
    image
        Shape [..., height, width, channels].
    lower, upper
        Between which the factor is.
    seed
        Seed of the operation, see `set_random_seed`.

    Raises
    ------
    ValueError
        `lower` is negative, or not below `upper`.

    Examples
    --------
    >>> tf.image.random_contrast(tf.ones([2, 2, 1]), 0.5, 1.5, seed=1).shape.as_list()
    [2, 2, 1]
    """
    _check_range(lower, upper)
    return adjust_contrast(image, _drawn(lower, upper, seed))


def _check_range(lower: float, upper: float) -> None:
    if upper <= lower:
        raise ValueError(f"upper: must be > lower, got {upper} and {lower}")
    if lower < 0:
        raise ValueError(f"lower: must be non-negative, got {lower}")


@public("image.random_hue")
@takes(image=TENSOR, max_delta=NUMBER, seed=INTEGER)
def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Colors turned by a random angle; see `adjust_hue`.

    Parameters
    ----------
    image
        Shape [..., height, width, 3]: red, green and blue.
    max_delta
        The angle is between -max_delta and max_delta; 0.5 at most.
    seed
        Seed of the operation, see `set_random_seed`.

    Raises
    ------
    ValueError
        `max_delta` is not in that range.

    Examples
    --------
    >>> tf.image.random_hue(tf.ones([2, 2, 3]), 0.2, seed=1).shape.as_list()
    [2, 2, 3]
    """
    if not 0 <= max_delta <= 0.5:
        raise ValueError(f"max_delta: must be from 0 to 0.5, got {max_delta}")
    return adjust_hue(image, _drawn(-max_delta, max_delta, seed))


@public("image.random_saturation")
@takes(image=TENSOR, lower=NUMBER, upper=NUMBER, seed=INTEGER)
def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """Colors of random saturation; see `adjust_saturation`.

    Parameters
    ----------
    image
        Shape [..., height, width, 3]: red, green and blue.
    lower, upper
        Between which the factor is.
    seed
        Seed of the operation, see `set_random_seed`.

    Raises
    ------
    ValueError
        `lower` is negative, or not below `upper`.

    Examples
    --------
    >>> tf.image.random_saturation(tf.ones([2, 2, 3]), 0.5, 1.5, seed=1).shape.as_list()
    [2, 2, 3]
    """
    _check_range(lower, upper)
    return adjust_saturation(image, _drawn(lower, upper, seed))


@public("image.per_image_standardization")
@takes(image=TENSOR)
def per_image_standardization(image: Any) -> Tensor:
    """Images less their mean, divided by their standard deviation.

    Parameters
    ----------
    image
        Shape [..., height, width, channels]. The deviation is taken as one over the root of the
        number of elements at least.

    Examples
    --------
    >>> tf.image.per_image_standardization([[[1.0], [3.0]]]).eval().tolist()
    [[[-1.0], [1.0]]]
    """
    with scopes.name_scope(None, "per_image_standardization", [image]):
        given = convert_to_tensor(image, name="image")
        numbers = math_ops.cast(given, dtypes.float32)
        axes = [-3, -2, -1]
        mean = reductions.reduce_mean(numbers, axes, keepdims=True)
        distance = numbers - mean
        variance = reductions.reduce_mean(math_ops.square(distance), axes, keepdims=True)
        count = reductions.reduce_prod(array_ops.shape(numbers)[-3:])
        least = math_ops.rsqrt(math_ops.cast(count, dtypes.float32))
        return distance / math_ops.maximum(math_ops.sqrt(variance), least)
