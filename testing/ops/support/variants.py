"""Gradient checks of ops that move elements, on variants: what the elements hold has gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.gradient import Check, NotCompared, spread


def _list_of(x: Any) -> Any:
    """A list with one element."""
    return gen_ops.tensor_list_push_back(
        gen_ops.empty_tensor_list(-1, -1, element_dtype=x.dtype), x
    )


def check_of_lists(
    move: Callable[[Any], Any], count: int, no_second_order: NotCompared | None = None
) -> Check:
    """Check the gradient of what lists hold that an op moves.

    Parameters
    ----------
    move
        Makes a vector of lists of a vector of two.
    count
        How many lists it makes.
    no_second_order
        As in `Check`.
    """

    def build(x: Any, y: Any) -> list[Any]:
        moved = tf.unstack(move(tf.stack([_list_of(x), _list_of(y)])), count)
        elements = [
            gen_ops.tensor_list_pop_back(one, -1, element_dtype=x.dtype)[1] for one in moved
        ]
        return [tf.square(element) for element in elements]

    inputs = (spread("in_one_list", 2), spread("in_the_other", 3))
    return Check(build, inputs, no_second_order=no_second_order)
