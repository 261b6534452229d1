"""Colors in other spaces: gray, YIQ, YUV, HSV."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.image_colors import as_floats, convert_image_dtype
from millstream._impl.ops import array_ops, reductions, tensordot_ops

rgb_to_hsv = public("image.rgb_to_hsv")(gen_ops.rgb_to_hsv)
hsv_to_rgb = public("image.hsv_to_rgb")(gen_ops.hsv_to_rgb)


@public("image.rgb_to_grayscale")
@takes(images=TENSOR)
def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """Colors as shades of gray.

    Parameters
    ----------
    images
        The last dimension is of red, green and blue.
    name
        Name of the result.

    Examples
    --------
    >>> tf.image.rgb_to_grayscale(tf.constant([[[255, 255, 255]]], tf.uint8)).eval().tolist()
    [[[255]]]
    """
    with scopes.name_scope(name, "rgb_to_grayscale", [images]) as scope:
        tensor = convert_to_tensor(images, name="images")
        numbers = as_floats(tensor)
        weights = convert_to_tensor([0.2989, 0.5870, 0.1140], numbers.dtype)
        gray = reductions.reduce_sum(numbers * weights, -1, keepdims=True)
        return convert_image_dtype(gray, tensor.dtype, name=scope)


@public("image.grayscale_to_rgb")
@takes(images=TENSOR)
def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Shades of gray as colors.

    Parameters
    ----------
    images
        The last dimension has one channel.
    name
        Name of the result.

    Examples
    --------
    >>> tf.image.grayscale_to_rgb([[[7]]]).eval().tolist()
    [[[7, 7, 7]]]
    """
    with scopes.name_scope(name, "grayscale_to_rgb", [images]) as scope:
        tensor = convert_to_tensor(images, name="images")
        if tensor.shape.ndims is None:
            raise ValueError("images: must have a known rank")
        return array_ops.tile(tensor, [1] * (tensor.shape.ndims - 1) + [3], scope)


def _by_matrix(images: Any, matrix: list[list[float]], name: str) -> Tensor:
    with scopes.name_scope(None, name, [images]):
        tensor = convert_to_tensor(images, name="images")
        if tensor.shape.ndims is None:
            raise ValueError("images: must have a known rank")
        weights = convert_to_tensor(matrix, tensor.dtype, "kernel")
        return tensordot_ops.tensordot(tensor, weights, [[tensor.shape.ndims - 1], [0]])


@public("image.rgb_to_yiq")
@takes(images=TENSOR)
def rgb_to_yiq(images: Any) -> Tensor:
    """Colors as brightness and two differences, as the NTSC standard has them.

    Parameters
    ----------
    images
        The last dimension is of red, green and blue, of a floating-point type.

    Examples
    --------
    >>> tf.image.rgb_to_yiq([[[1.0, 1.0, 1.0]]]).eval().round(3)[0, 0, 0]
    1.0
    """
    matrix = [
        [0.299, 0.59590059, 0.2115],
        [0.587, -0.27455667, -0.52273617],
        [0.114, -0.32134392, 0.31119955],
    ]
    return _by_matrix(images, matrix, "rgb_to_yiq")


@public("image.yiq_to_rgb")
@takes(images=TENSOR)
def yiq_to_rgb(images: Any) -> Tensor:
    """Red, green and blue of the colors that `rgb_to_yiq` gives.

    Parameters
    ----------
    images
        The last dimension is of Y, I and Q, of a floating-point type.

    Examples
    --------
    >>> tf.image.yiq_to_rgb([[[1.0, 0.0, 0.0]]]).eval().tolist()
    [[[1.0, 1.0, 1.0]]]
    """
    matrix = [
        [1.0, 1.0, 1.0],
        [0.95598634, -0.27201283, -1.10674021],
        [0.6208248, -0.64720424, 1.70423049],
    ]
    return _by_matrix(images, matrix, "yiq_to_rgb")


@public("image.rgb_to_yuv")
@takes(images=TENSOR)
def rgb_to_yuv(images: Any) -> Tensor:
    """Colors as brightness and two differences, as the PAL standard has them.

    Parameters
    ----------
    images
        The last dimension is of red, green and blue, of a floating-point type.

    Examples
    --------
    >>> tf.image.rgb_to_yuv([[[1.0, 1.0, 1.0]]]).eval().round(3)[0, 0, 0]
    1.0
    """
    matrix = [
        [0.299, -0.14714119, 0.61497538],
        [0.587, -0.28886916, -0.51496512],
        [0.114, 0.43601035, -0.10001026],
    ]
    return _by_matrix(images, matrix, "rgb_to_yuv")


@public("image.yuv_to_rgb")
@takes(images=TENSOR)
def yuv_to_rgb(images: Any) -> Tensor:
    """Red, green and blue of the colors that `rgb_to_yuv` gives.

    Parameters
    ----------
    images
        The last dimension is of Y, U and V, of a floating-point type.

    Examples
    --------
    >>> tf.image.yuv_to_rgb([[[1.0, 0.0, 0.0]]]).eval().tolist()
    [[[1.0, 1.0, 1.0]]]
    """
    matrix = [
        [1.0, 1.0, 1.0],
        [0.0, -0.394642334, 2.03206185],
        [1.13988303, -0.58062185, 0.0],
    ]
    return _by_matrix(images, matrix, "yuv_to_rgb")
