"""Learn to write like a text, character by character.

A. Karpathy, "The Unreasonable Effectiveness of Recurrent Neural Networks" (2015): an LSTM reads
characters and learns to predict the next one. To write, it gets the character that was drawn last
and the state that it had before. The graph is the same for both: the state is a tensor that is zero
unless it is fed.

The figure that says what was learned is the perplexity of a tenth of the text that was not trained
on: as if the network had to guess each character among so many that are equally likely.
"""

from __future__ import annotations

import pathlib
import tempfile
from typing import Any

import numpy as np

import millstream as tf
from examples import jargon_file
from examples.command_line import progress_bar, training_parser, user_path
from examples.jargon_file import Ids

STEPS = 6000
SHORT_STEPS = 300
STREAMS = 32  # places of the text that are read at the same time
TIME = 50  # characters that gradients go back
WIDTH = 128
SUMMARY_EVERY = 20
WRITTEN = 400  # characters
TEMPERATURE = 0.7  # below 1, likely characters become more likely


class Model:
    """The graph: characters and a state give the next characters and the next state."""

    def __init__(self, characters: int) -> None:
        self.inputs = tf.placeholder(tf.int64, [None, None], name="inputs")
        self.targets = tf.placeholder(tf.int64, [None, None], name="targets")
        cell = tf.nn.rnn_cell.LSTMCell(WIDTH)
        self.state = cell.zero_state(tf.shape(self.inputs)[0], tf.float32)
        rows = tf.one_hot(self.inputs, characters)
        outputs, self.next_state = tf.nn.dynamic_rnn(cell, rows, initial_state=self.state)
        logits = tf.layers.dense(outputs, characters)
        self.scores = logits[:, -1] / TEMPERATURE
        self.drawn = tf.multinomial(self.scores, 1)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.targets, logits=logits)
        self.loss = tf.reduce_mean(losses)
        optimizer = tf.train.AdamOptimizer(5e-3)
        gradients, variables = zip(*optimizer.compute_gradients(self.loss), strict=True)
        clipped = [tf.clip_by_value(gradient, -1.0, 1.0) for gradient in gradients]
        self.train = optimizer.apply_gradients(zip(clipped, variables, strict=True))
        self.summary = tf.summary.scalar("loss", self.loss)


def train(session: tf.Session, model: Model, steps: int, text: Ids, folder: pathlib.Path) -> None:
    """Run the steps, with a progress bar; each goes on where the one before stopped."""
    windows = jargon_file.windows(text, STREAMS, TIME)
    writer = tf.summary.FileWriter(str(folder), session.graph)
    fetches = [model.next_state, model.loss, model.summary, model.train]
    feed: dict[Any, Any] = {}
    with progress_bar(steps) as bar:
        for number in range(steps):
            window = windows[number % len(windows)]
            feed |= {model.inputs: window.inputs, model.targets: window.targets}
            feed[model.state], loss, summary, _ = session.run(fetches, feed)
            if number % SUMMARY_EVERY == 0:
                writer.add_summary(summary, number)
                bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
            bar.update()
    writer.close()


def perplexity(session: tf.Session, model: Model, text: Ids) -> float:
    """Return the perplexity of a text."""
    losses = []
    feed: dict[Any, Any] = {}
    for window in jargon_file.windows(text, STREAMS, TIME):
        feed |= {model.inputs: window.inputs, model.targets: window.targets}
        loss, feed[model.state] = session.run([model.loss, model.next_state], feed)
        losses.append(loss)
    return float(np.exp(np.mean(losses)))


def write(session: tf.Session, model: Model, start: Ids) -> Ids:
    """Return characters that continue others."""
    feed: dict[Any, Any] = {model.inputs: [start]}
    written = []
    for _ in range(WRITTEN):
        drawn, state = session.run([model.drawn, model.next_state], feed)
        written.append(drawn[0, 0])
        feed = {model.inputs: drawn, model.state: state}
    return np.array(written)


def main(arguments: list[str] | None = None) -> float:
    """Train, write, report and return the perplexity."""
    parser = training_parser(__doc__, "of the variables and of what is written")
    parser.add_argument("--logdir", type=user_path, help="where event files go")
    args = parser.parse_args(arguments)
    steps = args.steps or (SHORT_STEPS if args.short else STEPS)
    folder = args.logdir or pathlib.Path(tempfile.gettempdir()) / "millstream_char_rnn"
    tf.set_random_seed(args.seed)
    text = jargon_file.plain_lines(jargon_file.read_text())
    alphabet = sorted(set(text))
    parts = jargon_file.split(np.array([alphabet.index(character) for character in text]))
    model = Model(len(alphabet))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        train(session, model, steps, parts.train, folder)
        result = perplexity(session, model, parts.test)
        start = np.array([alphabet.index(character) for character in ":hacker: n."])
        written = write(session, model, start)
    print(":hacker: n." + "".join(alphabet[number] for number in written))
    known = jargon_file.perplexity_by_frequency(parts, len(alphabet))
    print(f"perplexity of characters {result:.2f} after {steps} steps, {known:.2f} by frequency")
    print(f"loss curve: tensorboard --logdir {folder}")
    return result


if __name__ == "__main__":
    main()
