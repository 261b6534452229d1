"""The decoder learns to write words backwards, and looks at the letters of the word alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import millstream as tf
from examples import seq2seq


def test_a_short_training_reverses_words(tmp_path: Path) -> None:
    tf.reset_default_graph()
    assert seq2seq.main(["--short", "--logdir", str(tmp_path)]) > 0.7
    assert list(tmp_path.glob("events.out.tfevents.*"))


def test_targets_are_reversed_and_ended() -> None:
    words = seq2seq.random_words(200, np.random.RandomState(0))
    assert set(words.lengths) == set(range(seq2seq.SHORTEST, seq2seq.LONGEST + 1))
    for source, length, target in zip(*words, strict=True):
        assert len(seq2seq.spelt(source)) == length
        assert seq2seq.spelt(target) == seq2seq.spelt(source)[::-1]
        assert (target[length:] == seq2seq.END).all()


def test_attention_is_on_the_word_alone() -> None:
    tf.reset_default_graph()
    tf.set_random_seed(0)
    random = np.random.RandomState(0)
    encoded = random.normal(size=[3, seq2seq.LONGEST, seq2seq.WIDTH]).astype(np.float32)
    lengths = np.array([3, 5, seq2seq.LONGEST])
    attention = seq2seq.Attention(tf.constant(encoded), lengths)
    context, weights = attention(tf.ones([3, seq2seq.WIDTH]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        context, weights = session.run([context, weights])
    for row, length in zip(weights, lengths, strict=True):
        assert (row[:length] > 0).all()
        assert (row[length:] == 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-6)
    # A sum of at most ten products of float32.
    np.testing.assert_allclose(context, np.einsum("bt,btw->bw", weights, encoded), atol=1e-5)


def test_writing_is_what_training_does_if_it_is_given_what_was_written() -> None:
    tf.reset_default_graph()
    tf.set_random_seed(0)
    model = seq2seq.Model(10)
    words = seq2seq.random_words(4, np.random.RandomState(0))
    feed = {model.sources: words.sources, model.lengths: words.lengths}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        written = session.run(model.written, feed)
        given = session.run(model.likeliest, {**feed, model.targets: written})
    assert (written != seq2seq.END).any()
    np.testing.assert_array_equal(given, written)
