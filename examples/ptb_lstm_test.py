"""The network learns which words follow others, and its training follows the recipe."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import millstream as tf
from examples import ptb_lstm


def test_a_short_training_predicts_words(tmp_path: Path) -> None:
    tf.reset_default_graph()
    # 337.8 by frequency.
    assert ptb_lstm.main(["--short", "--logdir", str(tmp_path)]) < 280.0
    assert list(tmp_path.glob("events.out.tfevents.*"))


def test_words_are_numbered_by_frequency() -> None:
    counts = np.bincount(ptb_lstm.text_of_words())
    assert len(counts) == ptb_lstm.WORDS
    assert (np.diff(counts[: ptb_lstm.UNKNOWN]) <= 0).all()


def test_the_rate_is_halved_in_the_second_half() -> None:
    tf.reset_default_graph()
    steps = 4 * ptb_lstm.HALVINGS
    model = ptb_lstm.Model(steps)
    count = tf.train.get_global_step()
    with tf.Session() as session:
        rates = [float(session.run(model.rate, {count: step})) for step in range(steps)]
    halved = [0.5 ** (step // 2) for step in range(2 * ptb_lstm.HALVINGS)]
    assert rates == pytest.approx([1.0] * (steps // 2) + halved)


def test_the_state_is_carried_and_dropping_is_for_the_training() -> None:
    tf.reset_default_graph()
    tf.set_random_seed(0)
    model = ptb_lstm.Model(10)
    words = np.random.RandomState(0).randint(0, 100, [ptb_lstm.STREAMS, ptb_lstm.TIME])
    feed = {model.inputs: words, model.targets: words}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        state, loss = session.run([model.next_state, model.loss], feed)
        assert session.run(model.loss, feed) == loss
        assert session.run(model.loss, {**feed, model.kept: 0.5}) != loss
        assert session.run(model.loss, {**feed, model.state: state}) != loss
