"""Elements in reverse order."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, INTEGERS, TENSOR, one_of, takes
from millstream._impl.graph.operation import Tensor


@public("reverse", "reverse_v2", "manip.reverse")
@takes(tensor=TENSOR, axis=INTEGERS)
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """A tensor with its elements in reverse order along some dimensions.

    Parameters
    ----------
    tensor
        The tensor.
    axis
        The dimensions: a list of different ones, counted from the end if negative.
    name
        Name of the result.

    Raises
    ------
    ValueError
        `axis` names a dimension that is not there, or one twice.

    Examples
    --------
    >>> tf.reverse([[1, 2, 3], [4, 5, 6]], [-1]).eval().tolist()
    [[3, 2, 1], [6, 5, 4]]
    """
    return gen_ops.reverse_v2(tensor, axis, name)


@public("reverse_sequence")
@takes(
    input=TENSOR, seq_lengths=INTEGERS, seq_axis=INTEGER, batch_axis=INTEGER,
    seq_dim=INTEGER, batch_dim=INTEGER,
)  # fmt: skip
def reverse_sequence(
    input: Any,  # noqa: A002
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """A batch of sequences, each with its first elements in reverse order.

    Parameters
    ----------
    input
        The tensor.
    seq_lengths
        How many elements of each sequence are reversed; those after them stay where they are.
    seq_axis
        The dimension along which sequences run.
    batch_axis
        The dimension whose entries are the sequences, by default 0.
    name
        Name of the result.
    seq_dim, batch_dim
        Other names of `seq_axis` and `batch_axis`.

    Raises
    ------
    ValueError
        There is no `seq_axis`, or an axis is no dimension of `input`.
    InvalidArgumentError
        In a step: a length is larger than the dimension.

    Examples
    --------
    >>> tf.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1).eval().tolist()
    [[2, 1, 3], [6, 5, 4]]
    """
    along = one_of(seq_axis, seq_dim, "seq_axis", "seq_dim")
    batch = one_of(batch_axis, batch_dim, "batch_axis", "batch_dim")
    if along is None:
        raise ValueError("seq_axis: expected the dimension along which sequences run, got None")
    return gen_ops.reverse_sequence(input, seq_lengths, along, 0 if batch is None else batch, name)
