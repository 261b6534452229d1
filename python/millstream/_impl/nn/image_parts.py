"""Parts of images, and images with margins."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import NUMBER, TENSOR, TEXT, one_of, or_none, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.image_arguments import (
    after,
    as_batch,
    as_given,
    image_tensor,
    known_value,
    least,
    most,
    required,
    sizes_of,
)
from millstream._impl.nn.image_sizes import ResizeMethod, resize_images
from millstream._impl.ops import array_join, array_layout, array_ops, math_ops
from millstream._impl.values import dtypes


@public("image.crop_to_bounding_box")
@takes(
    image=TENSOR,
    offset_height=NUMBER,
    offset_width=NUMBER,
    target_height=NUMBER,
    target_width=NUMBER,
)
def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """A part of each image.

    Parameters
    ----------
    image
        Shape [height, width, channels] or [batch, height, width, channels].
    offset_height, offset_width
        Where the part begins.
    target_height, target_width
        Its size.

    Raises
    ------
    ValueError
        The part is known not to lie in the image. A step raises InvalidArgumentError for that.

    Examples
    --------
    >>> tf.image.crop_to_bounding_box([[[1], [2], [3]]], 0, 1, 1, 2).eval().tolist()
    [[[2], [3]]]
    """
    with scopes.name_scope(None, "crop_to_bounding_box", [image]):
        batch, is_single = as_batch(image_tensor(image))
        height, width = sizes_of(batch)
        checks = [
            *required(offset_width >= 0, "offset_width must be >= 0."),
            *required(offset_height >= 0, "offset_height must be >= 0."),
            *required(target_width > 0, "target_width must be > 0."),
            *required(target_height > 0, "target_height must be > 0."),
            *required(width >= target_width + offset_width, "width must be >= target + offset."),
            *required(
                height >= target_height + offset_height, "height must be >= target + offset."
            ),
        ]
        begin = array_join.stack([0, offset_height, offset_width, 0])
        size = array_join.stack([-1, target_height, target_width, -1])
        part = array_ops.slice(after(checks, batch), begin, size)
        return as_given(part, is_single)


@public("image.pad_to_bounding_box")
@takes(
    image=TENSOR,
    offset_height=NUMBER,
    offset_width=NUMBER,
    target_height=NUMBER,
    target_width=NUMBER,
)
def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Images with margins of zeros.

    Parameters
    ----------
    image
        Shape [height, width, channels] or [batch, height, width, channels].
    offset_height, offset_width
        Where an image begins in the result.
    target_height, target_width
        The size of the result.

    Raises
    ------
    ValueError
        The image is known not to fit. A step raises InvalidArgumentError for that.

    Examples
    --------
    >>> tf.image.pad_to_bounding_box([[[7]]], 0, 1, 1, 3).eval().tolist()
    [[[0], [7], [0]]]
    """
    with scopes.name_scope(None, "pad_to_bounding_box", [image]):
        batch, is_single = as_batch(image_tensor(image))
        height, width = sizes_of(batch)
        below = target_height - offset_height - height
        right = target_width - offset_width - width
        checks = [
            *required(offset_height >= 0, "offset_height must be >= 0"),
            *required(offset_width >= 0, "offset_width must be >= 0"),
            *required(right >= 0, "width must be <= target - offset"),
            *required(below >= 0, "height must be <= target - offset"),
        ]
        margins = array_join.stack([0, 0, offset_height, below, offset_width, right, 0, 0])
        padded = array_layout.pad(after(checks, batch), array_ops.reshape(margins, [4, 2]))
        count, _, _, channels = batch.shape.as_list()
        padded.set_shape([count, known_value(target_height), known_value(target_width), channels])
        return as_given(padded, is_single)


@public("image.resize_image_with_crop_or_pad", "image.resize_with_crop_or_pad")
@takes(image=TENSOR, target_height=NUMBER, target_width=NUMBER)
def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Images of a size, by cutting or adding margins on both sides alike.

    Parameters
    ----------
    image
        Shape [height, width, channels] or [batch, height, width, channels].
    target_height, target_width
        The size.

    Raises
    ------
    ValueError
        The size is known not to be above zero.

    Examples
    --------
    >>> tf.image.resize_image_with_crop_or_pad([[[1], [2], [3]]], 2, 1).eval().tolist()
    [[[2]], [[0]]]
    """
    with scopes.name_scope(None, "resize_image_with_crop_or_pad", [image]):
        tensor = image_tensor(image)
        as_batch(tensor)
        checks = [
            *required(target_width > 0, "target_width must be > 0."),
            *required(target_height > 0, "target_height must be > 0."),
        ]
        tensor = after(checks, tensor)
        height, width = sizes_of(tensor)
        down, right = target_height - height, target_width - width
        cropped = crop_to_bounding_box(
            tensor,
            most(-down // 2, 0),
            most(-right // 2, 0),
            least(target_height, height),
            least(target_width, width),
        )
        return pad_to_bounding_box(
            cropped, most(down // 2, 0), most(right // 2, 0), target_height, target_width
        )


@public("image.resize_image_with_pad")
@takes(image=TENSOR, target_height=NUMBER, target_width=NUMBER)
def resize_image_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """Images resized within a size, with their ratio of height and width, and margins of zeros.

    Parameters
    ----------
    image
        Shape [height, width, channels] or [batch, height, width, channels].
    target_height, target_width
        The size of the result.
    method, align_corners
        As for `resize_images`.

    Raises
    ------
    ValueError
        The size is known not to be above zero.

    Examples
    --------
    >>> tf.image.resize_image_with_pad(tf.ones([2, 2, 1]), 2, 4).eval()[0, :, 0].tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    with scopes.name_scope(None, "resize_image_with_pad", [image]):
        tensor = image_tensor(image)
        as_batch(tensor)
        checks = [
            *required(target_width > 0, "target_width must be > 0."),
            *required(target_height > 0, "target_height must be > 0."),
        ]
        tensor = after(checks, tensor)
        size = _fitting(sizes_of(tensor), (target_height, target_width))
        before = [
            most((whole - part) // 2, 0)
            for whole, part in zip((target_height, target_width), size, strict=True)
        ]
        resized = resize_images(tensor, array_join.stack(list(size)), method, align_corners)
        return pad_to_bounding_box(resized, before[0], before[1], target_height, target_width)


def _fitting(sizes: tuple[Any, Any], target: tuple[Any, Any]) -> tuple[Any, Any]:
    """The largest size of the ratio of `sizes` that `target` contains."""
    if not any(isinstance(value, Tensor) for value in (*sizes, *target)):
        ratio = max(size / whole for size, whole in zip(sizes, target, strict=True))
        return int(sizes[0] / ratio), int(sizes[1] / ratio)
    old = [math_ops.cast(size, dtypes.float64) for size in sizes]
    wanted = [math_ops.cast(size, dtypes.float64) for size in target]
    ratio = math_ops.maximum(old[0] / wanted[0], old[1] / wanted[1])
    height, width = (math_ops.cast(math_ops.floor(size / ratio), dtypes.int32) for size in old)
    return height, width


@public("image.central_crop")
@takes(image=TENSOR, central_fraction=NUMBER)
def central_crop(image: Any, central_fraction: float) -> Tensor:
    """The middle of images.

    Parameters
    ----------
    image
        Shape [height, width, channels] or [batch, height, width, channels].
    central_fraction
        How much of height and width is left, above 0 and 1 at most.

    Raises
    ------
    ValueError
        The fraction is not in that range.

    Examples
    --------
    >>> tf.image.central_crop([[[1], [2], [3], [4]]] * 4, 0.5).eval().tolist()
    [[[2], [3]], [[2], [3]]]
    """
    with scopes.name_scope(None, "central_crop", [image]):
        if not 0 < central_fraction <= 1:
            raise ValueError(f"central_fraction: must be within (0, 1], got {central_fraction!r}")
        tensor = image_tensor(image)
        if central_fraction == 1:
            return tensor
        batch, is_single = as_batch(tensor)
        begins, sizes = [], []
        for size in sizes_of(batch):
            begin = _margin(size, central_fraction)
            begins.append(begin)
            sizes.append(size - begin * 2)
        part = array_ops.slice(
            batch, array_join.stack([0, *begins, 0]), array_join.stack([-1, *sizes, -1])
        )
        return as_given(part, is_single)


def _margin(size: Any, fraction: float) -> Any:
    if not isinstance(size, Tensor):
        return int((size - size * fraction) / 2)
    number = math_ops.cast(size, dtypes.float64)
    return math_ops.cast((number - number * fraction) / 2, dtypes.int32)


@public("image.crop_and_resize")
@takes(
    image=TENSOR,
    boxes=or_none(TENSOR),
    box_ind=or_none(TENSOR),
    crop_size=or_none(TENSOR),
    method=TEXT,
    extrapolation_value=NUMBER,
    box_indices=or_none(TENSOR),
)
def crop_and_resize(
    image: Any,
    boxes: Any,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Tensor:
    """Boxes of images, each resized.

    Parameters
    ----------
    image
        Shape [batch, height, width, channels].
    boxes
        Rows of y1, x1, y2, x2, where 0 and 1 are the centres of the first and last pixels.
    box_ind
        The image of each box.
    crop_size
        Height and width of the results.
    method
        "bilinear" or "nearest".
    extrapolation_value
        The number of places outside of the image.
    name
        Name of the result.
    box_indices
        Another name of `box_ind`.

    Examples
    --------
    >>> image = tf.reshape(tf.range(4.0), [1, 2, 2, 1])
    >>> tf.image.crop_and_resize(image, [[0.0, 0.0, 1.0, 1.0]], [0], [1, 1]).eval().tolist()
    [[[[1.5]]]]
    """
    indices = one_of(box_ind, box_indices, "box_ind", "box_indices")
    return gen_ops.crop_and_resize(
        image, boxes, indices, crop_size, method, float(extrapolation_value), name
    )


@public("image.extract_glimpse")
@takes(input=TENSOR, size=TENSOR, offsets=TENSOR)
def extract_glimpse(
    input: Any,  # noqa: A002
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """A window of each image.

    Parameters
    ----------
    input
        Shape [batch, height, width, channels].
    size
        Height and width of the windows.
    offsets
        Place of each window's middle, down and to the right, shape [batch, 2].
    centered
        Whether places count from the middle of the image, rather than from its corner.
    normalized
        Whether 1 is the edge of the image, rather than a pixel.
    uniform_noise
        Whether the noise over the edge of an image is uniform, rather than gaussian.
    name
        Name of the result.

    Examples
    --------
    >>> tf.image.extract_glimpse(tf.ones([1, 4, 4, 1]), [2, 2], [[0.0, 0.0]]).shape.as_list()
    [1, 2, 2, 1]
    """
    return gen_ops.extract_glimpse(
        input, size, offsets, centered, normalized, uniform_noise, name=name
    )
