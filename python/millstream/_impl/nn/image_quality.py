"""How images differ: variation, edges, and measures of quality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, LIST, NUMBER, TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn import activations, depthwise_convolutions, windows
from millstream._impl.nn.image_arguments import after
from millstream._impl.nn.image_colors import convert_image_dtype
from millstream._impl.ops import (
    array_creation,
    array_join,
    array_layout,
    array_ops,
    check_ops,
    math_ops,
    reductions,
)
from millstream._impl.values import dtypes

_POWERS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


@public("image.total_variation")
@takes(images=TENSOR)
def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of the absolute differences of neighbours, in both directions.

    Parameters
    ----------
    images
        Shape [height, width, channels] or [batch, height, width, channels].
    name
        Name of the scope.

    Raises
    ------
    ValueError
        `images` has another known rank.

    Examples
    --------
    >>> tf.image.total_variation([[[1.0], [3.0]]]).eval()
    2.0
    """
    with scopes.name_scope(name, "total_variation", [images]):
        tensor = convert_to_tensor(images, name="images")
        if tensor.shape.ndims not in (3, 4):
            raise ValueError(f"images: must be either 3 or 4-dimensional, got shape {tensor.shape}")
        down = tensor[..., 1:, :, :] - tensor[..., :-1, :, :]
        right = tensor[..., 1:, :] - tensor[..., :-1, :]
        axes = [-3, -2, -1]
        return reductions.reduce_sum(math_ops.abs(down), axes) + reductions.reduce_sum(
            math_ops.abs(right), axes
        )


@public("image.image_gradients")
@takes(image=TENSOR)
def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """The differences of neighbours, down and to the right, with zeros at the end.

    Parameters
    ----------
    image
        Shape [batch, height, width, channels].

    Raises
    ------
    ValueError
        `image` has another rank.

    Examples
    --------
    >>> down, right = tf.image.image_gradients([[[[1.0], [3.0]]]])
    >>> right.eval().tolist()
    [[[[2.0], [0.0]]]]
    """
    with scopes.name_scope(None, "image_gradients", [image]):
        tensor = convert_to_tensor(image, name="image")
        if tensor.shape.ndims != 4:
            raise ValueError(
                "image: image_gradients expects a 4D tensor [batch_size, h, w, d], not "
                f"{tensor.shape}."
            )
        down = tensor[:, 1:] - tensor[:, :-1]
        right = tensor[:, :, 1:] - tensor[:, :, :-1]
        row = array_creation.zeros_like(tensor[:, :1])
        column = array_creation.zeros_like(tensor[:, :, :1])
        return array_join.concat([down, row], 1), array_join.concat([right, column], 2)


@public("image.sobel_edges")
@takes(image=TENSOR)
def sobel_edges(image: Any) -> Tensor:
    """Edges of images, by Sobel's operator.

    Parameters
    ----------
    image
        Shape [batch, height, width, channels], of a floating-point type.

    Returns
    -------
    Tensor
        Shape [batch, height, width, channels, 2]: the change downwards, and to the right.

    Examples
    --------
    >>> tf.image.sobel_edges(tf.ones([1, 4, 4, 3])).shape.as_list()
    [1, 4, 4, 3, 2]
    """
    with scopes.name_scope(None, "sobel_edges", [image]):
        tensor = convert_to_tensor(image, name="image")
        channels = tensor.shape.as_list()[3]
        if channels is None:
            raise ValueError("image: must have a known number of channels")
        down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
        both = np.stack([down, down.T], -1)
        kernels = np.repeat(both[:, :, None], channels, 2)
        weights = convert_to_tensor(kernels.astype(tensor.dtype.as_numpy_dtype))
        padded = array_layout.pad(tensor, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
        edges = depthwise_convolutions.depthwise_conv2d(padded, weights, [1, 1, 1, 1], "VALID")
        shape = array_join.concat([array_ops.shape(tensor), [2]], 0)
        result = array_ops.reshape(edges, shape)
        result.set_shape(tensor.shape.concatenate([2]))
        return result


# ---- Two images ----


def _pair(first: Any, second: Any, names: tuple[str, str]) -> tuple[Tensor, Tensor, list[Any]]:
    """Two batches of images of one size, and what checks that in a step."""
    a = convert_to_tensor(first, name=names[0])
    b = convert_to_tensor(second, name=names[1])
    for tensor, name in ((a, names[0]), (b, names[1])):
        if tensor.shape.ndims is not None and tensor.shape.ndims < 3:
            raise ValueError(f"{name}: must have at least 3 dimensions, got {tensor.shape}")
    if a.shape.ndims is not None and b.shape.ndims is not None:
        if not a.shape[-3:].is_compatible_with(b.shape[-3:]):
            raise ValueError(
                f"{names[1]}: Shapes {a.shape} and {b.shape} are incompatible: expected the "
                f"height, width and channels of {names[0]}"
            )
        if a.shape[-3:].is_fully_defined() and b.shape[-3:].is_fully_defined():
            return a, b, []
    differences = array_ops.shape(a)[-3:] - array_ops.shape(b)[-3:]
    same = reductions.reduce_all(gen_ops.equal(differences, 0))
    return a, b, [check_ops.Assert(same, [array_ops.shape(a), array_ops.shape(b)])]


@public("image.psnr")
@takes(a=TENSOR, b=TENSOR, max_val=NUMBER)
def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio of each two images, in decibels.

    Parameters
    ----------
    a, b
        Shape [..., height, width, channels].
    max_val
        The difference of the largest and the smallest number that there may be.
    name
        Name of the result.

    Examples
    --------
    >>> tf.image.psnr(tf.zeros([1, 2, 2, 1]), tf.ones([1, 2, 2, 1]) * 0.1, 1.0).eval().round()
    array([20.], dtype=float32)
    """
    with scopes.name_scope(name, "psnr", [a, b]) as scope:
        first, second, checks = _pair(a, b, ("a", "b"))
        peak = convert_image_dtype(math_ops.cast(max_val, first.dtype), dtypes.float32)
        first = convert_image_dtype(first, dtypes.float32)
        second = convert_image_dtype(second, dtypes.float32)
        difference = after(checks, first) - second
        error = reductions.reduce_mean(math_ops.square(difference), [-3, -2, -1])
        scale = float(10 / np.log(10))
        return math_ops.subtract(
            2 * scale * math_ops.log(peak), scale * math_ops.log(error), name=scope
        )


def _gaussian(size: int, sigma: float, channels: int) -> Any:
    """A window of weights with the sum 1, for each channel."""
    places = np.arange(size, dtype=np.float64) - (size - 1) / 2
    line = np.exp(-0.5 * (places / sigma) ** 2)
    window = np.outer(line, line)
    window /= window.sum()
    return np.repeat(window[:, :, None, None], channels, 2).astype(np.float32)


def _similarity(
    x: Tensor, y: Tensor, max_val: Tensor, size: int, sigma: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """Structural similarity of each channel, and the part of it without luminance.

    Z. Wang and others: Image quality assessment: from error visibility to structural similarity
    (2004).
    """
    channels = x.shape.as_list()[-1]
    if channels is None:
        raise ValueError("img1: must have a known number of channels")
    weights = convert_to_tensor(_gaussian(size, sigma, channels))

    def mean(tensor: Tensor) -> Tensor:
        shape = array_ops.shape(tensor)
        flat = array_ops.reshape(tensor, array_join.concat([[-1], shape[-3:]], 0))
        result = depthwise_convolutions.depthwise_conv2d(flat, weights, [1, 1, 1, 1], "VALID")
        outer = array_join.concat([shape[:-3], array_ops.shape(result)[1:]], 0)
        return array_ops.reshape(result, outer)

    c1, c2 = math_ops.square(k1 * max_val), math_ops.square(k2 * max_val)
    mean_x, mean_y = mean(x), mean(y)
    products = mean_x * mean_y * 2.0
    squares = math_ops.square(mean_x) + math_ops.square(mean_y)
    luminance = (products + c1) / (squares + c1)
    structure = (mean(x * y) * 2.0 - products + c2) / (
        mean(math_ops.square(x) + math_ops.square(y)) - squares + c2
    )
    axes = [-3, -2]
    return (
        reductions.reduce_mean(luminance * structure, axes),
        reductions.reduce_mean(structure, axes),
    )


def _float_pair(img1: Any, img2: Any, max_val: Any) -> tuple[Tensor, Tensor, Tensor, list[Any]]:
    first, second, checks = _pair(img1, img2, ("img1", "img2"))
    peak = convert_image_dtype(math_ops.cast(max_val, first.dtype), dtypes.float32)
    x = convert_image_dtype(first, dtypes.float32)
    y = convert_image_dtype(second, dtypes.float32)
    return x, y, peak, checks


@public("image.ssim")
@takes(
    img1=TENSOR,
    img2=TENSOR,
    max_val=NUMBER,
    filter_size=INTEGER,
    filter_sigma=NUMBER,
    k1=NUMBER,
    k2=NUMBER,
)
def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity of each two images.

    Z. Wang and others: Image quality assessment: from error visibility to structural similarity
    (2004).

    Parameters
    ----------
    img1, img2
        Shape [..., height, width, channels].
    max_val
        The difference of the largest and the smallest number that there may be.
    filter_size, filter_sigma
        Size and deviation of the window, a Gaussian.
    k1, k2
        What keeps quotients of small numbers stable.

    Examples
    --------
    >>> image = tf.ones([1, 12, 12, 1])
    >>> tf.image.ssim(image, image, 1.0).eval().tolist()
    [1.0]
    """
    with scopes.name_scope(None, "SSIM", [img1, img2]):
        x, y, peak, checks = _float_pair(img1, img2, max_val)
        x = after(checks, x)
        similarity, _ = _similarity(x, y, peak, filter_size, filter_sigma, k1, k2)
        return reductions.reduce_mean(similarity, [-1])


@public("image.ssim_multiscale")
@takes(
    img1=TENSOR,
    img2=TENSOR,
    max_val=NUMBER,
    power_factors=LIST,
    filter_size=INTEGER,
    filter_sigma=NUMBER,
    k1=NUMBER,
    k2=NUMBER,
)
def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Sequence[float] = _POWERS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity of each two images, at several scales.

    Z. Wang and others: Multiscale structural similarity for image quality assessment (2003).

    Parameters
    ----------
    img1, img2, max_val, filter_size, filter_sigma, k1, k2
        As for `ssim`.
    power_factors
        The weight of each scale. Each is half as large as the one before, and the smallest has
        `filter_size` pixels at least.

    Examples
    --------
    >>> image = tf.ones([1, 24, 24, 1])
    >>> tf.image.ssim_multiscale(image, image, 1.0, [0.5, 0.5]).eval().tolist()
    [1.0]
    """
    with scopes.name_scope(None, "MS-SSIM", [img1, img2]):
        x, y, peak, checks = _float_pair(img1, img2, max_val)
        x = after(checks, x)
        factors = list(power_factors)
        parts: list[Tensor] = []
        for scale in range(len(factors)):
            if scale > 0:
                x, y = _halved(x), _halved(y)
            whole, structure = _similarity(x, y, peak, filter_size, filter_sigma, k1, k2)
            parts.append(activations.relu(structure if scale + 1 < len(factors) else whole))
        powers = convert_to_tensor(factors, dtypes.float32)
        product = reductions.reduce_prod(array_join.stack(parts, -1) ** powers, [-1])
        return reductions.reduce_mean(product, [-1])


def _halved(images: Tensor) -> Tensor:
    """The means of squares of four pixels; a last odd row or column is doubled first."""
    shape = array_ops.shape(images)
    flat = array_ops.reshape(images, array_join.concat([[-1], shape[-3:]], 0))
    odd = shape[-3:-1] % 2
    margins = array_join.stack([0, 0, 0, odd[0], 0, odd[1], 0, 0])
    padded = array_layout.pad(flat, array_ops.reshape(margins, [4, 2]), "SYMMETRIC")
    halved = windows.avg_pool(padded, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    outer = array_join.concat([shape[:-3], array_ops.shape(halved)[1:]], 0)
    result = array_ops.reshape(halved, outer)
    static = images.shape.as_list()
    result.set_shape([None] * (len(static) - 1) + [static[-1]])
    return result
