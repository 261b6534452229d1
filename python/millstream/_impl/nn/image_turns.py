"""Images turned and mirrored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, TENSOR, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.image_arguments import image_tensor, known_value
from millstream._impl.ops import (
    array_ops,
    array_reverse,
    array_search,
    conditionals,
    math_ops,
    random_ops,
)
from millstream._impl.values import dtypes


def _first(image: Tensor) -> int:
    """The dimension of height."""
    return 1 if image.shape.ndims == 4 else 0


def _mirrored(image: Tensor, dimensions: list[int]) -> Tensor:
    return array_reverse.reverse(image, [_first(image) + d for d in dimensions])


def _swapped(image: Tensor, name: str | None = None) -> Tensor:
    order = [0, 2, 1, 3] if image.shape.ndims == 4 else [1, 0, 2]
    return array_ops.transpose(image, order, name)


@public("image.flip_left_right")
@takes(image=TENSOR)
def flip_left_right(image: Any) -> Tensor:
    """Images mirrored, so that left is right.

    Parameters
    ----------
    image
        Shape [height, width, channels] or [batch, height, width, channels].

    Examples
    --------
    >>> tf.image.flip_left_right([[[1], [2]]]).eval().tolist()
    [[[2], [1]]]
    """
    with scopes.name_scope(None, "flip_left_right", [image]):
        return _mirrored(image_tensor(image), [1])


@public("image.flip_up_down")
@takes(image=TENSOR)
def flip_up_down(image: Any) -> Tensor:
    """Images mirrored, so that the top is the bottom.

    Parameters
    ----------
    image
        Shape [height, width, channels] or [batch, height, width, channels].

    Examples
    --------
    >>> tf.image.flip_up_down([[[1]], [[2]]]).eval().tolist()
    [[[2]], [[1]]]
    """
    with scopes.name_scope(None, "flip_up_down", [image]):
        return _mirrored(image_tensor(image), [0])


def _at_random(
    image: Any, seed: int | None, name: str, turned: Callable[[Tensor], Tensor]
) -> Tensor:
    """Each image turned with a probability of a half."""
    with scopes.name_scope(None, name, [image]):
        tensor = image_tensor(image)
        if tensor.shape.ndims != 4:
            number = random_ops.random_uniform([], 0, 1.0, seed=seed)
            return conditionals.cond(number < 0.5, lambda: turned(tensor), lambda: tensor)
        batch = array_ops.shape(tensor)[0]
        numbers = random_ops.random_uniform(array_ops.reshape(batch, [1]), seed=seed)
        # Numbers of a batch are rounded: its upper half is turned, where an image's lower half is.
        turn = array_ops.reshape(numbers > 0.5, [-1, 1, 1, 1])
        return array_search.where_v2(turn, turned(tensor), tensor)


@public("image.random_flip_left_right")
@takes(image=TENSOR, seed=INTEGER)
def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Images, each mirrored from left to right with a probability of a half.

    Parameters
    ----------
    image
        Shape [height, width, channels] or [batch, height, width, channels].
    seed
        Seed of the operation, see `set_random_seed`.

    Examples
    --------
    >>> tf.image.random_flip_left_right([[[1], [2]]], seed=1).shape.as_list()
    [1, 2, 1]
    """
    return _at_random(image, seed, "random_flip_left_right", lambda x: _mirrored(x, [1]))


@public("image.random_flip_up_down")
@takes(image=TENSOR, seed=INTEGER)
def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Images, each mirrored from top to bottom with a probability of a half.

    Parameters
    ----------
    image
        Shape [height, width, channels] or [batch, height, width, channels].
    seed
        Seed of the operation, see `set_random_seed`.

    Examples
    --------
    >>> tf.image.random_flip_up_down([[[1]], [[2]]], seed=1).shape.as_list()
    [2, 1, 1]
    """
    return _at_random(image, seed, "random_flip_up_down", lambda x: _mirrored(x, [0]))


@public("image.transpose_image", "image.transpose")
@takes(image=TENSOR)
def transpose_image(image: Any, name: str | None = None) -> Tensor:
    """Images with height and width exchanged.

    Parameters
    ----------
    image
        Shape [height, width, channels] or [batch, height, width, channels].
    name
        Name of the scope.

    Examples
    --------
    >>> tf.image.transpose_image([[[1], [2]]]).eval().tolist()
    [[[1]], [[2]]]
    """
    with scopes.name_scope(name, "transpose", [image]) as scope:
        return _swapped(image_tensor(image), scope)


@public("image.rot90")
@takes(image=TENSOR, k=TENSOR)
def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """Images turned counter-clockwise by right angles.

    Parameters
    ----------
    image
        Shape [height, width, channels] or [batch, height, width, channels].
    k
        How many right angles, an integer or a scalar tensor.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.image.rot90([[[1], [2]]]).eval().tolist()
    [[[2]], [[1]]]
    """
    with scopes.name_scope(name, "rot90", [image, k]):
        tensor = image_tensor(image)
        turns: list[Callable[[], Tensor]] = [
            lambda: array_ops.identity(tensor),
            lambda: _swapped(_mirrored(tensor, [1])),
            lambda: _mirrored(tensor, [0, 1]),
            lambda: _mirrored(_swapped(tensor), [1]),
        ]
        known = known_value(k)
        if known is not None:
            return turns[int(known) % 4]()
        return conditionals.switch_case(math_ops.cast(k, dtypes.int32) % 4, dict(enumerate(turns)))
