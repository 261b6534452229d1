"""Learn to predict the next word of a text by an LSTM of two layers.

The model and its training are those of W. Zaremba et al., "Recurrent Neural Network Regularization"
(2014), which 1.15 programs run on the Penn Treebank; the text here is the Jargon File. Gradients go
back TIME words, and the state is carried from step to step, so that the network remembers longer
than that. Outputs of layers are dropped at random, the states are not. The gradients are clipped by
their common norm, and the learning rate is halved several times in the second half of the training.

The figure that says what was learned is the perplexity of a tenth of the text that was not trained
on: as if the network had to guess each word among so many that are equally likely.
"""

from __future__ import annotations

import pathlib
import re
import tempfile
from collections import Counter
from typing import Any

import numpy as np

import millstream as tf
from examples import jargon_file
from examples.command_line import progress_bar, training_parser, user_path
from examples.jargon_file import Ids

STEPS = 6000
SHORT_STEPS = 500
STREAMS = 20  # places of the text that are read at the same time
TIME = 20  # words that gradients go back
WIDTH = 128
LAYERS = 2
WORDS = 4000  # the most frequent ones
UNKNOWN = WORDS - 1  # stands for all others
KEPT = 0.8  # part of the outputs that a step of the training does not drop
RATE = 1.0
HALVINGS = 6  # of the learning rate, in the second half of the training
LARGEST_NORM = 5.0
SUMMARY_EVERY = 20


def text_of_words() -> Ids:
    """Return the text as numbers of words, of which 0 is the most frequent one."""
    text = jargon_file.plain_lines(jargon_file.read_text()).lower()
    words = re.findall(r"[a-z]+(?:'[a-z]+)?|[.,:;?!()]", text)
    frequent = [word for word, _ in Counter(words).most_common(WORDS - 1)]
    numbers = {word: number for number, word in enumerate(frequent)}
    return np.array([numbers.get(word, UNKNOWN) for word in words])


def layer(kept: Any) -> tf.nn.rnn_cell.RNNCell:
    """Return a layer of which a part of the outputs is kept."""
    return tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.LSTMCell(WIDTH), output_keep_prob=kept)


class Model:
    """The graph: TIME words of each stream and a state give the next words and the next state."""

    def __init__(self, steps: int) -> None:
        self.inputs = tf.placeholder(tf.int64, [STREAMS, TIME], name="inputs")
        self.targets = tf.placeholder(tf.int64, [STREAMS, TIME], name="targets")
        self.kept = tf.placeholder_with_default(1.0, [], name="kept")
        uniform = tf.random_uniform_initializer(-0.1, 0.1)
        with tf.variable_scope("model", initializer=uniform):
            embedding = tf.get_variable("embedding", [WORDS, WIDTH])
            rows = tf.nn.dropout(tf.nn.embedding_lookup(embedding, self.inputs), self.kept)
            cell = tf.nn.rnn_cell.MultiRNNCell([layer(self.kept) for _ in range(LAYERS)])
            self.state = cell.zero_state(STREAMS, tf.float32)
            outputs, self.next_state = tf.nn.static_rnn(
                cell, tf.unstack(rows, axis=1), initial_state=self.state
            )
            logits = tf.layers.dense(tf.stack(outputs, axis=1), WORDS)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.targets, logits=logits)
        self.loss = tf.reduce_mean(losses)
        self.rate, self.train = self._training(steps)
        tf.summary.scalar("perplexity", tf.exp(self.loss))
        tf.summary.scalar("learning_rate", self.rate)
        self.summary = tf.summary.merge_all()

    def _training(self, steps: int) -> tuple[Any, Any]:
        """Return the learning rate and the operation that does a step."""
        count = tf.train.get_or_create_global_step()
        late = tf.maximum(count - steps // 2, 0)
        period = steps / 2 / HALVINGS
        rate = tf.train.exponential_decay(RATE, late, period, 0.5, staircase=True)
        # The loss of a window is the sum over its time, as in the paper.
        gradients = tf.gradients(self.loss * TIME, tf.trainable_variables())
        clipped, _ = tf.clip_by_global_norm(gradients, LARGEST_NORM)
        pairs = zip(clipped, tf.trainable_variables(), strict=True)
        return rate, tf.train.GradientDescentOptimizer(rate).apply_gradients(pairs, count)


def train(session: tf.Session, model: Model, steps: int, text: Ids, folder: pathlib.Path) -> None:
    """Run the steps, with a progress bar; each goes on where the one before stopped."""
    windows = jargon_file.windows(text, STREAMS, TIME)
    writer = tf.summary.FileWriter(str(folder), session.graph)
    fetches = [model.next_state, model.loss, model.summary, model.train]
    feed: dict[Any, Any] = {model.kept: KEPT}
    with progress_bar(steps) as bar:
        for number in range(steps):
            window = windows[number % len(windows)]
            feed |= {model.inputs: window.inputs, model.targets: window.targets}
            feed[model.state], loss, summary, _ = session.run(fetches, feed)
            if number % SUMMARY_EVERY == 0:
                writer.add_summary(summary, number)
                bar.set_postfix(perplexity=f"{np.exp(loss):.1f}", refresh=False)
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


def main(arguments: list[str] | None = None) -> float:
    """Train, report and return the perplexity."""
    parser = training_parser(__doc__, "of the variables and of what is dropped")
    parser.add_argument("--logdir", type=user_path, help="where event files go")
    args = parser.parse_args(arguments)
    steps = args.steps or (SHORT_STEPS if args.short else STEPS)
    folder = args.logdir or pathlib.Path(tempfile.gettempdir()) / "millstream_ptb_lstm"
    tf.set_random_seed(args.seed)
    parts = jargon_file.split(text_of_words())
    model = Model(steps)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        train(session, model, steps, parts.train, folder)
        result = perplexity(session, model, parts.test)
    known = jargon_file.perplexity_by_frequency(parts, WORDS)
    print(f"perplexity of words {result:.1f} after {steps} steps, {known:.1f} by frequency")
    print(f"curves: tensorboard --logdir {folder}")
    return result


if __name__ == "__main__":
    main()
