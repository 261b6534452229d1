"""The network learns which characters follow others, and its state stands for what it has read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import millstream as tf
from examples import char_rnn


def test_a_short_training_predicts_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tf.reset_default_graph()
    # 27.2 by frequency.
    assert char_rnn.main(["--short", "--logdir", str(tmp_path)]) < 14.0
    assert capsys.readouterr().out.startswith(":hacker: n.")
    assert list(tmp_path.glob("events.out.tfevents.*"))


def test_a_fed_state_continues_what_was_read_before() -> None:
    tf.reset_default_graph()
    tf.set_random_seed(0)
    model = char_rnn.Model(8)
    text = np.array([[1, 2, 3, 4, 5, 6]])
    likely = tf.nn.softmax(model.scores)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        whole = session.run(likely, {model.inputs: text})
        state = session.run(model.next_state, {model.inputs: text[:, :4]})
        rest = {model.inputs: text[:, 4:]}
        parts = session.run(likely, {**rest, model.state: state})
        fresh = session.run(likely, rest)
    # The same sums in the same order, but for matrix products of another height.
    np.testing.assert_allclose(parts, whole, rtol=1e-5)
    assert not np.allclose(fresh, whole, rtol=1e-3)
