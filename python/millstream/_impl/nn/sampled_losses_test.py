"""Losses of sampled classes against their definitions in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

_RANDOM = np.random.RandomState(4)
_WEIGHTS = _RANDOM.normal(size=(11, 3)).astype(np.float32)
_BIASES = _RANDOM.normal(size=11).astype(np.float32)
_INPUTS = _RANDOM.normal(size=(4, 3)).astype(np.float32)
_SAMPLED = np.array([2, 7, 10, 3, 5])
_LABELS = {1: np.array([[0], [7], [10], [7]]), 2: np.array([[0, 2], [7, 7], [10, 3], [1, 4]])}


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _counts(num_true: int) -> tuple[Any, Any]:
    of_true = np.linspace(0.2, 0.9, 4 * num_true).reshape(4, num_true).astype(np.float32)
    return of_true, np.linspace(0.1, 0.5, len(_SAMPLED)).astype(np.float32)


def _logits(num_true: int, without_hits: bool) -> tuple[Any, Any]:
    """Logits and labels of the true and the sampled classes of each row."""
    labels = _LABELS[num_true]
    of_true, of_sampled = _counts(num_true)
    true = np.einsum("bd,btd->bt", _INPUTS, _WEIGHTS[labels]) + _BIASES[labels]
    sampled = _INPUTS @ _WEIGHTS[_SAMPLED].T + _BIASES[_SAMPLED]
    if without_hits:
        sampled = np.where((labels[:, :, None] == _SAMPLED).any(1), -np.inf, sampled)
    logits = np.concatenate([true - np.log(of_true), sampled - np.log(of_sampled)], 1)
    targets = np.zeros_like(logits)
    targets[:, :num_true] = 1 / num_true
    return logits.astype(np.float64), targets


def _parts(table: Any, strategy: str) -> list[tf.Tensor]:
    pieces = [table[i::3] for i in range(3)] if strategy == "mod" else np.array_split(table, 3)
    return [tf.constant(piece) for piece in pieces]


def _given(num_true: int) -> tuple[tf.Tensor, ...]:
    return tuple(tf.constant(value) for value in (_SAMPLED, *_counts(num_true)))


@pytest.mark.parametrize("num_true", [1, 2])
@pytest.mark.parametrize("without_hits", [False, True])
@pytest.mark.parametrize("strategy", ["", "mod", "div"])
def test_losses_are_those_of_the_definition(
    session: tf.Session, num_true: int, without_hits: bool, strategy: str
) -> None:
    tables: list[Any] = [tf.constant(_WEIGHTS), tf.constant(_BIASES)]
    if strategy:
        tables = [_parts(table, strategy) for table in (_WEIGHTS, _BIASES)]
    arguments = (*tables, _LABELS[num_true], _INPUTS, len(_SAMPLED), 11, num_true)
    keys: dict[str, Any] = {
        "sampled_values": _given(num_true),
        "remove_accidental_hits": without_hits,
        "partition_strategy": strategy or "mod",
    }
    logits, targets = _logits(num_true, without_hits)
    sums = np.log(np.exp(logits).sum(1))
    # An absent logit counts nothing: its label is 0.
    kept = np.where(np.isfinite(logits), logits, 0)
    expected = sums * targets.sum(1) - (targets * kept).sum(1)
    found = session.run(tf.nn.sampled_softmax_loss(*arguments, **keys))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    each = np.maximum(kept, 0) - kept * targets + np.log1p(np.exp(-np.abs(kept)))
    expected = np.where(np.isfinite(logits), each, 0).sum(1)
    found = session.run(tf.nn.nce_loss(*arguments, **keys))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_softmax_of_all_classes_is_the_whole_one(session: tf.Session) -> None:
    labels = _LABELS[1]
    every = tf.nn.all_candidate_sampler(labels, 1, 11, True)
    loss = tf.nn.sampled_softmax_loss(
        _WEIGHTS, _BIASES, labels, _INPUTS, 11, 11, sampled_values=every
    )
    whole = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels[:, 0], logits=_INPUTS @ _WEIGHTS.T + _BIASES
    )
    found, expected = session.run([loss, whole])
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_tables_get_gradients_of_the_rows_that_were_used(session: tf.Session) -> None:
    weights, biases = tf.Variable(_WEIGHTS), tf.Variable(_BIASES)
    loss = tf.nn.sampled_softmax_loss(
        weights, biases, _LABELS[1], _INPUTS, 5, 11, sampled_values=_given(1)
    )
    gradients = tf.gradients(loss, [weights, biases])
    assert all(isinstance(gradient, tf.IndexedSlices) for gradient in gradients)
    session.run(tf.global_variables_initializer())
    rows = session.run(gradients[0].indices)
    assert sorted(rows.tolist()) == sorted([0, 7, 10, 7, *_SAMPLED.tolist()])


def test_the_default_sampler_is_seeded(session: tf.Session) -> None:
    losses = [
        tf.nn.sampled_softmax_loss(_WEIGHTS, _BIASES, _LABELS[1], _INPUTS, 5, 11, seed=3)
        for _ in range(2)
    ]
    found = session.run(losses)
    np.testing.assert_array_equal(found[0], found[1])


def test_partitioned_variables_are_tables(session: tf.Session) -> None:
    partitioner = tf.fixed_size_partitioner(3)
    weights = tf.get_variable("weights", [11, 3], partitioner=partitioner)
    biases = tf.get_variable("biases", [11], partitioner=partitioner)
    loss = tf.nn.nce_loss(weights, biases, _LABELS[1], _INPUTS, 5, 11, partition_strategy="div")
    session.run(tf.global_variables_initializer())
    assert session.run(loss).shape == (4,)
