"""Learn to write words backwards: an encoder, and a decoder that attends to what was encoded.

I. Sutskever et al., "Sequence to Sequence Learning with Neural Networks" (2014), with the attention
of M. Luong et al., "Effective Approaches to Attention-based Neural Machine Translation" (2015). One
network reads a word of random letters, another one writes. For each letter that it writes, the
decoder looks at the outputs of the encoder: it weights them by how well they match its own output.
In training it gets the letter that it should have written before, in the test the one that it did
write.

The figure that says what was learned is the part of new words that are wholly right. TensorBoard
shows the weights, where a line from corner to corner is the reversed order.
"""

from __future__ import annotations

import pathlib
import string
import tempfile
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import millstream as tf
from examples.command_line import progress_bar, training_parser, user_path

STEPS = 2000
SHORT_STEPS = 600
BATCH = 64
TESTED = 1000
LETTERS = "." + string.ascii_lowercase  # the dot ends a word
END = 0
SHORTEST, LONGEST = 3, 10
WRITTEN = LONGEST + 1  # with the end
WIDTH = 64
EMBEDDING = 16
SUMMARY_EVERY = 20
SHOWN = 5


class Words(NamedTuple):
    """Words as numbers of letters, [words, letters], with ends behind them, and reversed."""

    sources: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]


def random_words(count: int, random: np.random.RandomState) -> Words:
    """Return words of random lengths and letters."""
    lengths = random.randint(SHORTEST, LONGEST + 1, count)
    sources = random.randint(1, len(LETTERS), [count, LONGEST])
    sources[np.arange(LONGEST) >= lengths[:, None]] = END
    targets = np.full([count, WRITTEN], END)
    for source, length, target in zip(sources, lengths, targets, strict=True):
        target[:length] = source[:length][::-1]
    return Words(sources, lengths, targets)


def spelt(numbers: npt.NDArray[np.int64]) -> str:
    """Return the letters up to the first end."""
    return "".join(LETTERS[number] for number in numbers).split(LETTERS[END])[0]


class Attention:
    """Weights what was encoded by how well it matches an output of the decoder."""

    def __init__(self, encoded: Any, lengths: Any) -> None:
        self.encoded = encoded
        self.keys = tf.layers.dense(encoded, WIDTH, use_bias=False, name="keys")
        mask = tf.sequence_mask(lengths, LONGEST, tf.float32)
        self.penalty = (mask - 1.0) * 1e9  # what is behind a word gets no weight

    def __call__(self, output: Any) -> tuple[Any, Any]:
        """Return the weighted sum of what was encoded, and the weights."""
        scores = tf.reduce_sum(self.keys * tf.expand_dims(output, 1), 2)
        weights = tf.nn.softmax(scores + self.penalty)
        return tf.reduce_sum(self.encoded * tf.expand_dims(weights, 2), 1), weights


class Decoder:
    """Writes letters; each step sees the letter before, and what the step before attended to."""

    def __init__(self, embedding: Any, attention: Attention, state: Any) -> None:
        self.embedding, self.attention, self.first_state = embedding, attention, state
        self.cell = tf.nn.rnn_cell.GRUCell(WIDTH, name="decoder")
        self.kernel = tf.get_variable("kernel", [2 * WIDTH, len(LETTERS)])

    def write(self, given: Any = None) -> tuple[Any, Any]:
        """Return the logits of all letters, and what the decoder attended to for each.

        Parameters
        ----------
        given
            The letters that should be written, [words, WRITTEN], for the training. Without them
            each step gets the letter that the step before found the likeliest.
        """
        count = tf.shape(self.first_state)[0]

        def step(time: Any, output: Any, state: Any, _: Any) -> tuple[Any, ...]:
            if output is None:  # before the first letter
                state, context = self.first_state, tf.zeros([count, WIDTH])
                letters = tf.fill([count], tf.constant(END, tf.int64))
                emitted = tf.zeros([len(LETTERS)]), tf.zeros([LONGEST])  # of one word
            else:
                context, weights = self.attention(output)
                logits = tf.matmul(tf.concat([output, context], 1), self.kernel)
                letters = tf.argmax(logits, 1) if given is None else given[:, time - 1]
                emitted = logits, weights
            rows = tf.nn.embedding_lookup(self.embedding, letters)
            inputs = tf.concat([rows, context], 1)
            return tf.fill([count], time >= WRITTEN), inputs, state, emitted, None

        (logits, weights), _, _ = tf.nn.raw_rnn(self.cell, step)
        return tf.transpose(logits.stack(), [1, 0, 2]), tf.transpose(weights.stack(), [1, 0, 2])


class Model:
    """The graph: the encoder, and the decoder in training and in the test."""

    def __init__(self, steps: int) -> None:
        self.sources = tf.placeholder(tf.int64, [None, LONGEST], name="sources")
        self.lengths = tf.placeholder(tf.int64, [None], name="lengths")
        self.targets = tf.placeholder(tf.int64, [None, WRITTEN], name="targets")
        embedding = tf.get_variable("embedding", [len(LETTERS), EMBEDDING])
        rows = tf.nn.embedding_lookup(embedding, self.sources)
        cell = tf.nn.rnn_cell.GRUCell(WIDTH)
        encoded, state = tf.nn.dynamic_rnn(cell, rows, self.lengths, dtype=tf.float32)
        decoder = Decoder(embedding, Attention(encoded, self.lengths), state)
        logits, _ = decoder.write(self.targets)
        self.likeliest = tf.argmax(logits, 2)
        # Of the ends behind a word the first one counts.
        mask = tf.sequence_mask(self.lengths + 1, WRITTEN, tf.float32)
        self.loss = tf.losses.sparse_softmax_cross_entropy(self.targets, logits, mask)
        count = tf.train.get_or_create_global_step()
        rate = tf.train.polynomial_decay(5e-3, count, steps, 1e-4)
        self.train = tf.train.AdamOptimizer(rate).minimize(self.loss, count)
        logits, weights = decoder.write()
        self.written = tf.argmax(logits, 2)
        tf.summary.scalar("loss", self.loss)
        tf.summary.image("attention", tf.expand_dims(weights, 3), max_outputs=3)
        self.summary = tf.summary.merge_all()


def train(
    session: tf.Session,
    model: Model,
    steps: int,
    random: np.random.RandomState,
    folder: pathlib.Path,
) -> None:
    """Run the steps, with a progress bar."""
    feeds = [model.sources, model.lengths, model.targets]
    step = session.make_callable([model.loss, model.train], feeds)
    summary = session.make_callable(model.summary, feeds)
    writer = tf.summary.FileWriter(str(folder), session.graph)
    with progress_bar(steps) as bar:
        for number in range(steps):
            words = random_words(BATCH, random)
            loss, _ = step(*words)
            if number % SUMMARY_EVERY == 0:
                writer.add_summary(summary(*words), number)
                bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
            bar.update()
    writer.close()


def main(arguments: list[str] | None = None) -> float:
    """Train, report and return the part of the words that are right."""
    parser = training_parser(__doc__, "of the variables and the words")
    parser.add_argument("--logdir", type=user_path, help="where event files go")
    args = parser.parse_args(arguments)
    steps = args.steps or (SHORT_STEPS if args.short else STEPS)
    folder = args.logdir or pathlib.Path(tempfile.gettempdir()) / "millstream_seq2seq"
    tf.set_random_seed(args.seed)
    random = np.random.RandomState(args.seed)
    model = Model(steps)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        train(session, model, steps, random, folder)
        test = random_words(TESTED, random)
        feed = {model.sources: test.sources, model.lengths: test.lengths}
        pairs = zip(test.sources, session.run(model.written, feed), strict=True)
        written = [(spelt(source), spelt(row)) for source, row in pairs]
    for source, word in written[:SHOWN]:
        print(f"{source:>{LONGEST}} -> {word}")
    right = sum(word == source[::-1] for source, word in written) / TESTED
    print(f"{100 * right:.1f} % of {TESTED} new words are right after {steps} steps")
    print(f"loss curve, attention: tensorboard --logdir {folder}")
    return right


if __name__ == "__main__":
    main()
