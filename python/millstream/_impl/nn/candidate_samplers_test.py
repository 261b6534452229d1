"""Samplers: what is drawn, how often it is expected, and what seeds and sessions do."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _frequencies(session: tf.Session, sampler: Any, classes: int, steps: int = 50) -> Any:
    """How often each class was drawn, as part of all draws."""
    drawn = np.concatenate([session.run(sampler.sampled_candidates) for _ in range(steps)])
    return np.bincount(drawn, minlength=classes) / len(drawn)


_WEIGHTS = [1.0, 0.0, 4.0, 2.0, 9.0]
_SAMPLERS: list[tuple[Callable[..., Any], Any]] = [
    (tf.nn.uniform_candidate_sampler, np.full(5, 0.2)),
    (
        tf.nn.log_uniform_candidate_sampler,
        np.log((np.arange(5) + 2) / (np.arange(5) + 1)) / np.log(6),
    ),
    (
        functools.partial(tf.nn.fixed_unigram_candidate_sampler, distortion=0.5, unigrams=_WEIGHTS),
        np.sqrt(_WEIGHTS) / np.sqrt(_WEIGHTS).sum(),
    ),
]


@pytest.mark.parametrize(("sampler", "probabilities"), _SAMPLERS)
def test_classes_come_as_often_as_is_expected(
    session: tf.Session, sampler: Callable[..., Any], probabilities: Any
) -> None:
    count = 400
    found = sampler([[0, 1], [2, 3]], 2, count, False, 5, seed=1)
    # The part of n draws that a class has differs from its probability by about 0.5 / sqrt(n).
    frequencies = _frequencies(session, found, 5)
    np.testing.assert_allclose(frequencies, probabilities, atol=4 * 0.5 / (50 * count) ** 0.5)
    drawn, of_true, of_drawn = session.run(found)
    np.testing.assert_allclose(of_drawn, count * probabilities[drawn], rtol=1e-5)
    expected = count * probabilities[[[0, 1], [2, 3]]]
    np.testing.assert_allclose(of_true, expected, rtol=1e-5, atol=1e-6)


def test_a_learned_sampler_counts_the_true_classes(session: tf.Session) -> None:
    classes = tf.placeholder(tf.int64, [None, 1])
    found = tf.nn.learned_unigram_candidate_sampler(classes, 1, 1000, False, 4, seed=1)
    ones = session.run(found.sampled_expected_count, {classes: [[2]] * 6})
    np.testing.assert_allclose(ones, 250.0)
    # Now there is one count of each class, and six more of class 2.
    drawn, of_true, _ = session.run(found, {classes: [[2], [0]]})
    np.testing.assert_allclose(of_true, [[700.0], [100.0]], rtol=1e-5)
    assert abs(np.mean(drawn == 2) - 0.7) < 4 * 0.5 / 1000**0.5
    with tf.Session() as other:
        fresh = other.run(found.true_expected_count, {classes: [[2]]})
        np.testing.assert_allclose(fresh, [[250.0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"true_classes: element 1 = 4"):
        session.run(found, {classes: [[0], [4]]})


def test_a_unique_sample_has_no_class_twice(session: tf.Session) -> None:
    found = tf.nn.log_uniform_candidate_sampler([[0]], 1, 30, True, 40, seed=1)
    for _ in range(5):
        drawn, of_true, of_drawn = session.run(found)
        assert len(set(drawn.tolist())) == 30
        # More frequent classes are expected more often, none more than once.
        order = np.argsort(drawn)
        assert (np.diff(of_drawn[order]) <= 0).all()
        assert 0.9 < of_true[0, 0] <= 1
    with pytest.raises(ValueError, match="Sampler's range is too small"):
        tf.nn.uniform_candidate_sampler([[0]], 1, 5, True, 4)
    few = tf.nn.fixed_unigram_candidate_sampler([[0]], 1, 5, True, 5, unigrams=_WEIGHTS)
    with pytest.raises(tf.errors.InvalidArgumentError, match="different classes of 4"):
        session.run(few)


def test_weights_may_come_from_a_file(session: tf.Session, tmp_path: Path) -> None:
    file = tmp_path / "words.csv"
    file.write_text("the,of,8\nzebra,1\n")

    def sampler(path: Path) -> Any:
        return tf.nn.fixed_unigram_candidate_sampler(
            [[1], [2], [0]], 1, 90, False, 3, vocab_file=str(path), num_reserved_ids=1
        )

    expected = session.run(sampler(file).true_expected_count)
    np.testing.assert_allclose(expected, [[80.0], [10.0], [0.0]], rtol=1e-6)
    with pytest.raises(tf.errors.NotFoundError, match="cannot be read"):
        session.run(sampler(tmp_path / "missing"))
    file.write_text("the,often\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Wrong vocabulary format at line"):
        session.run(sampler(file))


def test_seeds_repeat_in_every_session(session: tf.Session) -> None:
    first, second = (
        tf.nn.uniform_candidate_sampler([[0]], 1, 20, True, 1000, seed=7) for _ in range(2)
    )
    free = tf.nn.uniform_candidate_sampler([[0]], 1, 20, True, 1000)
    drawn = session.run([first[0], second[0], free[0]])
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert drawn[0].tolist() != drawn[2].tolist()
    assert drawn[0].tolist() != session.run(first[0]).tolist()
    with tf.Session() as other:
        np.testing.assert_array_equal(other.run(first[0]), drawn[0])


def test_hits_are_found_row_by_row(session: tf.Session) -> None:
    rows, places, weights = tf.nn.compute_accidental_hits([[3, 5], [9, 3]], [5, 3, 8, 3], 2)
    assert session.run([rows, places])[0].tolist() == [0, 0, 1]
    assert session.run(places).tolist() == [3, 0, 3]
    np.testing.assert_array_equal(session.run(weights), [np.finfo(np.float32).min] * 3)
