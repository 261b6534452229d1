"""Train a language model in a cluster whose words are spread over parameter servers.

The model tells the next word from the CONTEXT words before it, as that of Y. Bengio et al., "A
Neural Probabilistic Language Model" (2003). The words' vectors and the weights of the softmax are
cut into as many parts as there are parameter servers. A step of the training computes some of the
classes (S. Jean et al., "On Using Very Large Target Vocabulary for Neural Machine Translation",
2015), so that it moves the rows of these words alone. The test is by the full softmax: each server
multiplies with its own part of the weights, and sends one number for each place of the text.

The figure that says what was learned is the perplexity of a tenth of the text that was not trained
on: as if the model had to guess each word among so many that are equally likely.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, NamedTuple

import numpy as np

import millstream as tf
from examples import cluster_training, jargon_file
from examples.jargon_file import Ids
from examples.ptb_lstm import WORDS, text_of_words

STEPS = 20_000
SHORT_STEPS = 3000
CONTEXT = 4
WIDTH = 64  # of the vectors
HIDDEN = 128
BATCH = 128
SAMPLED = 200  # classes that a step computes beside the true ones
TEST_BATCH = 1000


class Places(NamedTuple):
    """Places of a text: the words before each, and its own."""

    contexts: Ids
    targets: Ids


def places_of(text: Ids) -> Places:
    """Return all places of a text that have enough words before them."""
    count = len(text) - CONTEXT
    contexts = np.stack([text[i : i + count] for i in range(CONTEXT)], 1)
    return Places(contexts, text[CONTEXT:])


class Model:
    """The graph: words give the next one."""

    def __init__(self, words: int, parts: int) -> None:
        self.contexts = tf.placeholder(tf.int64, [None, CONTEXT], name="contexts")
        self.targets = tf.placeholder(tf.int64, [None], name="targets")
        with tf.variable_scope("model", partitioner=tf.fixed_size_partitioner(parts)):
            start = tf.random_uniform_initializer(-0.1, 0.1)
            zeros = tf.zeros_initializer()
            embedding = tf.get_variable("embedding", [words, WIDTH], initializer=start)
            self._weights = tf.get_variable("weights", [words, HIDDEN], initializer=start)
            self._biases = tf.get_variable("biases", [words], initializer=zeros)
        rows = tf.nn.embedding_lookup(embedding, self.contexts, partition_strategy="div")
        flat = tf.reshape(rows, [-1, CONTEXT * WIDTH])
        self._hidden = tf.layers.dense(flat, HIDDEN, tf.nn.tanh)
        losses = tf.nn.sampled_softmax_loss(
            self._weights,
            self._biases,
            tf.expand_dims(self.targets, 1),
            self._hidden,
            SAMPLED,
            words,
            partition_strategy="div",
        )
        self.loss = tf.reduce_mean(losses)
        self.step = tf.train.get_or_create_global_step()
        self.train = tf.train.AdagradOptimizer(0.3).minimize(self.loss, global_step=self.step)
        self.full_losses = self._full_losses()

    def _full_losses(self) -> Any:
        """Return the cross entropy of all classes at each place: log(sum(exp(logits))) - logit."""
        sums = []
        for weights, biases in zip(self._weights, self._biases, strict=True):
            with tf.device(weights.device):
                logits = tf.matmul(self._hidden, weights, transpose_b=True) + biases
                sums.append(tf.reduce_logsumexp(logits, 1))
        own = tf.nn.embedding_lookup(self._weights, self.targets, partition_strategy="div")
        offsets = tf.nn.embedding_lookup(self._biases, self.targets, partition_strategy="div")
        logit = tf.reduce_sum(self._hidden * own, 1) + offsets
        return tf.reduce_logsumexp(tf.stack(sums, 1), 1) - logit


def perplexity(session: Any, model: Model, places: Places) -> float:
    """Return the perplexity of a text."""
    losses = []
    for begin in range(0, len(places.targets), TEST_BATCH):
        rows = slice(begin, begin + TEST_BATCH)
        feed = {model.contexts: places.contexts[rows], model.targets: places.targets[rows]}
        losses.append(session.run(model.full_losses, feed))
    return float(np.exp(np.mean(np.concatenate(losses))))


def train(task: tf.cluster.Task, args: argparse.Namespace) -> None:
    """Be a worker of the cluster until the training is done; the chief tests."""
    parts = jargon_file.split(text_of_words())
    places, test = places_of(parts.train), places_of(parts.test)
    random = np.random.RandomState(args.seed + task.task_index)
    task.start_server()
    tf.set_random_seed(args.seed)
    with tf.device(task.device_setter()):
        model = Model(WORDS, task.cluster.num_tasks("ps"))
    clock = cluster_training.Clock()

    def feed(number: int) -> dict[Any, Any]:
        chosen = random.randint(0, len(places.targets), BATCH)
        return {model.contexts: places.contexts[chosen], model.targets: places.targets[chosen]}

    def report(session: Any) -> None:
        result = perplexity(session, model, test)
        known = jargon_file.perplexity_by_frequency(parts, WORDS)
        print(
            f"perplexity of words {result:.1f} after {args.steps} steps, {clock}, "
            f"{known:.1f} by frequency",
            flush=True,
        )

    cluster_training.train(task, args, model, feed, report)


def main(arguments: list[str] | None = None) -> int:
    """Train, or run the cluster that does; return the exit status."""
    parser = cluster_training.cluster_parser(__doc__, "of the variables and batches", STEPS)
    args = cluster_training.parse(parser, arguments, STEPS, SHORT_STEPS)
    return cluster_training.run("examples.lm_sampled_softmax", args, train)


if __name__ == "__main__":
    sys.exit(main())
