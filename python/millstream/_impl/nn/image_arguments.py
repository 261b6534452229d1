"""What functions of images share: one image or a batch, sizes that may be known, checks."""

from __future__ import annotations

from typing import Any

from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_ops, check_ops, control_ops, math_ops


def image_tensor(image: Any, name: str = "image") -> Tensor:
    """The tensor of one image or of several; ValueError for another known rank."""
    tensor = convert_to_tensor(image, name=name)
    rank = tensor.shape.ndims
    if rank not in (None, 3, 4):
        raise ValueError(f"{name}: must have either 3 or 4 dimensions, got shape {tensor.shape}")
    return tensor


def as_batch(image: Tensor) -> tuple[Tensor, bool]:
    """Images with four dimensions, and whether there was one image alone."""
    if image.shape.ndims is None:
        raise ValueError("image: must have a known rank, 3 or 4")
    if image.shape.ndims == 4:
        return image, False
    return array_ops.expand_dims(image, 0), True


def as_given(images: Tensor, is_single: bool) -> Tensor:
    """What `as_batch` was given, again."""
    return array_ops.squeeze(images, [0]) if is_single else images


def sizes_of(image: Tensor) -> tuple[Any, Any]:
    """Height and width of images, which have three or four dimensions: numbers where known."""
    first = len(image.shape.as_list()) - 3
    known = image.shape.as_list()[first : first + 2]
    if None not in known:
        return known[0], known[1]
    dynamic = array_ops.shape(image)
    height, width = (dynamic[first + i] if known[i] is None else known[i] for i in range(2))
    return height, width


def known_value(value: Any) -> Any:
    """A number, or None for a tensor whose value is not known."""
    return constant_value(value) if isinstance(value, Tensor) else value


def required(holds: Any, message: str) -> list[Any]:
    """What must run before a result, so that the message is an error unless the condition holds.

    Raises
    ------
    ValueError
        It is known not to hold.
    """
    value = known_value(holds)
    if value is None:
        return [check_ops.Assert(holds, [message])]
    if not value:
        raise ValueError(message)
    return []


def after(checks: list[Any], tensor: Tensor) -> Tensor:
    """The tensor, once the checks ran."""
    return control_ops.with_dependencies(checks, tensor) if checks else tensor


def least(a: Any, b: Any) -> Any:
    """The smaller one of two sizes, a number where both are."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return math_ops.minimum(a, b)
    return min(a, b)


def most(a: Any, b: Any) -> Any:
    """The larger one of two sizes, a number where both are."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return math_ops.maximum(a, b)
    return max(a, b)
