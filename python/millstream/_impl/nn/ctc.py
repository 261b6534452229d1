"""Connectionist temporal classification: sequences of labels without their places in time."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, TENSOR, one_of, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops.sparse_tensor import SparseTensor


@public("nn.ctc_loss")
@takes(inputs=or_none(TENSOR), sequence_length=TENSOR, logits=TENSOR)
def ctc_loss(
    labels: Any,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Tensor:
    """The loss of connectionist temporal classification, by Graves et al. (2006).

    Parameters
    ----------
    labels
        A `SparseTensor` of int32, shape [batch, most labels], with the labels of each sequence.
    inputs
        Logits, shape [time, batch, classes]; the last class is the blank.
    sequence_length
        How many time steps of `inputs` each sequence has, int32, shape [batch].
    preprocess_collapse_repeated
        Whether equal labels that follow each other count as one.
    ctc_merge_repeated
        Whether a label may take several time steps.
    ignore_longer_outputs_than_inputs
        Whether sequences of more labels than time steps have a loss of 0; otherwise a step fails.
    time_major
        Whether the time is the first dimension of `inputs`, rather than the second.
    logits
        Another name of `inputs`.

    Returns
    -------
    Tensor
        Shape [batch]: the negative logarithm of the probability of the labels.

    Raises
    ------
    TypeError
        `labels` is no `SparseTensor`.
    ValueError
        The shapes do not fit.

    Examples
    --------
    >>> labels = tf.SparseTensor([[0, 0]], [0], [1, 1])
    >>> tf.nn.ctc_loss(labels, tf.zeros([1, 1, 2]), [1]).eval().round(3).tolist()
    [0.6930000185966492]
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError(
            f"labels: Expected labels (first argument) to be a SparseTensor, got {labels!r}"
        )
    if not isinstance(time_major, bool):
        raise TypeError(f"time_major: expected True or False, got {time_major!r}")
    scores = convert_to_tensor(one_of(inputs, logits, "inputs", "logits"), name="inputs")
    if not time_major:
        scores = gen_ops.transpose(scores, [1, 0, 2])
    found: Tensor = gen_ops.ctc_loss(
        scores,
        labels.indices,
        labels.values,
        sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    ).loss
    return found


@public("nn.ctc_greedy_decoder")
@takes(inputs=TENSOR, sequence_length=TENSOR)
def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """The best class at each time step, without blanks.

    Parameters
    ----------
    inputs
        Logits, shape [time, batch, classes]; the last class is the blank.
    sequence_length
        How many time steps of `inputs` each sequence has, int32, shape [batch].
    merge_repeated
        Whether equal classes that follow each other count as one.

    Returns
    -------
    decoded : list of SparseTensor
        One, shape [batch, most labels], int64.
    neg_sum_logits : Tensor
        Shape [batch, 1]: the negative sum of the logits of these classes.

    Examples
    --------
    >>> logits = [[[5.0, 0.0, 0.0]], [[0.0, 0.0, 5.0]], [[0.0, 5.0, 0.0]]]
    >>> [labels], _ = tf.nn.ctc_greedy_decoder(logits, [3])
    >>> labels.values.eval().tolist()
    [0, 1]
    """
    found = gen_ops.ctc_greedy_decoder(inputs, sequence_length, merge_repeated=merge_repeated)
    labels = SparseTensor(found.decoded_indices, found.decoded_values, found.decoded_shape)
    return [labels], found.log_probability


@public("nn.ctc_beam_search_decoder")
@takes(inputs=TENSOR, sequence_length=TENSOR, beam_width=INTEGER, top_paths=INTEGER)
def ctc_beam_search_decoder(
    inputs: Any,
    sequence_length: Any,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Tensor]:
    """The label sequences with the largest probabilities that a beam search finds.

    Parameters
    ----------
    inputs
        Logits, shape [time, batch, classes]; the last class is the blank.
    sequence_length
        How many time steps of `inputs` each sequence has, int32, shape [batch].
    beam_width
        How many beginnings are kept at each time step.
    top_paths
        How many sequences are given, `beam_width` at most.
    merge_repeated
        Whether equal labels that follow each other count as one in what is given.

    Returns
    -------
    decoded : list of SparseTensor
        `top_paths` matrices, each of the shape [batch, most labels], int64, the best first.
    log_probabilities : Tensor
        Shape [batch, `top_paths`].

    Raises
    ------
    ValueError
        `top_paths` is above `beam_width`.

    Examples
    --------
    >>> logits = [[[5.0, 0.0, 0.0]], [[0.0, 0.0, 5.0]], [[0.0, 5.0, 0.0]]]
    >>> [labels], _ = tf.nn.ctc_beam_search_decoder(logits, [3], beam_width=10)
    >>> labels.values.eval().tolist()
    [0, 1]
    """
    found = gen_ops.ctc_beam_search_decoder(
        inputs, sequence_length, beam_width, top_paths, merge_repeated=merge_repeated
    )
    parts = (found.decoded_indices, found.decoded_values, found.decoded_shape)
    labels = [SparseTensor(*of_path) for of_path in zip(*parts, strict=True)]
    return labels, found.log_probability


@public("nn.ctc_beam_search_decoder_v2")
@takes(inputs=TENSOR, sequence_length=TENSOR, beam_width=INTEGER, top_paths=INTEGER)
def ctc_beam_search_decoder_v2(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """`ctc_beam_search_decoder` in which equal labels that follow each other are kept.

    Parameters
    ----------
    inputs, sequence_length, beam_width, top_paths
        As for `ctc_beam_search_decoder`.

    Examples
    --------
    >>> logits = [[[5.0, 0.0]], [[0.0, 5.0]], [[5.0, 0.0]]]
    >>> [labels], _ = tf.nn.ctc_beam_search_decoder_v2(logits, [3], beam_width=10)
    >>> labels.values.eval().tolist()
    [0, 0]
    """
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)
