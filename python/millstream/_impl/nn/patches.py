"""Patches: the elements of each window of images and volumes."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGERS, TENSOR, TEXT, one_of, or_none, takes
from millstream._impl.graph.operation import Tensor


@public("image.extract_image_patches", "extract_image_patches")
@takes(
    images=TENSOR,
    ksizes=or_none(INTEGERS),
    strides=INTEGERS,
    rates=INTEGERS,
    padding=TEXT,
    sizes=INTEGERS,
)
def extract_image_patches(
    images: Any,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    sizes: Any = None,
) -> Tensor:
    """The elements of each window of images, as one vector.

    Parameters
    ----------
    images
        Shape [batch, height, width, channels].
    ksizes
        Size of the window in each of the four dimensions, 1 for batch and channels.
    strides
        Its step, likewise.
    rates
        Distance of its elements, likewise.
    padding
        "SAME", with zeros outside of the image, or "VALID".
    name
        Name of the result.
    sizes
        Another name of `ksizes`.

    Returns
    -------
    Tensor
        Shape [batch, rows, columns, window height * window width * channels].

    Raises
    ------
    ValueError
        The rank is not 4, or the window does not fit.

    Examples
    --------
    >>> image = tf.reshape(tf.range(9), [1, 3, 3, 1])
    >>> ones = [1, 1, 1, 1]
    >>> tf.image.extract_image_patches(image, [1, 2, 2, 1], ones, ones, "VALID").eval()[0, 0]
    array([[0, 1, 3, 4],
           [1, 2, 4, 5]], dtype=int32)
    """
    size = one_of(ksizes, sizes, "ksizes", "sizes")
    return gen_ops.extract_image_patches(images, size, strides, rates, padding, name=name)


@public("image.extract_patches")
@takes(images=TENSOR, sizes=INTEGERS, strides=INTEGERS, rates=INTEGERS, padding=TEXT)
def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """The elements of each window of images; `extract_image_patches` with another second name.

    Parameters
    ----------
    images, sizes, strides, rates, padding, name
        As for `extract_image_patches`.

    Examples
    --------
    >>> ones = [1, 1, 1, 1]
    >>> images = tf.ones([1, 4, 4, 2])
    >>> tf.image.extract_patches(images, [1, 3, 3, 1], ones, ones, "SAME").shape.as_list()
    [1, 4, 4, 18]
    """
    return extract_image_patches(images, sizes, strides, rates, padding, name)


@public("extract_volume_patches")
@takes(input=TENSOR, ksizes=INTEGERS, strides=INTEGERS, padding=TEXT)
def extract_volume_patches(
    input: Any,  # noqa: A002
    ksizes: Any,
    strides: Any,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The elements of each window of volumes, as one vector.

    Parameters
    ----------
    input
        Shape [batch, depth, height, width, channels].
    ksizes
        Size of the window in each of the five dimensions, 1 for batch and channels.
    strides
        Its step, likewise.
    padding
        "SAME", with zeros outside of the volume, or "VALID".
    name
        Name of the result.

    Raises
    ------
    ValueError
        The rank is not 5, or the window does not fit.

    Examples
    --------
    >>> volumes, ones = tf.ones([1, 3, 4, 4, 2]), [1, 1, 1, 1, 1]
    >>> tf.extract_volume_patches(volumes, [1, 2, 2, 2, 1], ones, "VALID").shape.as_list()
    [1, 2, 3, 3, 16]
    """
    return gen_ops.extract_volume_patches(input, ksizes, strides, padding, name=name)
