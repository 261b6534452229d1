"""The vectors learn which words are near each other, and TensorBoard finds what it needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import millstream as tf
from examples import word2vec


@pytest.fixture
def vocabulary() -> word2vec.Vocabulary:
    """Words of which "a" is the most frequent one."""
    return word2vec.Vocabulary(["a"] * 90 + ["b"] * 9 + ["c"] * 5 + ["d"] * 4)


def test_a_short_training_brings_plurals_near(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tf.reset_default_graph()
    found = word2vec.main(["--short", "--folder", str(tmp_path)])
    assert found > 0.55
    out = capsys.readouterr().out
    assert all(f"{word}: " in out for word in word2vec.PROBES)


def test_the_projector_has_a_word_for_each_row(
    tmp_path: Path, vocabulary: word2vec.Vocabulary
) -> None:
    tf.reset_default_graph()
    model = word2vec.Model(70)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        expected = session.run(model.embedding)
        word2vec.write_projector(session, model, vocabulary, tmp_path)
    checkpoint = tf.train.latest_checkpoint(str(tmp_path))
    assert checkpoint is not None
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert 'tensor_name: "embedding"' in config
    assert 'metadata_path: "metadata.tsv"' in config
    found = tf.train.load_variable(checkpoint, "embedding")
    np.testing.assert_array_equal(found, expected)
    lines = (tmp_path / "metadata.tsv").read_text().splitlines()
    assert lines == ["word\tcount", "a\t90", "b\t9", "c\t5"]


def test_words_are_numbered_by_frequency(vocabulary: word2vec.Vocabulary) -> None:
    assert vocabulary.words == ["a", "b", "c"]
    assert vocabulary.ids(["c", "d", "a"]).tolist() == [2, 0]


def test_frequent_words_are_left_out(vocabulary: word2vec.Vocabulary) -> None:
    ids = np.repeat(np.arange(3), 20_000)
    kept = np.bincount(word2vec.thinned(ids, vocabulary, np.random.RandomState(0))) / 20_000
    expected = np.sqrt(word2vec.FREQUENT / (np.array([90, 9, 5]) / 104))
    np.testing.assert_allclose(kept, expected, rtol=0.15)


def test_pairs_are_near_and_nearer_ones_are_more() -> None:
    ids = np.arange(1000)
    pairs = word2vec.pairs_of(ids, np.random.RandomState(0))
    distances = np.abs(pairs.centers - pairs.contexts)
    counts = np.bincount(distances)
    assert counts[0] == 0
    assert len(counts) == word2vec.WINDOW + 1
    assert (np.diff(counts[1:]) < 0).all()
    assert counts[1] == 2 * 999, "the next words are in every window"
