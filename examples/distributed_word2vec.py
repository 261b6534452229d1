"""Learn vectors of words in a cluster, by tables that are spread over parameter servers.

The model is that of `word2vec`. Each of its tables is cut into as many parts as there are parameter
servers. A worker asks each server for the rows that its batch needs, and sends it the gradients of
these rows, which the server applies: a step moves some hundred rows, however many words there are.
The nearest words are looked for where the vectors are, too.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import millstream as tf
from examples import cluster_training, jargon_file, word2vec
from examples.word2vec import Pairs, Vocabulary

STEPS = 20_000
SHORT_STEPS = 4000


class Model:
    """The graph: two tables in parts, one of the words and one of the words around them."""

    def __init__(self, words: int, parts: int) -> None:
        self.centers = tf.placeholder(tf.int64, [None], name="centers")
        self.contexts = tf.placeholder(tf.int64, [None], name="contexts")
        with tf.variable_scope("model", partitioner=tf.fixed_size_partitioner(parts)):
            start = tf.random_normal_initializer(stddev=0.1)
            zeros = tf.zeros_initializer()
            embedding = tf.get_variable("embedding", [words, word2vec.WIDTH], initializer=start)
            weights = tf.get_variable("weights", [words, word2vec.WIDTH], initializer=zeros)
            biases = tf.get_variable("biases", [words], initializer=zeros)
        rows = tf.nn.embedding_lookup(embedding, self.centers, partition_strategy="div")
        losses = tf.nn.nce_loss(
            weights,
            biases,
            tf.expand_dims(self.contexts, 1),
            rows,
            word2vec.SAMPLED,
            words,
            partition_strategy="div",
        )
        self.loss = tf.reduce_mean(losses)
        self.step = tf.train.get_or_create_global_step()
        optimizer = tf.train.AdagradOptimizer(0.5)
        self.train = optimizer.minimize(tf.reduce_sum(losses), global_step=self.step)
        own = tf.nn.l2_normalize(rows, 1)
        self.cosines = tf.concat([_cosines(own, part) for part in embedding], 1)


def _cosines(directions: Any, part: Any) -> Any:
    """Return the cosines of directions to the rows of a part, made where the part is."""
    with tf.device(part.device):
        return tf.matmul(directions, tf.nn.l2_normalize(part, 1), transpose_b=True)


class Batches:
    """Pairs of words, each worker's in another order."""

    def __init__(self, text: jargon_file.Ids, vocabulary: Vocabulary, seed: int) -> None:
        self._text = text
        self._vocabulary = vocabulary
        self._random = np.random.RandomState(seed)
        self._pairs = Pairs(*[np.zeros(0, np.int64)] * 2)
        self._place = 0

    def next(self) -> Pairs:
        """Return the pairs of the next step; they are drawn anew when all were used."""
        if self._place + word2vec.BATCH > len(self._pairs.centers):
            kept = word2vec.thinned(self._text, self._vocabulary, self._random)
            self._pairs, self._place = word2vec.pairs_of(kept, self._random), 0
        batch = slice(self._place, self._place + word2vec.BATCH)
        self._place += word2vec.BATCH
        return Pairs(self._pairs.centers[batch], self._pairs.contexts[batch])


def train(task: tf.cluster.Task, args: argparse.Namespace) -> None:
    """Be a worker of the cluster until the training is done; the chief tests."""
    words = word2vec.words_of(jargon_file.read_text())
    vocabulary = Vocabulary(words)
    batches = Batches(vocabulary.ids(words), vocabulary, args.seed + task.task_index)
    task.start_server()
    tf.set_random_seed(args.seed)
    with tf.device(task.device_setter()):
        model = Model(len(vocabulary.words), task.cluster.num_tasks("ps"))
    clock = cluster_training.Clock()

    def feed(number: int) -> dict[Any, Any]:
        pairs = batches.next()
        return {model.centers: pairs.centers, model.contexts: pairs.contexts}

    def report(session: Any) -> None:
        found = word2vec.plurals_found(session, model, vocabulary)
        print(
            f"after {args.steps} steps, {clock}, a plural is nearer than {found:.4f} of all words "
            "(0.5 by chance)",
            flush=True,
        )

    cluster_training.train(task, args, model, feed, report)


def main(arguments: list[str] | None = None) -> int:
    """Train, or run the cluster that does; return the exit status."""
    parser = cluster_training.cluster_parser(__doc__, "of the variables and pairs", STEPS)
    args = cluster_training.parse(parser, arguments, STEPS, SHORT_STEPS)
    return cluster_training.run("examples.distributed_word2vec", args, train)


if __name__ == "__main__":
    sys.exit(main())
