"""Images in other sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import FLAG, TENSOR, takes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.image_arguments import as_batch, as_given, image_tensor, sizes_of
from millstream._impl.ops import array_join, math_ops
from millstream._impl.values import dtypes

resize_area = public("image.resize_area")(gen_ops.resize_area)


@public("image.ResizeMethod")
class ResizeMethod:
    """How images are resized: an argument of `resize_images`.

    Examples
    --------
    >>> tf.image.ResizeMethod.BICUBIC
    2
    """

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = {
    ResizeMethod.BILINEAR: gen_ops.resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: gen_ops.resize_nearest_neighbor,
    ResizeMethod.BICUBIC: gen_ops.resize_bicubic,
    ResizeMethod.AREA: gen_ops.resize_area,
    "bilinear": gen_ops.resize_bilinear,
    "nearest": gen_ops.resize_nearest_neighbor,
    "bicubic": gen_ops.resize_bicubic,
    "area": gen_ops.resize_area,
}


@public("image.resize_bilinear")
@takes(images=TENSOR, size=TENSOR)
def resize_bilinear(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images resized by linear interpolation in both directions.

    Parameters
    ----------
    images
        Shape [batch, height, width, channels].
    size
        The new height and width.
    align_corners
        Whether the centres of the corners' pixels keep their places.
    name
        Name of the result.
    half_pixel_centers
        Whether places are those of the pixels' centres.

    Examples
    --------
    >>> tf.image.resize_bilinear([[[[0.0], [2.0]]]], [1, 3], align_corners=True).eval().tolist()
    [[[[0.0], [1.0], [2.0]]]]
    """
    return gen_ops.resize_bilinear(images, size, align_corners, half_pixel_centers, name)


@public("image.resize_nearest_neighbor")
@takes(images=TENSOR, size=TENSOR)
def resize_nearest_neighbor(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images resized by taking the nearest pixel.

    Parameters
    ----------
    images, size, align_corners, name, half_pixel_centers
        As for `resize_bilinear`.

    Examples
    --------
    >>> tf.image.resize_nearest_neighbor([[[[1], [2]]]], [1, 4]).eval().tolist()
    [[[[1], [1], [2], [2]]]]
    """
    return gen_ops.resize_nearest_neighbor(images, size, align_corners, half_pixel_centers, name)


@public("image.resize_bicubic")
@takes(images=TENSOR, size=TENSOR)
def resize_bicubic(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images resized by cubic convolution in both directions.

    Parameters
    ----------
    images, size, align_corners, name, half_pixel_centers
        As for `resize_bilinear`.

    Examples
    --------
    >>> tf.image.resize_bicubic(tf.ones([1, 2, 2, 3]), [4, 4]).shape.as_list()
    [1, 4, 4, 3]
    """
    return gen_ops.resize_bicubic(images, size, align_corners, half_pixel_centers, name)


@public("image.resize_images", "image.resize")
@takes(images=TENSOR, size=TENSOR, preserve_aspect_ratio=FLAG)
def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images in another size.

    Parameters
    ----------
    images
        Shape [height, width, channels] or [batch, height, width, channels].
    size
        The new height and width.
    method
        One of `ResizeMethod`, or "bilinear", "nearest", "bicubic" or "area".
    align_corners
        Whether the centres of the corners' pixels keep their places.
    preserve_aspect_ratio
        Whether the new size is the largest one with the old ratio of height and width that `size`
        contains.
    name
        Name of the scope.

    Returns
    -------
    Tensor
        Of float32, but for the nearest neighbor, or if the size is known to be the old one.

    Raises
    ------
    ValueError
        The rank is not known, or `size` or `method` is not of this kind.

    Examples
    --------
    >>> tf.image.resize_images(tf.ones([2, 2, 3]), [4, 6]).shape.as_list()
    [4, 6, 3]
    """
    with scopes.name_scope(name, "resize", [images, size]):
        batch, is_single = as_batch(image_tensor(images, "images"))
        new = convert_to_tensor(size, dtypes.int32, "size")
        if not new.shape.is_compatible_with([2]):
            raise ValueError(f"size: must be a 1-D tensor of 2 elements, got shape {new.shape}")
        if preserve_aspect_ratio:
            new = _with_ratio_of(batch, new)
        known = constant_value(new)
        if known is not None and list(sizes_of(batch)) == known.tolist():
            return as_given(batch, is_single)
        if method not in _METHODS:
            raise ValueError(f"method: Resize method is not implemented, got {method!r}")
        return as_given(_METHODS[method](batch, new, align_corners=align_corners), is_single)


def _with_ratio_of(images: Tensor, size: Tensor) -> Tensor:
    """The largest size within `size` that has the ratio of the images."""
    height, width = sizes_of(images)
    known = constant_value(size)
    if known is not None and not isinstance(height, Tensor) and not isinstance(width, Tensor):
        old = np.array([height, width], np.float32)
        scale = np.min(known.astype(np.float32) / old)
        return convert_to_tensor(np.rint(scale * old).astype(np.int32), name="size")
    old = math_ops.cast(array_join.stack([height, width]), dtypes.float32)
    scales = math_ops.cast(size, dtypes.float32) / old
    scale = math_ops.minimum(scales[0], scales[1])
    return math_ops.cast(gen_ops.round(scale * old), dtypes.int32)
