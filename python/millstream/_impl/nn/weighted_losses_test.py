"""``tf.losses`` against their formulas in NumPy: weights, reductions, collections, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

Reduction = tf.losses.Reduction
_RANDOM = np.random.RandomState(3)
LABELS = (_RANDOM.rand(4, 3) > 0.5).astype(np.float32)
PREDICTIONS = _RANDOM.uniform(0.05, 0.95, [4, 3]).astype(np.float32)
WEIGHTS = np.array([[1.0], [0.0], [2.0], [0.5]], np.float32)


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _huber(labels: Any, predictions: Any, delta: float = 1.0) -> Any:
    error = np.abs(predictions - labels)
    return np.where(error < delta, error**2 / 2, delta * error - delta**2 / 2)


def _sigmoid(labels: Any, logits: Any) -> Any:
    odds = 1 / (1 + np.exp(-logits))
    return -labels * np.log(odds) - (1 - labels) * np.log(1 - odds)


def _softmax(labels: Any, logits: Any) -> Any:
    odds = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    return -(labels * np.log(odds)).sum(-1)


_OF_ELEMENTS: list[tuple[Any, Callable[[Any, Any], Any]]] = [
    (tf.losses.absolute_difference, lambda y, p: np.abs(y - p)),
    (tf.losses.mean_squared_error, lambda y, p: (y - p) ** 2),
    (tf.losses.huber_loss, _huber),
    (tf.losses.log_loss, lambda y, p: -y * np.log(p + 1e-7) - (1 - y) * np.log(1 - p + 1e-7)),
    (tf.losses.hinge_loss, lambda y, p: np.maximum(0, 1 - (2 * y - 1) * p)),
    (tf.losses.sigmoid_cross_entropy, _sigmoid),
]


@pytest.mark.parametrize(("loss", "formula"), _OF_ELEMENTS)
def test_losses_of_elements_follow_their_formulas(
    loss: Any, formula: Callable[[Any, Any], Any], session: tf.Session
) -> None:
    expected = formula(LABELS, PREDICTIONS)
    each = loss(LABELS, PREDICTIONS, reduction=Reduction.NONE)
    np.testing.assert_allclose(session.run(each), expected, rtol=1e-5, atol=1e-6)
    mean = session.run(loss(LABELS, PREDICTIONS))
    np.testing.assert_allclose(mean, expected.mean(), rtol=1e-5)


@pytest.mark.parametrize(
    ("reduction", "divisor"),
    [
        (Reduction.SUM, 1.0),
        (Reduction.MEAN, 3 * 3.5),
        (Reduction.SUM_OVER_BATCH_SIZE, 12.0),
        (Reduction.SUM_BY_NONZERO_WEIGHTS, 9.0),
    ],
)
def test_reductions_divide_the_weighted_sum(
    reduction: str, divisor: float, session: tf.Session
) -> None:
    loss = tf.losses.mean_squared_error(LABELS, PREDICTIONS, WEIGHTS, reduction=reduction)
    expected = ((LABELS - PREDICTIONS) ** 2 * WEIGHTS).sum() / divisor
    np.testing.assert_allclose(session.run(loss), expected, rtol=1e-5)


@pytest.mark.parametrize("reduction", [Reduction.MEAN, Reduction.SUM_BY_NONZERO_WEIGHTS])
def test_no_weight_gives_no_loss_and_no_gradient(reduction: str, session: tf.Session) -> None:
    predictions = tf.constant(PREDICTIONS)
    loss = tf.losses.mean_squared_error(LABELS, predictions, 0.0, reduction=reduction)
    (gradient,) = tf.gradients(loss, predictions)
    found, slope = session.run([loss, gradient])
    assert found == 0.0
    np.testing.assert_array_equal(slope, np.zeros([4, 3]))


def test_losses_keep_the_type_that_they_are_given(session: tf.Session) -> None:
    loss = tf.losses.compute_weighted_loss(tf.constant([1.0, 3.0], tf.float64), 2)
    assert loss.dtype == tf.float64
    assert session.run(loss) == 4.0


def test_smoothed_labels_move_to_equal_probabilities(session: tf.Session) -> None:
    logits = _RANDOM.randn(4, 3).astype(np.float32)
    one_hot = np.eye(3, dtype=np.float32)[[0, 2, 1, 1]]
    binary = tf.losses.sigmoid_cross_entropy(LABELS, logits, label_smoothing=0.1)
    expected = _sigmoid(LABELS * 0.9 + 0.05, logits).mean()
    np.testing.assert_allclose(session.run(binary), expected, rtol=1e-5)
    several = tf.losses.softmax_cross_entropy(
        one_hot, logits, weights=[1.0, 2.0, 0.0, 1.0], label_smoothing=0.3
    )
    each = _softmax(one_hot * 0.7 + 0.1, logits)
    expected = (each * [1.0, 2.0, 0.0, 1.0]).sum() / 3
    np.testing.assert_allclose(session.run(several), expected, rtol=1e-5)


@pytest.mark.parametrize("numbers", [[0, 2, 1, 1], [[0], [2], [1], [1]]])
def test_classes_are_given_by_number(numbers: Any, session: tf.Session) -> None:
    logits = _RANDOM.randn(4, 3).astype(np.float32)
    expected = _softmax(np.eye(3)[np.ravel(numbers)], logits)
    for weights in (1.0, WEIGHTS[:, 0], WEIGHTS):
        loss = tf.losses.sparse_softmax_cross_entropy(numbers, logits, weights)
        factors = np.broadcast_to(np.ravel(weights), [4])
        wanted = (expected * factors).sum() / np.count_nonzero(factors)
        np.testing.assert_allclose(session.run(loss), wanted, rtol=1e-5)


def test_cosine_distance_is_of_vectors(session: tf.Session) -> None:
    labels = LABELS + 0.1
    one, two = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (labels, PREDICTIONS))
    loss = tf.losses.cosine_distance(one, two, axis=1)
    np.testing.assert_allclose(session.run(loss), (1 - (one * two).sum(1)).mean(), rtol=1e-4)
    old = tf.losses.cosine_distance(one, two, dim=1)
    assert session.run(old) == session.run(loss)


def test_pairwise_errors_compare_differences_within_rows(session: tf.Session) -> None:
    total = 0.0
    for row in LABELS - PREDICTIONS:
        pairs = [(row[i] - row[j]) ** 2 for i in range(3) for j in range(i)]
        total += np.mean(pairs)
    loss = tf.losses.mean_pairwise_squared_error(LABELS, PREDICTIONS)
    np.testing.assert_allclose(session.run(loss), total, rtol=1e-5)
    assert tf.losses.get_losses() == [loss]
    nothing = tf.losses.mean_pairwise_squared_error(LABELS, PREDICTIONS, 0.0)
    assert session.run(nothing) == 0.0


def test_the_total_is_of_added_and_regularization_losses(session: tf.Session) -> None:
    with tf.name_scope("first"):
        one = tf.losses.absolute_difference([1.0], [3.0])
    tf.losses.absolute_difference([1.0], [4.0], scope="second", loss_collection="others")
    assert [loss.op.name for loss in tf.losses.get_losses()] == ["first/absolute_difference/value"]
    assert [loss.op.name for loss in tf.losses.get_losses(loss_collection="others")] == [
        "second/value"
    ]
    tf.get_variable(
        "v", initializer=[3.0, 4.0], regularizer=lambda v: tf.nn.l2_loss(v, name="norm")
    )
    session.run(tf.global_variables_initializer())
    total = tf.losses.get_total_loss()
    assert total.op.name == "total_loss"
    assert session.run([one, total, tf.losses.get_regularization_loss()]) == [2.0, 14.5, 12.5]
    assert session.run(tf.losses.get_total_loss(add_regularization_losses=False)) == 2.0
    assert session.run(tf.losses.get_total_loss(scope="first")) == 2.0


def test_weights_that_do_not_fit_are_refused(session: tf.Session) -> None:
    words = "weights can not be broadcast to values"
    for weights in ([1.0, 2.0], [[1.0, 2.0]] * 4, [[[1.0]]]):
        with pytest.raises(ValueError, match=words):
            tf.losses.mean_squared_error(LABELS, PREDICTIONS, weights)
    fed = tf.placeholder(tf.float32)
    loss = tf.losses.mean_squared_error(LABELS, PREDICTIONS, fed)
    for fits in (2.0, WEIGHTS, [[1.0, 2.0, 3.0]]):
        factors = np.broadcast_to(fits, [4, 3])
        expected = ((LABELS - PREDICTIONS) ** 2 * factors).sum() / np.count_nonzero(factors)
        np.testing.assert_allclose(session.run(loss, {fed: fits}), expected, rtol=1e-5)
    for weights in ([1.0, 2.0, 3.0], [[[1.0]]], [1.0]):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(loss, {fed: weights})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.losses.hinge_loss(None, [1.0]), "labels must not be None"),
        (lambda: tf.losses.log_loss([1.0], None), "predictions must not be None"),
        (lambda: tf.losses.softmax_cross_entropy(None, [1.0]), "onehot_labels must not be None"),
        (lambda: tf.losses.cosine_distance([1.0], [1.0]), "must specify 'axis'"),
        (
            lambda: tf.losses.compute_weighted_loss([1.0], reduction="mean"),
            "Invalid ReductionKey mean",
        ),
        (lambda: tf.losses.absolute_difference([[1.0]], [[1.0, 2.0]]), "are incompatible"),
    ],
)
def test_what_is_missing_or_unknown_is_named(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
