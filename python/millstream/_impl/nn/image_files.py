"""Files of images."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import (
    DTYPE,
    FLAG,
    INTEGER,
    TENSOR,
    takes,
)
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.image_colors import convert_image_dtype
from millstream._impl.ops import check_ops, conditionals, random_ops
from millstream._impl.values import dtypes

decode_bmp = public("image.decode_bmp", "io.decode_bmp")(gen_ops.decode_bmp)
decode_png = public("image.decode_png", "io.decode_png")(gen_ops.decode_png)
decode_jpeg = public("image.decode_jpeg", "io.decode_jpeg")(gen_ops.decode_jpeg)
decode_and_crop_jpeg = public("image.decode_and_crop_jpeg", "io.decode_and_crop_jpeg")(
    gen_ops.decode_and_crop_jpeg
)
decode_gif = public("image.decode_gif", "io.decode_gif")(gen_ops.decode_gif)
encode_png = public("image.encode_png")(gen_ops.encode_png)
encode_jpeg = public("image.encode_jpeg", "io.encode_jpeg")(gen_ops.encode_jpeg)
extract_jpeg_shape = public("image.extract_jpeg_shape", "io.extract_jpeg_shape")(
    gen_ops.extract_jpeg_shape
)


def _begins(contents: Any, begin: bytes) -> Tensor:
    return gen_ops.equal(gen_ops.substr(contents, 0, len(begin)), begin)


@public("image.is_jpeg", "io.is_jpeg")
@takes(contents=TENSOR)
def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    r"""Whether a file begins as a JPEG file.

    Parameters
    ----------
    contents
        The bytes of the file, a string.
    name
        Name of the scope.

    Examples
    --------
    >>> bool(tf.image.is_jpeg(b"\xff\xd8\xff\xe0").eval())
    True
    """
    with scopes.name_scope(name, "is_jpeg", [contents]) as scope:
        return gen_ops.equal(gen_ops.substr(contents, 0, 3), b"\xff\xd8\xff", name=scope)


@public("image.decode_image", "io.decode_image")
@takes(contents=TENSOR, channels=INTEGER, dtype=DTYPE, expand_animations=FLAG)
def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The image of a JPEG, PNG, GIF or BMP file.

    The shape of the result is not known before the step: GIF files have a dimension more, for their
    frames.

    Parameters
    ----------
    contents
        The bytes of the file, a string.
    channels
        1 for shades of gray, 3 for red, green and blue, 4 with alpha; 0 or None for those of the
        file. GIF has 3, JPEG 1 or 3.
    dtype
        Type of the result, see `tf.image.convert_image_dtype`.
    name
        Name of the scope.
    expand_animations
        Whether all frames of a GIF file are given. The first one alone has three dimensions.

    Raises
    ------
    ValueError
        `channels` is another number.

    Examples
    --------
    >>> image = tf.constant([[[1, 2, 3]]], tf.uint8)
    >>> tf.image.decode_image(tf.image.encode_png(image)).eval().tolist()
    [[[1, 2, 3]]]
    """
    if channels not in (None, 0, 1, 3, 4):
        raise ValueError(f"channels: must be in (None, 0, 1, 3, 4), got {channels}")
    wanted = channels or 0
    result_type = dtypes.as_dtype(dtype)

    def png() -> Tensor:
        exact = dtypes.uint8 if result_type == dtypes.uint8 else dtypes.uint16
        image = gen_ops.decode_png(contents, wanted, exact)
        return convert_image_dtype(image, result_type)

    def jpeg() -> Tensor:
        with scopes.control_dependencies([_allowed(wanted, (0, 1, 3), "JPEG")]):
            return convert_image_dtype(gen_ops.decode_jpeg(contents, wanted), result_type)

    def gif() -> Tensor:
        with scopes.control_dependencies([_allowed(wanted, (0, 3), "GIF")]):
            frames = convert_image_dtype(gen_ops.decode_gif(contents), result_type)
        return frames if expand_animations else frames[0]

    def bmp() -> Tensor:
        known = check_ops.Assert(
            _begins(contents, b"BM"), ["Unable to decode bytes as JPEG, PNG, GIF, or BMP"]
        )
        with scopes.control_dependencies([known]):
            return convert_image_dtype(gen_ops.decode_bmp(contents, wanted), result_type)

    with scopes.name_scope(name, "decode_image", [contents]):
        contents = convert_to_tensor(contents, name="contents")
        kinds = [
            (is_jpeg(contents), jpeg),
            (_begins(contents, b"\x89PNG"), png),
            (_begins(contents, b"GIF"), gif),
        ]
        return conditionals.case(kinds, default=bmp)


def _allowed(channels: int, choices: tuple[int, ...], kind: str) -> Any:
    known = ", ".join(map(str, choices))
    message = f"Channels must be in (None, {known}) when decoding {kind} images, got {channels}"
    return check_ops.Assert(convert_to_tensor(channels in choices), [message])


@public("image.adjust_jpeg_quality")
@takes(image=TENSOR, jpeg_quality=TENSOR)
def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Tensor:
    """An image as it comes back from a JPEG file.

    Parameters
    ----------
    image
        Shape [height, width, channels], with 1 or 3 channels.
    jpeg_quality
        Quality of the file, an integer from 0 to 100.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.image.adjust_jpeg_quality(tf.fill([8, 8, 1], 1.0), 90)[0, 0].eval().tolist()
    [1.0]
    """
    with scopes.name_scope(name, "adjust_jpeg_quality", [image]):
        tensor = convert_to_tensor(image, name="image")
        quality = convert_to_tensor(jpeg_quality, dtype=dtypes.int32, name="jpeg_quality")
        file = gen_ops.encode_jpeg_variable_quality(
            convert_image_dtype(tensor, dtypes.uint8, saturate=True), quality
        )
        result = convert_image_dtype(gen_ops.decode_jpeg(file), tensor.dtype)
        result.set_shape(tensor.shape)
        return result


@public("image.random_jpeg_quality")
@takes(image=TENSOR, min_jpeg_quality=INTEGER, max_jpeg_quality=INTEGER, seed=INTEGER)
def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """An image as it comes back from a JPEG file of random quality.

    Parameters
    ----------
    image
        Shape [height, width, channels], with 1 or 3 channels.
    min_jpeg_quality
        The least quality.
    max_jpeg_quality
        Qualities are below it.
    seed
        Seed of the operation, see `set_random_seed`.

    Raises
    ------
    ValueError
        A quality is not from 0 to 100, or the first is not the smaller one.

    Examples
    --------
    >>> image = tf.fill([8, 8, 1], 1.0)
    >>> tf.image.random_jpeg_quality(image, 70, 95, seed=1)[0, 0].eval().tolist()
    [1.0]
    """
    for bound in (min_jpeg_quality, max_jpeg_quality):
        if not 0 <= bound <= 100:
            raise ValueError(f"jpeg encoding range must be between 0 and 100, got {bound}")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("min_jpeg_quality: must be less than max_jpeg_quality")
    quality = random_ops.random_uniform(
        [], min_jpeg_quality, max_jpeg_quality, dtypes.int32, seed=seed
    )
    return adjust_jpeg_quality(image, quality)
