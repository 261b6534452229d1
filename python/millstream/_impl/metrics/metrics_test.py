"""``tf.metrics`` against their formulas in NumPy, over several batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

_RANDOM = np.random.RandomState(7)
_BATCHES = [_RANDOM.rand(size, 3).astype(np.float32) for size in (4, 1, 6)]
_TRUTHS = [_RANDOM.rand(size) > 0.4 for size in (5, 3, 8)]
_CHANCES = [_RANDOM.rand(size).astype(np.float32) for size in (5, 3, 8)]
_WEIGHTS = [_RANDOM.randint(0, 3, size).astype(np.float32) for size in (5, 3, 8)]


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _streamed(
    session: tf.Session, metric: Callable[..., Any], *inputs: list[Any]
) -> tuple[Any, Any]:
    """What the last update gives after all batches, and the value afterwards."""
    fed = [tf.placeholder(values[0].dtype, [None, *values[0].shape[1:]]) for values in inputs]
    value, update = metric(*fed)
    session.run(tf.local_variables_initializer())
    last = None
    for batch in zip(*inputs, strict=True):
        last = session.run(update, dict(zip(fed, batch, strict=True)))
    return last, session.run(value)


def _check(session: tf.Session, metric: Callable[..., Any], expected: Any, *inputs: Any) -> None:
    for found in _streamed(session, metric, *inputs):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


# ---- Means ----


def test_a_mean_is_of_all_values_so_far(session: tf.Session) -> None:
    rows = [np.arange(len(batch), dtype=np.float32) for batch in _BATCHES]
    _check(session, tf.metrics.mean, np.concatenate(_BATCHES).mean(), _BATCHES)
    weights = np.repeat(np.concatenate(rows), 3)
    expected = np.average(np.concatenate(_BATCHES).ravel(), weights=weights)
    _check(session, tf.metrics.mean, expected, _BATCHES, rows)
    value, _ = tf.metrics.mean(tf.constant([1.0]), 0.0)
    session.run(tf.local_variables_initializer())
    assert session.run(value) == 0.0, "nothing was counted"


def test_a_mean_of_tensors_is_of_each_element(session: tf.Session) -> None:
    fed = tf.placeholder(tf.float32, [3])
    value, update = tf.metrics.mean_tensor(fed, [1.0, 0.0, 2.0])
    session.run(tf.local_variables_initializer())
    for row in _BATCHES[0]:
        session.run(update, {fed: row})
    expected = _BATCHES[0].mean(0) * [1, 0, 1]
    np.testing.assert_allclose(session.run(value), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("metric", "formula"),
    [
        (tf.metrics.mean_absolute_error, lambda y, p: np.abs(y - p).mean()),
        (tf.metrics.mean_squared_error, lambda y, p: ((y - p) ** 2).mean()),
        (tf.metrics.root_mean_squared_error, lambda y, p: np.sqrt(((y - p) ** 2).mean())),
        (
            lambda y, p: tf.metrics.mean_relative_error(y, p, 2 * y),
            lambda y, p: (np.abs(y - p) / (2 * y)).mean(),
        ),
        (
            lambda y, p: tf.metrics.mean_cosine_distance(y, p, 1),
            lambda y, p: 1 - (y * p).sum(1).mean(),
        ),
    ],
)
def test_errors_are_means_over_all_batches(
    metric: Any, formula: Callable[[Any, Any], Any], session: tf.Session
) -> None:
    others = [_RANDOM.rand(*batch.shape).astype(np.float32) for batch in _BATCHES]
    expected = formula(np.concatenate(_BATCHES), np.concatenate(others))
    _check(session, metric, expected, _BATCHES, others)


def test_accuracy_counts_equal_classes(session: tf.Session) -> None:
    labels = [_RANDOM.randint(0, 3, size) for size in (5, 3, 8)]
    guesses = [_RANDOM.randint(0, 3, size) for size in (5, 3, 8)]
    right = np.concatenate(labels) == np.concatenate(guesses)
    _check(session, tf.metrics.accuracy, right.mean(), labels, guesses)
    weights = np.concatenate(_WEIGHTS)
    expected = np.average(right, weights=weights)
    _check(session, tf.metrics.accuracy, expected, labels, guesses, _WEIGHTS)
    columns = [values[:, None] for values in labels]
    _check(session, tf.metrics.accuracy, right.mean(), columns, guesses)
    # A class without examples counts as 0.
    matrix = np.zeros([4, 4])
    np.add.at(matrix, (np.concatenate(labels), np.concatenate(guesses)), 1)
    of_class = np.diag(matrix) / np.maximum(matrix.sum(1), 1)
    metric = lambda y, p: tf.metrics.mean_per_class_accuracy(y, p, 4)  # noqa: E731
    last, value = _streamed(session, metric, labels, guesses)
    np.testing.assert_allclose(last, of_class, rtol=1e-5)
    np.testing.assert_allclose(value, of_class.mean(), rtol=1e-5)
    union = (matrix.sum(0) + matrix.sum(1) - np.diag(matrix))[:3]
    metric = lambda y, p: tf.metrics.mean_iou(y, p, 4)  # noqa: E731
    last, value = _streamed(session, metric, labels, guesses)
    np.testing.assert_array_equal(last, matrix)
    np.testing.assert_allclose(value, (np.diag(matrix)[:3] / union).mean(), rtol=1e-5)


def test_percentage_below_a_threshold(session: tf.Session) -> None:
    metric = lambda x: tf.metrics.percentage_below(x, 0.3)  # noqa: E731
    _check(session, metric, (np.concatenate(_BATCHES) < 0.3).mean(), _BATCHES)


# ---- Two classes ----


def _counts(above: float = 0.5, weights: Any = 1.0) -> tuple[float, float, float, float]:
    """True and false positives, true and false negatives."""
    truths, found = np.concatenate(_TRUTHS), np.concatenate(_CHANCES) > above
    kinds = (truths & found, ~truths & found, ~truths & ~found, truths & ~found)
    return tuple(float((kind * weights).sum()) for kind in kinds)  # type: ignore[return-value]


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_and_parts_of_two_classes(weighted: bool, session: tf.Session) -> None:
    weights = np.concatenate(_WEIGHTS) if weighted else 1.0
    guesses = [chances > 0.5 for chances in _CHANCES]
    given = [_TRUTHS, guesses, *([_WEIGHTS] if weighted else [])]
    right, wrong, refused, missed = _counts(weights=weights)
    _check(session, tf.metrics.true_positives, right, *given)
    _check(session, tf.metrics.false_positives, wrong, *given)
    _check(session, tf.metrics.true_negatives, refused, *given)
    _check(session, tf.metrics.false_negatives, missed, *given)
    _check(session, tf.metrics.precision, right / (right + wrong), *given)
    _check(session, tf.metrics.recall, right / (right + missed), *given)


def test_counts_and_parts_at_thresholds(session: tf.Session) -> None:
    levels = [0.2, 0.5, 0.8]
    right, wrong, refused, missed = np.array([_counts(level) for level in levels]).T

    def at(name: str) -> Callable[..., Any]:
        metric = getattr(tf.metrics, f"{name}_at_thresholds")
        return lambda y, p: metric(y, p, levels)

    _check(session, at("true_positives"), right, _TRUTHS, _CHANCES)
    _check(session, at("false_positives"), wrong, _TRUTHS, _CHANCES)
    _check(session, at("true_negatives"), refused, _TRUTHS, _CHANCES)
    _check(session, at("false_negatives"), missed, _TRUTHS, _CHANCES)
    _check(session, at("precision"), right / (right + wrong + 1e-7), _TRUTHS, _CHANCES)
    _check(session, at("recall"), right / (right + missed), _TRUTHS, _CHANCES)


def _curve() -> tuple[Any, Any, Any]:
    """False positive rate, recall and precision at a thousand thresholds, falling."""
    points = np.array([_counts(level) for level in np.linspace(-1e-7, 1 + 1e-7, 1000)])
    right, wrong, refused, missed = points.T
    found = (right + 1e-6) / (right + missed + 1e-6)
    return wrong / (wrong + refused), found, (right + 1e-6) / (right + wrong + 1e-6)


@pytest.mark.parametrize("curve", ["ROC", "PR"])
@pytest.mark.parametrize("method", ["trapezoidal", "minoring", "majoring"])
def test_areas_are_sums_below_the_curve(curve: str, method: str, session: tf.Session) -> None:
    rate, found, part = _curve()
    x, y = (rate, found) if curve == "ROC" else (found, part)
    ends = np.stack([y[:-1], y[1:]])
    heights = {"trapezoidal": ends.mean(0), "minoring": ends.min(0), "majoring": ends.max(0)}
    expected = ((x[:-1] - x[1:]) * heights[method]).sum()

    def metric(labels: Any, predictions: Any) -> Any:
        return tf.metrics.auc(
            labels, predictions, curve=curve, summation_method=method, num_thresholds=1000
        )

    for area in _streamed(session, metric, _TRUTHS, _CHANCES):
        np.testing.assert_allclose(area, expected, atol=2e-3)


def test_areas_below_precision_are_interpolated(session: tf.Session) -> None:
    # From 1 right of 1 positive to 2 of 4.
    labels = tf.constant([1, 0, 0, 1])
    chances = tf.constant([0.9, 0.6, 0.6, 0.6])
    _, update = tf.metrics.auc(
        labels, chances, curve="PR", summation_method="careful_interpolation", thresholds=[0.7]
    )
    session.run(tf.local_variables_initializer())
    # Three more positives, of which one is right: the mean precision over half of the recall.
    more = (np.arange(10000) + 0.5) * 3 / 10000
    exact = 0.5 + ((1 + more / 3) / (1 + more)).mean() / 2
    np.testing.assert_allclose(session.run(update), exact, rtol=1e-4)


def test_rates_at_rates(session: tf.Session) -> None:
    levels = np.array([-1e-7, *((np.arange(198) + 1) / 199), 1 + 1e-7])
    right, wrong, refused, missed = np.array([_counts(level) for level in levels]).T
    specificity, sensitivity = refused / (refused + wrong), right / (right + missed)
    best = np.abs(specificity - 0.6).argmin()
    metric = lambda y, p: tf.metrics.sensitivity_at_specificity(y, p, 0.6)  # noqa: E731
    _check(session, metric, sensitivity[best], _TRUTHS, _CHANCES)
    distance = np.abs(sensitivity - 0.6)
    last = np.flatnonzero(distance == distance.min())[-1]
    metric = lambda y, p: tf.metrics.specificity_at_sensitivity(y, p, 0.6)  # noqa: E731
    _check(session, metric, specificity[last], _TRUTHS, _CHANCES)


# ---- Variables, collections, errors ----


def test_a_collection_may_be_named_without_a_list() -> None:
    value, update = tf.metrics.accuracy(
        [1], [1], metrics_collections="values", updates_collections="updates"
    )
    assert (tf.get_collection("values"), tf.get_collection("updates")) == ([value], [update])


def test_counters_are_local_and_join_collections(session: tf.Session) -> None:
    with tf.name_scope("eval"):
        value, update = tf.metrics.precision(
            [1], [1], metrics_collections=["values"], updates_collections=["updates"]
        )
    tf.metrics.accuracy([1], [1])
    names = [variable.op.name for variable in tf.local_variables()]
    assert names == [
        "eval/precision/true_positives/count",
        "eval/precision/false_positives/count",
        "accuracy/total",
        "accuracy/count",
    ]
    assert tf.get_collection(tf.GraphKeys.METRIC_VARIABLES) == tf.local_variables()
    assert tf.trainable_variables() == tf.global_variables() == []
    assert (tf.get_collection("values"), tf.get_collection("updates")) == ([value], [update])
    assert [value.op.name, update.op.name] == [
        "eval/precision/value",
        "eval/precision/update_op",
    ]


def test_a_confusion_matrix_counts_pairs(session: tf.Session) -> None:
    labels, guesses = [0, 1, 2, 1], [0, 2, 2, 1]
    matrix = tf.confusion_matrix(labels, guesses)
    assert session.run(matrix).tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
    weighted = tf.confusion_matrix(labels, guesses, 4, tf.float32, weights=[1.0, 0.5, 2.0, 0.0])
    assert weighted.shape.as_list() == [4, 4]
    expected = np.zeros([4, 4])
    np.add.at(expected, (labels, guesses), [1.0, 0.5, 2.0, 0.0])
    np.testing.assert_array_equal(session.run(weighted), expected)


def test_what_does_not_fit_is_refused(session: tf.Session) -> None:
    with pytest.raises(ValueError, match="incompatible"):
        tf.metrics.accuracy([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="weights can not be broadcast"):
        tf.metrics.mean([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="curve must be either ROC or PR, XY unknown"):
        tf.metrics.auc([1], [1.0], curve="XY")
    with pytest.raises(ValueError, match="Invalid summation_method: none"):
        tf.metrics.auc([1], [1.0], summation_method="none")
    with pytest.raises(ValueError, match=r"specificity must be in the range \[0, 1\], got 2"):
        tf.metrics.sensitivity_at_specificity([1], [1.0], 2)
    fed = tf.placeholder(tf.float32, [None])
    _, update = tf.metrics.auc([1], fed)
    matrix = tf.confusion_matrix(tf.cast(fed, tf.int32), [0], 2)
    session.run(tf.local_variables_initializer())
    for run, value, words in (
        (update, 1.5, r"must be in \[0, 1\]"),
        (update, -0.5, r"must be in \[0, 1\]"),
        (matrix, 2.0, "`labels` out of bound"),
        (matrix, -1.0, "`labels` contains negative values"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(run, {fed: [value]})
