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


@pytest.mark.parametrize("blank", [None, 2, -1])
def test_labels_may_be_a_matrix(session: tf.Session, blank: int | None) -> None:
    classes, place = 5, (blank or 0) % 5
    logits = tf.constant(drawn(6, 3, classes))
    labels = np.array([[1, 3, 3, 4], [3, 3, 0, 0], [4, 1, 3, 1]])
    lengths, steps = [4, 2, 3], [6, 5, 4]
    found = tf.nn.ctc_loss_v2(
        np.where(labels == place, 0, labels), logits, lengths, steps, blank_index=blank
    )
    order = [*range(place), *range(place + 1, classes), place]
    places = [(row, k) for row, length in enumerate(lengths) for k in range(length)]
    moved = [order.index(0 if labels[at] == place else labels[at]) for at in places]
    sparse = tf.SparseTensor(places, tf.constant(moved, tf.int32), [3, 4])
    expected = tf.nn.ctc_loss(sparse, tf.gather(logits, order, axis=2), steps)
    np.testing.assert_array_equal(*session.run([found, expected]))
    slopes = [tf.gradients(loss, logits)[0] for loss in (found, expected)]
    np.testing.assert_array_equal(*session.run(slopes))


def test_a_matrix_and_sparse_labels_have_the_same_loss(session: tf.Session) -> None:
    logits = drawn(2, 5, 4)
    sparse = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 2, 3], tf.int32), [2, 2])
    losses = [
        tf.nn.ctc_loss_v2(labels, logits, [2, 1], [5, 3], logits_time_major=False, blank_index=0)
        for labels in (sparse, [[1, 2], [3, 0]])
    ]
    np.testing.assert_array_equal(*session.run(losses))
    with pytest.raises(ValueError, match="blank_index must be given"):
        tf.nn.ctc_loss_v2(sparse, logits, None, [5, 3])


def test_more_labels_than_time_steps_have_no_probability(session: tf.Session) -> None:
    logits = tf.constant(drawn(3, 3, 4))
    loss = tf.nn.ctc_loss_v2([[1, 1, 0], [1, 2, 3], [2, 2, 2]], logits, [2, 3, 3], [3, 2, 3])
    found, slope = session.run([loss, tf.gradients(loss, logits)[0]])
    assert np.isfinite(found).tolist() == [True, False, False]
    assert np.isfinite(slope).all()


def test_labels_without_repetitions(session: tf.Session) -> None:
    labels = tf.constant([[1, 1, 2, 2, 1], [3, 3, 3, 3, 5]])
    found, lengths = session.run(tf.nn.collapse_repeated(labels, tf.constant([5, 4])))
    assert found.tolist() == [[1, 2, 1], [3, 0, 0]]
    assert lengths.tolist() == [3, 1]
    unique, places = session.run(tf.nn.ctc_unique_labels(labels))
    assert unique.tolist() == [[1, 2, 0, 0, 0], [3, 5, 0, 0, 0]]
    assert places.tolist() == [[0, 0, 1, 1, 0], [0, 0, 0, 0, 1]]
