"""Moving blocks of spatial dimensions into the batch or the channels, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, TENSOR, TEXT, one_of, takes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_creation, array_join
from millstream._impl.values import dtypes

space_to_batch_nd = public("space_to_batch_nd", "manip.space_to_batch_nd")(
    gen_ops.space_to_batch_nd
)
batch_to_space_nd = public("batch_to_space_nd", "manip.batch_to_space_nd")(
    gen_ops.batch_to_space_nd
)


def _square(block_size: Any, block_shape: Any) -> Any:
    """A square block of images, of a size under either of its names."""
    size = one_of(block_shape, block_size, "block_shape", "block_size")
    if size is None:
        raise ValueError("block_shape: expected the size of a block, got None")
    return np.array([size, size], np.int64)


@public("space_to_batch", "nn.space_to_batch")
@takes(input=TENSOR, paddings=TENSOR, block_size=INTEGER, block_shape=INTEGER)
def space_to_batch(
    input: Any,  # noqa: A002
    paddings: Any,
    block_size: Any = None,
    name: str | None = None,
    block_shape: Any = None,
) -> Tensor:
    """Cut images into square blocks, whose pixels become entries of the batch.

    Parameters
    ----------
    input
        Shape [batch, height, width, channels].
    paddings
        Zeros before and after height and width: [[top, bottom], [left, right]].
    block_size
        Height and width of a block. They divide those of the padded images.
    name
        Name of the result.
    block_shape
        Another name of `block_size`.

    Examples
    --------
    >>> image = tf.reshape(tf.range(4), [1, 2, 2, 1])
    >>> tf.space_to_batch(image, [[0, 0], [0, 0]], 2).eval().ravel().tolist()
    [0, 1, 2, 3]
    """
    found: Tensor = gen_ops.space_to_batch_nd(
        input, _square(block_size, block_shape), paddings, name
    )
    found.set_shape(found.shape.with_rank(4))
    return found


@public("batch_to_space")
@takes(input=TENSOR, crops=TENSOR, block_size=INTEGER, block_shape=INTEGER)
def batch_to_space(
    input: Any,  # noqa: A002
    crops: Any,
    block_size: Any = None,
    name: str | None = None,
    block_shape: Any = None,
) -> Tensor:
    """Put entries of the batch together to square blocks of images.

    Parameters
    ----------
    input
        Shape [batch, height, width, channels].
    crops
        What is cut off height and width of the result: [[top, bottom], [left, right]].
    block_size
        Height and width of a block. Their product divides the batch.
    name
        Name of the result.
    block_shape
        Another name of `block_size`.

    Examples
    --------
    >>> parts = tf.reshape(tf.range(4), [4, 1, 1, 1])
    >>> tf.batch_to_space(parts, [[0, 0], [0, 0]], 2).shape.as_list()
    [1, 2, 2, 1]
    """
    found: Tensor = gen_ops.batch_to_space_nd(input, _square(block_size, block_shape), crops, name)
    found.set_shape(found.shape.with_rank(4))
    return found


@public("space_to_depth", "nn.space_to_depth")
@takes(input=TENSOR, block_size=INTEGER, data_format=TEXT)
def space_to_depth(
    input: Any,  # noqa: A002
    block_size: int,
    name: str | None = None,
    data_format: str = "NHWC",
) -> Tensor:
    """Make each square block of pixels one pixel, with all their channels.

    Parameters
    ----------
    input
        Shape [batch, height, width, channels] (or in the order of `data_format`).
    block_size
        Height and width of a block, at least 2. It divides those of the images.
    name
        Name of the result.
    data_format
        "NHWC" or "NCHW".

    Examples
    --------
    >>> image = tf.reshape(tf.range(4), [1, 2, 2, 1])
    >>> tf.nn.space_to_depth(image, 2).eval().tolist()
    [[[[0, 1, 2, 3]]]]
    """
    return gen_ops.space_to_depth(input, block_size, data_format, name)


@public("depth_to_space", "nn.depth_to_space")
@takes(input=TENSOR, block_size=INTEGER, data_format=TEXT)
def depth_to_space(
    input: Any,  # noqa: A002
    block_size: int,
    name: str | None = None,
    data_format: str = "NHWC",
) -> Tensor:
    """Make each pixel a square block of pixels, which share its channels.

    Parameters
    ----------
    input
        Shape [batch, height, width, channels] (or in the order of `data_format`).
    block_size
        Height and width of a block, at least 2. Its square divides the channels.
    name
        Name of the result.
    data_format
        "NHWC" or "NCHW".

    Examples
    --------
    >>> tf.nn.depth_to_space([[[[0, 1, 2, 3]]]], 2).eval().reshape([2, 2]).tolist()
    [[0, 1], [2, 3]]
    """
    return gen_ops.depth_to_space(input, block_size, data_format, name)


@public("required_space_to_batch_paddings")
@takes(input_shape=TENSOR, block_shape=TENSOR, base_paddings=TENSOR)
def required_space_to_batch_paddings(
    input_shape: Any,
    block_shape: Any,
    base_paddings: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The padding with which blocks divide a tensor, and what to crop afterwards.

    Parameters
    ----------
    input_shape
        The sizes of the dimensions that are cut into blocks.
    block_shape
        The size of a block in each.
    base_paddings
        Pairs of the least padding; none by default.
    name
        Name of the scope.

    Returns
    -------
    tuple of Tensor
        `paddings` for `space_to_batch_nd` and `crops` for `batch_to_space_nd`. They are constants
        if the arguments are.

    Raises
    ------
    ValueError
        The length of `block_shape` is not known, or the others have another length.

    Examples
    --------
    >>> paddings, crops = tf.required_space_to_batch_paddings([5], [3], [[1, 0]])
    >>> paddings.eval().tolist(), crops.eval().tolist()
    ([[1, 0]], [[0, 0]])
    """
    given = [input_shape, block_shape, base_paddings]
    with scopes.name_scope(name, "required_space_to_batch_paddings", given):
        sizes = convert_to_tensor(input_shape, dtypes.int32, "input_shape")
        blocks = convert_to_tensor(block_shape, dtypes.int32, "block_shape")
        count = blocks.shape.with_rank(1).as_list()[0]
        if count is None:
            raise ValueError("block_shape: expected a vector of known length")
        if count == 0:
            empty = array_creation.zeros([0, 2], dtypes.int32)
            return empty, empty
        sizes.shape.assert_is_compatible_with([count])
        base = convert_to_tensor(
            np.zeros((count, 2), np.int32) if base_paddings is None else base_paddings,
            dtypes.int32,
            "base_paddings",
        )
        base.shape.assert_is_compatible_with([count, 2])
        known = [constant_value(tensor) for tensor in (sizes, blocks, base)]
        if all(value is not None for value in known):
            sizes, blocks, base = known
        start, end = base[:, 0], base[:, 1]
        more = (blocks - (sizes + start + end) % blocks) % blocks
        last = end + more
        zero = np.int32(0)
        paddings = [[start[i], last[i]] for i in range(count)]
        crops = [[zero, more[i]] for i in range(count)]
        return array_join.stack(paddings, name="paddings"), array_join.stack(crops, name="crops")
