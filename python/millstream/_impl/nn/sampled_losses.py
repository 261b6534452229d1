"""Losses of classifiers with so many classes that a step computes the logits of a few alone."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, TENSOR, TENSORS, TEXT, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn import losses
from millstream._impl.nn.candidate_samplers import (
    compute_accidental_hits,
    log_uniform_candidate_sampler,
)
from millstream._impl.nn.lookup import embedding_lookup
from millstream._impl.ops import array_creation, array_join, array_ops, math_ops, reductions
from millstream._impl.values import dtypes
from millstream._impl.variables.partitioned_variable import PartitionedVariable

_TYPES = {
    "weights": TENSORS,
    "biases": TENSORS,
    "labels": TENSOR,
    "inputs": TENSOR,
    "num_sampled": INTEGER,
    "num_classes": INTEGER,
    "num_true": INTEGER,
    "sampled_values": TENSORS,
    "partition_strategy": TEXT,
}


@public("nn.nce_loss")
@takes(**_TYPES)
def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str | None = "nce_loss",
) -> Tensor:
    """The loss of noise-contrastive estimation (Gutmann and Hyvärinen, 2010).

    It is the sum of logistic losses that tell the true classes from drawn ones. A logit is
    ``inputs @ weights[class] + biases[class]``, less the logarithm of how often the class is
    expected in the sample.

    Parameters
    ----------
    weights
        The weights of the classes, shape [num_classes, dim]; or their parts, see
        `nn.embedding_lookup`.
    biases
        The biases of the classes, shape [num_classes], or their parts.
    labels
        The true classes of each row, shape [batch, num_true].
    inputs
        What is classified, shape [batch, dim].
    num_sampled
        How many classes are drawn, for the whole batch.
    num_classes
        How many classes there are.
    num_true
        How many true classes a row has.
    sampled_values
        What a sampler has drawn, see `nn.uniform_candidate_sampler`; by default
        `nn.log_uniform_candidate_sampler` draws different classes.
    remove_accidental_hits
        Whether drawn classes that are true ones of a row do not count in it.
    partition_strategy
        How the rows of parts are numbered, see `nn.embedding_lookup`.
    name
        Name of the scope.

    Returns
    -------
    Tensor
        The loss of each row, shape [batch].

    Examples
    --------
    >>> weights, biases = tf.zeros([10, 2]), tf.zeros([10])
    >>> loss = tf.nn.nce_loss(weights, biases, [[3]], [[1.0, 2.0]], 4, 10)
    >>> loss.shape.as_list()
    [1]
    """
    logits, targets = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        partition_strategy,
        name,
        None,
    )
    each = losses.sigmoid_cross_entropy_with_logits(
        labels=targets, logits=logits, name="sampled_losses"
    )
    return reductions.reduce_sum(each, 1)


@public("nn.sampled_softmax_loss")
@takes(**_TYPES, seed=INTEGER)
def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str | None = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """The cross entropy of a softmax over the true and the drawn classes of each row.

    It stands for that of all classes in training (Jean et al., "On Using Very Large Target
    Vocabulary for Neural Machine Translation", 2015), and is below it. The logits are as in
    `nn.nce_loss`.

    Parameters
    ----------
    weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values
        See `nn.nce_loss`.
    remove_accidental_hits
        Whether drawn classes that are true ones of a row do not count in it.
    partition_strategy
        How the rows of parts are numbered, see `nn.embedding_lookup`.
    name
        Name of the scope.
    seed
        Seed of the default sampler, see `set_random_seed`.

    Returns
    -------
    Tensor
        The loss of each row, shape [batch].

    Examples
    --------
    >>> weights, biases = tf.zeros([3, 2]), tf.zeros([3])
    >>> everything = tf.nn.all_candidate_sampler([[1]], 1, 3, True)
    >>> loss = tf.nn.sampled_softmax_loss(
    ...     weights, biases, [[1]], [[1.0, 2.0]], 3, 3, sampled_values=everything
    ... )
    >>> loss.eval().round(3).tolist()
    [1.0989999771118164]
    """
    logits, targets = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        partition_strategy,
        name,
        seed,
    )
    fixed = gen_ops.stop_gradient(targets, "labels_stop_gradient")
    return losses.softmax_cross_entropy_with_logits_v2(labels=fixed, logits=logits)


def _parts(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, PartitionedVariable)) else [value]


def _sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str | None,
    seed: int | None,
) -> tuple[Tensor, Tensor]:
    """Logits and labels of the true classes of each row, and behind them those of the drawn ones.

    Both have the shape [batch, num_true + num_sampled]. The labels of the true classes of a row
    sum to 1.
    """
    tables = _parts(weights)
    with scopes.name_scope(name, "compute_sampled_logits", [*tables, biases, inputs, labels]):
        given = convert_to_tensor(inputs, name="inputs")
        classes = math_ops.cast(convert_to_tensor(labels, name="labels"), dtypes.int64)
        flat = array_ops.reshape(classes, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                classes, num_true, num_sampled, True, num_classes, seed=seed
            )
        sampled, true_count, sampled_count = (gen_ops.stop_gradient(x) for x in sampled_values)
        sampled = math_ops.cast(sampled, dtypes.int64)

        # One lookup for both, so that the gradient of a table is one.
        ids = array_join.concat([flat, sampled], 0)
        rows = embedding_lookup(tables, ids, partition_strategy)
        rows = math_ops.cast(rows, given.dtype)
        offsets = embedding_lookup(biases, ids, partition_strategy)
        offsets = math_ops.cast(offsets, given.dtype)
        count = gen_ops.size(flat)

        dim = gen_ops.shape(rows)[1]
        true_rows = array_ops.reshape(rows[:count], gen_ops.pack([-1, num_true, dim]))
        products = array_ops.expand_dims(given, 1) * true_rows
        true_logits = reductions.reduce_sum(products, 2)
        true_logits = true_logits + array_ops.reshape(offsets[:count], [-1, num_true])
        sampled_logits = gen_ops.mat_mul(given, rows[count:], transpose_b=True)
        sampled_logits = sampled_logits + offsets[count:]
        if remove_accidental_hits:
            hits = compute_accidental_hits(classes, sampled, num_true)
            sampled_logits = _without_hits(sampled_logits, hits)
        true_logits = true_logits - _log(true_count, given)
        sampled_logits = sampled_logits - _log(sampled_count, given)
        logits = array_join.concat([true_logits, sampled_logits], 1)
        is_true = array_creation.ones_like(true_logits) / num_true
        targets = array_join.concat([is_true, array_creation.zeros_like(sampled_logits)], 1)
        return logits, targets


def _log(count: Tensor, like: Tensor) -> Tensor:
    result: Tensor = gen_ops.log(math_ops.cast(count, like.dtype))
    return result


def _without_hits(logits: Tensor, hits: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """The logits, the lowest number being added to those of hits."""
    rows, places, weights = hits
    shape = gen_ops.shape(logits, out_type=dtypes.int64)
    cells = math_ops.cast(rows, dtypes.int64) * shape[1] + places
    found = gen_ops.unsorted_segment_sum(
        array_creation.ones_like(weights), cells, gen_ops.size(logits)
    )
    # A class that is true twice is found twice.
    is_hit = gen_ops.greater(array_ops.reshape(found, shape), 0.0)
    lowest = convert_to_tensor(logits.dtype.min, logits.dtype)
    return logits + math_ops.cast(is_hit, logits.dtype) * lowest
