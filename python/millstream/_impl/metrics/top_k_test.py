"""``tf.metrics`` of the k best predictions against their definitions on Python's sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

_RANDOM = np.random.RandomState(9)
_CLASSES = 6
_K = 3
_LABELS = [_RANDOM.randint(-1, _CLASSES + 1, (rows, 2)) for rows in (4, 1, 5)]
_SCORES = [_RANDOM.rand(rows, _CLASSES).astype(np.float32) for rows in (4, 1, 5)]
_WEIGHTS = [_RANDOM.randint(0, 3, rows).astype(np.float32) for rows in (4, 1, 5)]


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _best(scores: Any) -> Any:
    return np.argsort(-scores, axis=-1, kind="stable")[..., :_K]


def _part(what: str, class_id: int | None, weights: list[Any]) -> float:
    """The metric after all batches, by sets."""
    right = others = 0.0
    for labels, scores, factors in zip(_LABELS, _SCORES, weights, strict=True):
        for wanted_row, found_row, factor in zip(labels, _best(scores), factors, strict=True):
            wanted, found = set(wanted_row.tolist()), set(found_row.tolist())
            if class_id is not None:
                wanted, found = wanted & {class_id}, found & {class_id}
            right += factor * len(wanted & found)
            others += factor * len(wanted - found if what == "recall" else found - wanted)
    return right / (right + others)


def _streamed(session: tf.Session, pair: Any, feeds: list[dict[Any, Any]]) -> float:
    value, update = pair
    session.run(tf.local_variables_initializer())
    last = None
    for feed in feeds:
        last = session.run(update, feed)
    assert session.run(value) == last
    assert isinstance(last, np.float64)
    return float(last)


@pytest.mark.parametrize("what", ["recall", "precision"])
@pytest.mark.parametrize("class_id", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_of_the_best_predictions(
    session: tf.Session, what: str, class_id: int | None, weighted: bool
) -> None:
    labels = tf.placeholder(tf.int64, [None, 2])
    scores = tf.placeholder(tf.float32, [None, _CLASSES])
    weights = tf.placeholder(tf.float32, [None])
    feeds = [
        dict(zip((labels, scores, weights), batch, strict=True))
        for batch in zip(_LABELS, _SCORES, _WEIGHTS, strict=True)
    ]
    given = weights if weighted else None
    ones = [np.ones(len(batch)) for batch in _WEIGHTS]
    expected = _part(what, class_id, _WEIGHTS if weighted else ones)
    at_k = getattr(tf.metrics, f"{what}_at_k")(labels, scores, _K, class_id, given)
    np.testing.assert_allclose(_streamed(session, at_k, feeds), expected)
    best = tf.nn.top_k(scores, _K).indices
    at_top_k = getattr(tf.metrics, f"{what}_at_top_k")(labels, best, _K, class_id, given)
    np.testing.assert_allclose(_streamed(session, at_top_k, feeds), expected)


def test_repeated_classes_count_once(session: tf.Session) -> None:
    pair = tf.metrics.recall_at_top_k([[1, 1, 2]], [[1, 1, 1]])
    assert _streamed(session, pair, [{}]) == 0.5
    pair = tf.metrics.precision_at_top_k([[1, 1, 2]], [[1, 1, 3]])
    assert _streamed(session, pair, [{}]) == 0.5


def test_labels_may_lack_the_last_dimension(session: tf.Session) -> None:
    scores = tf.constant([[[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]]])
    assert _streamed(session, tf.metrics.recall_at_k([[0, 2]], scores, 2), [{}]) == 0.5


def test_rows_of_a_sparse_tensor_have_different_numbers_of_labels(session: tf.Session) -> None:
    labels = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [0, 2, 1], [3, 2])
    scores = [[0.6, 0.3, 0.1]] * 3
    assert _streamed(session, tf.metrics.recall_at_k(labels, scores, 2), [{}]) == 2 / 3
    assert _streamed(session, tf.metrics.precision_at_k(labels, scores, 2), [{}]) == 2 / 6
    # Average precisions: (1/1 + 0) / 2, nothing of nothing, (0 + 1/2) / 1.
    pair = tf.metrics.average_precision_at_k(labels, scores, 2, [1.0, 0.0, 1.0])
    assert np.isnan(_streamed_once(session, pair))
    pair = tf.metrics.average_precision_at_k(
        tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0, 2, 1], [2, 2]), scores[:2], 2
    )
    assert _streamed(session, pair, [{}]) == 0.5


def _streamed_once(session: tf.Session, pair: Any) -> float:
    session.run(tf.local_variables_initializer())
    return float(session.run(pair[1]))


def test_nothing_counted_is_no_number(session: tf.Session) -> None:
    pair = tf.metrics.recall_at_k([[5]], [[0.6, 0.3, 0.1]], 2, class_id=1)
    assert np.isnan(_streamed_once(session, pair))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_average_precision_is_of_all_rows(session: tf.Session, weighted: bool) -> None:
    labels = tf.placeholder(tf.int64, [None, 2])
    scores = tf.placeholder(tf.float32, [None, _CLASSES])
    weights = tf.placeholder(tf.float32, [None])
    total = count = 0.0
    feeds = []
    for batch in zip(_LABELS, _SCORES, _WEIGHTS, strict=True):
        feeds.append(dict(zip((labels, scores, weights), batch, strict=True)))
        for wanted, found, factor in zip(batch[0], _best(batch[1]), batch[2], strict=True):
            right = np.isin(found, wanted)
            precisions = np.cumsum(right) / np.arange(1, _K + 1)
            part = factor if weighted else 1.0
            total += part * float((precisions * right).sum()) / min(len(wanted), _K)
            count += part
    pair = tf.metrics.average_precision_at_k(labels, scores, _K, weights if weighted else None)
    np.testing.assert_allclose(_streamed(session, pair, feeds), total / count)


def test_names_tell_the_place_and_the_class(session: tf.Session) -> None:
    tf.metrics.recall_at_k([[1]], [[0.6, 0.3, 0.1]], 2, class_id=1)
    names = [variable.op.name for variable in tf.local_variables()]
    scope = "recall_at_2_class1"
    assert names == [
        f"{scope}/true_positive_at_2_class1",
        f"{scope}/false_negative_at_2_class1",
    ]
