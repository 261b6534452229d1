"""Losses and decoders of label sequences."""

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


def drawn(*shape: int) -> Any:
    return np.random.RandomState(3).standard_normal(shape).astype(np.float32)


def test_loss_has_the_gradient_of_the_logits(session: tf.Session) -> None:
    logits = tf.constant(drawn(5, 2, 4))
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0, 1, 2], [2, 2])
    loss = tf.nn.ctc_loss(labels, logits, [5, 4])
    other = tf.nn.ctc_loss(
        labels, logits=tf.transpose(logits, [1, 0, 2]), sequence_length=[5, 4], time_major=False
    )
    np.testing.assert_array_equal(*session.run([loss, other]))
    slope = session.run(tf.gradients(loss, logits)[0])
    # Each time step's probabilities sum to 1 both before and after; behind the end there is none.
    np.testing.assert_allclose(slope.sum(2), 0, atol=1e-5)
    assert np.all(slope[4, 1] == 0)
    assert np.abs(slope[:4]).max() > 0.1


def test_loss_needs_sparse_labels() -> None:
    with pytest.raises(TypeError, match="labels: Expected labels"):
        tf.nn.ctc_loss([[0, 1]], drawn(5, 1, 4), [5])


def test_decoders_give_sparse_labels(session: tf.Session) -> None:
    # The best classes are 0, 0, blank, 1 and 1, blank, blank, blank.
    classes = np.array([[0, 1], [0, 2], [2, 2], [1, 2]])
    logits = 9 * np.eye(3, dtype=np.float32)[classes]
    [greedy], scores = tf.nn.ctc_greedy_decoder(logits, [4, 4])
    found, value = session.run([greedy, scores])
    assert isinstance(found, tf.SparseTensorValue)
    assert found.values.tolist() == [0, 1, 1]
    assert found.indices.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert found.dense_shape.tolist() == [2, 2]
    np.testing.assert_array_equal(value, [[-36], [-36]])
    beams, probabilities = tf.nn.ctc_beam_search_decoder(logits, [4, 4], 10, top_paths=2)
    assert len(beams) == 2
    assert session.run(beams[0]).values.tolist() == [0, 1, 1]
    assert np.all(session.run(probabilities)[:, 0] > -0.1)
