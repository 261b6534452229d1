"""Losses of classifiers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def expected(labels: Any, logits: Any) -> Any:
    """The cross entropy of each row."""
    scores = np.asarray(logits, np.float64).reshape(-1, np.shape(logits)[-1])
    shares = np.asarray(labels, np.float64).reshape(scores.shape)
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return -(shares * logs).sum(axis=1).reshape(np.shape(logits)[:-1])


@pytest.mark.parametrize(
    ("labels_shape", "logits_shape"),
    [
        ([2, 2, 3], [4, 3]),
        ([4, 1, 3], [4, 3]),
        ([4, 3], [2, 2, 3]),
        ([1, 3], [3]),
    ],
)
@pytest.mark.parametrize("of_known_rank", [True, False])
@pytest.mark.parametrize(
    "loss",
    [
        tf.nn.softmax_cross_entropy_with_logits,
        tf.nn.softmax_cross_entropy_with_logits_v2,
    ],
)
def test_labels_and_logits_are_matrices_each_by_itself(
    loss: Any, of_known_rank: bool, labels_shape: list[int], logits_shape: list[int]
) -> None:
    random = np.random.RandomState(1)
    labels = random.uniform(size=labels_shape).astype(np.float32)
    logits = random.standard_normal(logits_shape).astype(np.float32)
    fed = tf.placeholder(tf.float32, labels_shape if of_known_rank else None)
    found = loss(labels=fed, logits=logits)
    assert found.shape.as_list() == logits_shape[:-1]
    np.testing.assert_allclose(found.eval({fed: labels}), expected(labels, logits), rtol=1e-5)


def test_a_list_of_labels_has_a_dimension_more() -> None:
    y = tf.placeholder(tf.float32, [None, 3])
    logits = tf.placeholder(tf.float32, [None, 3])
    found = tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.stop_gradient([y]), logits=logits)
    assert found.shape.as_list() == [None]
    values = found.eval({y: np.eye(3)[:2], logits: np.ones((2, 3))})
    np.testing.assert_allclose(values, np.log([3.0, 3.0]), rtol=1e-6)


def test_labels_of_another_number_of_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="labels"):
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=np.ones([5, 3]), logits=tf.ones([4, 3]))


def test_a_dimension_that_is_not_there_is_refused() -> None:
    for axis in (2, -3, 100):
        with pytest.raises(ValueError, match=rf"axis: expected one in \[-2, 2\), got {axis}"):
            tf.nn.softmax_cross_entropy_with_logits_v2(tf.ones([1, 2]), tf.ones([1, 2]), axis)


LOGITS = np.array([-200.0, -3.0, -0.5, 0.0, 0.5, 3.0, 200.0], np.float32)
SHARES = np.array([0.0, 0.25, 1.0, 0.5, 0.0, 1.0, 1.0], np.float32)


@pytest.mark.parametrize("weight", [0.5, 1.0, np.linspace(0.5, 3.0, 7).astype(np.float32)])
def test_weighted_cross_entropy_follows_its_definition(weight: Any) -> None:
    found = tf.nn.weighted_cross_entropy_with_logits(SHARES, LOGITS, weight, name="loss")
    assert found.op.name == "loss"
    wide = LOGITS.astype(np.float64)
    positive, negative = np.logaddexp(0, -wide), np.logaddexp(0, wide)
    expected = weight * SHARES * positive + (1 - SHARES) * negative
    np.testing.assert_allclose(found.eval(), expected, rtol=1e-5, atol=1e-6)
    named = tf.nn.weighted_cross_entropy_with_logits(
        targets=SHARES, logits=LOGITS, pos_weight=weight
    )
    np.testing.assert_array_equal(named.eval(), found.eval())


def test_weighted_cross_entropy_needs_all_of_its_arguments() -> None:
    loss = tf.nn.weighted_cross_entropy_with_logits
    with pytest.raises(ValueError, match="labels and logits must both be given"):
        loss(logits=LOGITS, pos_weight=1.0)
    with pytest.raises(ValueError, match="pos_weight: expected a factor, got None"):
        loss(SHARES, LOGITS)
    with pytest.raises(ValueError, match="labels and targets are one argument"):
        loss(SHARES, LOGITS, 1.0, targets=SHARES)
    with pytest.raises(ValueError, match=r"logits and labels must have the same shape"):
        loss(SHARES[:3], LOGITS, 1.0)


@pytest.mark.parametrize("full", [False, True])
def test_log_poisson_loss_follows_its_definition(full: bool) -> None:
    counts = np.array([0.0, 1.0, 2.0, 7.0, 0.5], np.float32)
    logs = np.array([-1.0, 0.0, 2.0, 1.5, 0.5], np.float32)
    found = tf.nn.log_poisson_loss(counts, logs, compute_full_loss=full, name="loss")
    assert found.op.name == "loss"
    expected = np.exp(logs) - logs * counts
    if full:
        above = counts[2:4]
        expected[2:4] += above * np.log(above) - above + 0.5 * np.log(2 * np.pi * above)
    np.testing.assert_allclose(found.eval(), expected, rtol=1e-5)
    with pytest.raises(ValueError, match="log_input and targets must have the same shape"):
        tf.nn.log_poisson_loss(counts[:3], logs)


def test_the_average_loss_of_a_batch_of_several_parts() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        losses = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        assert session.run(tf.nn.compute_average_loss(losses)) == 5.0
        weighted = tf.nn.compute_average_loss(losses, [[2.0], [0.0]], 8)
        assert session.run(weighted) == 0.75
        assert not tf.losses.get_losses()
        assert session.run(tf.nn.scale_regularization_loss(losses)) == 10.0
