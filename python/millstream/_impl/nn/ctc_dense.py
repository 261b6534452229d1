"""Connectionist temporal classification with labels as matrices of one length."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, TENSOR, TENSOR_ITSELF, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn import ctc
from millstream._impl.ops import functional_ops, math_ops
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes


@public("nn.ctc_loss_v2")
@takes(
    logits=TENSOR,
    label_length=or_none(TENSOR),
    logit_length=TENSOR,
    blank_index=or_none(INTEGER),
)
def ctc_loss_v2(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The loss of connectionist temporal classification, by Graves et al. (2006).

    Parameters
    ----------
    labels
        The labels of each sequence: a matrix of the shape [batch, most labels], or a
        `SparseTensor` of int32.
    logits
        Shape [time, batch, classes].
    label_length
        How many labels of the matrix each sequence has, int32, shape [batch]. Not used when
        `labels` is a `SparseTensor`.
    logit_length
        How many time steps of `logits` each sequence has, int32, shape [batch].
    logits_time_major
        Whether the time is the first dimension of `logits`, rather than the second.
    unique
        What `ctc_unique_labels` gives for the labels. Accepted, and not needed.
    blank_index
        The class that is the blank; a negative one counts from the end. 0 unless `labels` is a
        `SparseTensor`, for which it must be given.
    name
        Of the scope of the nodes.

    Returns
    -------
    Tensor
        Shape [batch]: the negative logarithm of the probability of the labels; infinite if there
        are more labels than time steps.

    Raises
    ------
    TypeError
        `logits_time_major` is no bool.
    ValueError
        `labels` is a `SparseTensor`, and there is no `blank_index`.

    Examples
    --------
    >>> logits = tf.zeros([1, 1, 2])
    >>> tf.nn.ctc_loss_v2([[1]], logits, [1], [1]).eval().round(3).tolist()
    [0.6930000185966492]
    """
    if isinstance(labels, SparseTensor) and blank_index is None:
        raise ValueError("blank_index must be given when using SparseTensor labels.")
    if not isinstance(logits_time_major, bool):
        raise TypeError(f"logits_time_major: expected True or False, got {logits_time_major!r}")
    with scopes.name_scope(name, "ctc_loss", [logits]):
        scores = convert_to_tensor(logits, name="logits")
        lengths = convert_to_tensor(logit_length, dtypes.int32, "logit_length")
        if not logits_time_major:
            scores = gen_ops.transpose(scores, [1, 0, 2])
        classes = gen_ops.shape(scores)[2]
        blank = blank_index or 0
        place = math_ops.add(classes, blank) if blank < 0 else convert_to_tensor(blank)
        if isinstance(labels, SparseTensor):
            known = _with_blank_last(labels, place)
        else:
            known = _with_blank_last(_as_sparse(labels, label_length), place)
        # The op takes the last class for the blank.
        moved = gen_ops.concat_v2(
            [scores[:, :, :place], scores[:, :, place + 1 :], scores[:, :, place : place + 1]], 2
        )
        loss = ctc.ctc_loss(known, moved, lengths, ignore_longer_outputs_than_inputs=True)
        infinite = gen_ops.fill(gen_ops.shape(loss), float("inf"))
        too_long = gen_ops.greater(_least_steps(known, gen_ops.shape(lengths)), lengths)
        found: Tensor = gen_ops.select(too_long, infinite, loss)
        return found


def _as_sparse(labels: Any, lengths: Any) -> SparseTensor:
    """The labels of a matrix that count."""
    matrix = gen_ops.cast(convert_to_tensor(labels, name="labels"), dtypes.int32)
    columns = gen_ops.range(0, gen_ops.shape(matrix)[1], 1)
    ends = gen_ops.cast(convert_to_tensor(lengths, name="label_length"), dtypes.int32)
    indices = gen_ops.where(gen_ops.less(columns, gen_ops.expand_dims(ends, 1)))
    shape = gen_ops.shape(matrix, out_type=dtypes.int64)
    return SparseTensor(indices, gen_ops.gather_nd(matrix, indices), shape)


def _with_blank_last(labels: SparseTensor, blank: Tensor) -> SparseTensor:
    """The labels as they are when the blank moves behind the last class."""
    after = gen_ops.cast(gen_ops.greater(labels.values, blank), labels.values.dtype)
    return SparseTensor(labels.indices, labels.values - after, labels.dense_shape)


def _least_steps(labels: SparseTensor, shape: Tensor) -> Tensor:
    """The time steps that the labels of each sequence need: a blank stands between equal ones."""
    rows, values = labels.indices[:, 0], labels.values
    is_again = gen_ops.logical_and(
        gen_ops.equal(rows[1:], rows[:-1]), gen_ops.equal(values[1:], values[:-1])
    )
    needed = gen_ops.fill(gen_ops.shape(values), 1)
    steps = gen_ops.unsorted_segment_sum(needed, rows, shape[0])
    blanks = gen_ops.unsorted_segment_sum(gen_ops.cast(is_again, dtypes.int32), rows[1:], shape[0])
    found: Tensor = steps + blanks
    return found


@public("nn.ctc_unique_labels")
@takes(labels=TENSOR)
def ctc_unique_labels(labels: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The different labels of each sequence.

    Parameters
    ----------
    labels
        Shape [batch, most labels].
    name
        Of the scope of the nodes.

    Returns
    -------
    labels : Tensor
        int64, shape [batch, most labels]: each label once, in the order in which they come, then
        zeros.
    indices : Tensor
        int32, shape [batch, most labels]: the place of each label among them.

    Examples
    --------
    >>> [found.eval().tolist() for found in tf.nn.ctc_unique_labels([[3, 4, 4, 3]])]
    [[[3, 4, 0, 0]], [[0, 1, 1, 0]]]
    """
    with scopes.name_scope(name, "ctc_unique_labels", [labels]):

        def once(row: Tensor) -> tuple[Tensor, Tensor]:
            found = gen_ops.unique(row)
            missing = gen_ops.size(found.idx) - gen_ops.size(found.y)
            padded = gen_ops.pad(found.y, [[0, missing]])
            return gen_ops.cast(padded, dtypes.int64), found.idx

        rows = convert_to_tensor(labels, name="labels")
        labels, indices = functional_ops.map_fn(once, rows, (dtypes.int64, dtypes.int32))
        return labels, indices


@public("nn.collapse_repeated")
@takes(labels=TENSOR, seq_length=TENSOR_ITSELF)
def collapse_repeated(
    labels: Any, seq_length: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Make one of equal labels that follow each other.

    Parameters
    ----------
    labels
        Shape [batch, most labels].
    seq_length
        How many labels each sequence has, shape [batch].
    name
        Of the scope of the nodes.

    Returns
    -------
    labels : Tensor
        Shape [batch, most labels of any sequence now]; zeros stand behind the labels.
    seq_length : Tensor
        How many each sequence has now.

    Examples
    --------
    >>> labels, lengths = tf.nn.collapse_repeated([[1, 1, 2, 2], [3, 3, 3, 1]], tf.constant([4, 3]))
    >>> labels.eval().tolist(), lengths.eval().tolist()
    ([[1, 2], [3, 0]], [2, 1])
    """
    with scopes.name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        matrix = convert_to_tensor(labels, name="labels")
        lengths = convert_to_tensor(seq_length, name="seq_length")
        before = gen_ops.not_equal(matrix[:, 1:], matrix[:, :-1])
        first = gen_ops.fill(gen_ops.shape(matrix[:, :1]), True)
        columns = gen_ops.cast(gen_ops.range(0, gen_ops.shape(matrix)[1], 1), lengths.dtype)
        counts = gen_ops.less(columns, gen_ops.expand_dims(lengths, 1))
        stays = gen_ops.logical_and(gen_ops.concat_v2([first, before], 1), counts)
        new_lengths = gen_ops.sum(gen_ops.cast(stays, lengths.dtype), 1)
        places = gen_ops.cumsum(gen_ops.cast(stays, dtypes.int32), 1, exclusive=True)
        kept = gen_ops.cast(gen_ops.where(stays), dtypes.int32)
        to = gen_ops.pack([kept[:, 0], gen_ops.gather_nd(places, kept)], axis=1)
        widest = gen_ops.cast(gen_ops.max(new_lengths, 0), dtypes.int32)
        shape = gen_ops.pack([gen_ops.shape(matrix)[0], widest])
        return gen_ops.scatter_nd(to, gen_ops.gather_nd(matrix, kept), shape), new_lengths
