"""Learn what words mean from the words around them, and show which ones are near each other.

The model is the skip-gram of T. Mikolov et al., "Distributed Representations of Words and Phrases
and their Compositionality" (2013): the vector of a word is trained to tell the words around it from
others. The loss is that of noise-contrastive estimation, so that a step computes few of the
thousands of classes. Frequent words are left out at random, as in that paper.

The text is the Jargon File, a dictionary of hackers' slang, from Debian's package ``jargon-text``.
"""

from __future__ import annotations

import pathlib
import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

import millstream as tf
from examples import jargon_file
from examples.command_line import progress_bar, training_parser
from examples.jargon_file import Ids
from millstream.contrib.tensorboard.plugins import projector

FOLDER = "/tmp/millstream_word2vec"
STEPS = 30_000
SHORT_STEPS = 6000
BATCH = 256
WIDTH = 64  # of the vectors
SAMPLED = 64  # classes that a step computes beside the true ones
WINDOW = 5  # words on each side
LEAST = 5  # how often a word has to occur
FREQUENT = 1e-3  # words of a greater part of the text are left out at random
PROBES = ("hacker", "bug", "machine", "unix", "usenet", "letter")
NEIGHBOURS = 6


class Vocabulary:
    """The words of a text that are frequent enough, numbered from the most frequent one.

    Attributes
    ----------
    words
        The words in the order of their numbers.
    counts
        How often each occurs.
    """

    def __init__(self, words: list[str]) -> None:
        common = [pair for pair in Counter(words).most_common() if pair[1] >= LEAST]
        self.words = [word for word, _ in common]
        self.counts = np.array([count for _, count in common])
        self._numbers = {word: number for number, word in enumerate(self.words)}

    def ids(self, words: list[str]) -> Ids:
        """Return the numbers of words; those that are not in the vocabulary are dropped."""
        return np.array([self._numbers[word] for word in words if word in self._numbers], np.int64)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower())


def thinned(ids: Ids, vocabulary: Vocabulary, random: np.random.RandomState) -> Ids:
    """Return a text without some of its frequent words; part f is kept with sqrt(FREQUENT / f)."""
    parts = vocabulary.counts / vocabulary.counts.sum()
    kept: Ids = ids[random.uniform(size=len(ids)) < np.sqrt(FREQUENT / parts)[ids]]
    return kept


class Pairs(NamedTuple):
    """Words and for each of them one that is near it."""

    centers: Ids
    contexts: Ids


def pairs_of(ids: Ids, random: np.random.RandomState) -> Pairs:
    """Return the pairs of a text in random order.

    Each word has a window of 1 to WINDOW words on each side, so that nearer ones count more.
    """
    reach = random.randint(1, WINDOW + 1, len(ids))
    centers, contexts = [], []
    for distance in range(1, WINDOW + 1):
        first, second = ids[:-distance], ids[distance:]
        sees_second, sees_first = reach[:-distance] >= distance, reach[distance:] >= distance
        centers += [first[sees_second], second[sees_first]]
        contexts += [second[sees_second], first[sees_first]]
    order = random.permutation(sum(len(part) for part in centers))
    return Pairs(np.concatenate(centers)[order], np.concatenate(contexts)[order])


class Model:
    """The graph: two tables, one of the words and one of the words around them."""

    def __init__(self, words: int) -> None:
        self.centers = tf.placeholder(tf.int64, [None], name="centers")
        self.contexts = tf.placeholder(tf.int64, [None], name="contexts")
        start = tf.random_normal_initializer(stddev=0.1)
        self.embedding = tf.get_variable("embedding", [words, WIDTH], initializer=start)
        weights = tf.get_variable("weights", [words, WIDTH], initializer=tf.zeros_initializer())
        biases = tf.get_variable("biases", [words], initializer=tf.zeros_initializer())
        rows = tf.nn.embedding_lookup(self.embedding, self.centers)
        labels = tf.expand_dims(self.contexts, 1)
        losses = tf.nn.nce_loss(weights, biases, labels, rows, SAMPLED, words)
        self.loss = tf.reduce_mean(losses)
        count = tf.train.get_or_create_global_step()
        # A word gets the sum of the gradients of its pairs, however large the batch is.
        optimizer = tf.train.AdagradOptimizer(1.0)
        self.train = optimizer.minimize(tf.reduce_sum(losses), count)
        # A word is near another one if the angle between their vectors is small.
        directions = tf.nn.l2_normalize(self.embedding, 1)
        own = tf.nn.embedding_lookup(directions, self.centers)
        self.cosines = tf.matmul(own, directions, transpose_b=True)
        self.nearest = tf.nn.top_k(self.cosines, NEIGHBOURS + 1).indices


def train(session: tf.Session, model: Model, steps: int, text: Ids, vocabulary: Vocabulary) -> None:
    """Run the steps, with a progress bar; pairs are drawn anew when all were used."""
    random = np.random.RandomState(1)
    step = session.make_callable([model.loss, model.train], [model.centers, model.contexts])
    pairs, place, losses = Pairs(*[np.zeros(0, np.int64)] * 2), 0, []
    with progress_bar(steps) as bar:
        for number in range(steps):
            if place + BATCH > len(pairs.centers):
                pairs, place = pairs_of(thinned(text, vocabulary, random), random), 0
            batch = slice(place, place + BATCH)
            losses.append(step(pairs.centers[batch], pairs.contexts[batch])[0])
            place += BATCH
            if number % 500 == 499:
                bar.set_postfix(loss=f"{np.mean(losses[-500:]):.3f}", refresh=False)
            bar.update()


def plurals_found(session: Any, model: Any, vocabulary: Vocabulary) -> float:
    """Return the part of the words that are farther from a word than its plural is, on average.

    The model has the placeholder ``centers`` and gives its ``cosines`` to all words.

    A plural is the word with an "s" behind it. Nothing tells the model how words are spelt, so that
    it is 0.5 by chance.
    """
    words = [word for word in vocabulary.words if len(word) > 2]
    known = set(words)
    singulars = vocabulary.ids([word for word in words if word + "s" in known])
    plurals = vocabulary.ids([word + "s" for word in words if word + "s" in known])
    cosines = session.run(model.cosines, {model.centers: singulars})
    own = cosines[np.arange(len(plurals)), plurals]
    return float(np.mean(cosines < own[:, None]))


def neighbours(session: tf.Session, model: Model, vocabulary: Vocabulary) -> dict[str, list[str]]:
    """Return the words that are nearest to each probe, nearest first."""
    probes = [word for word in PROBES if word in vocabulary.words]
    nearest = session.run(model.nearest, {model.centers: vocabulary.ids(probes)})
    return {
        word: [vocabulary.words[i] for i in row if vocabulary.words[i] != word][:NEIGHBOURS]
        for word, row in zip(probes, nearest, strict=True)
    }


def write_projector(
    session: tf.Session, model: Model, vocabulary: Vocabulary, folder: pathlib.Path
) -> None:
    """Write what TensorBoard's projector shows: a checkpoint of the vectors, and the words."""
    folder.mkdir(parents=True, exist_ok=True)
    saver = tf.train.Saver([model.embedding])
    saver.save(session, str(folder / "model.ckpt"), tf.train.get_global_step())
    rows = zip(vocabulary.words, vocabulary.counts, strict=True)
    lines = ["word\tcount", *[f"{word}\t{count}" for word, count in rows]]
    (folder / "metadata.tsv").write_text("\n".join(lines) + "\n")
    config = projector.ProjectorConfig()
    config.embeddings.add(tensor_name=model.embedding.op.name, metadata_path="metadata.tsv")
    with tf.summary.FileWriter(str(folder)) as writer:
        projector.visualize_embeddings(writer, config)


def main(arguments: list[str] | None = None) -> float:
    """Train, report, write the vectors; return how well plurals are found."""
    parser = training_parser(__doc__, "of the variables and samples")
    parser.add_argument("--folder", default=FOLDER, help="for TensorBoard")
    args = parser.parse_args(arguments)
    steps = args.steps or (SHORT_STEPS if args.short else STEPS)
    tf.set_random_seed(args.seed)
    words = words_of(jargon_file.read_text())
    vocabulary = Vocabulary(words)
    text = vocabulary.ids(words)
    model = Model(len(vocabulary.words))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        train(session, model, steps, text, vocabulary)
        found = plurals_found(session, model, vocabulary)
        for word, near in neighbours(session, model, vocabulary).items():
            print(f"{word:>8}: {', '.join(near)}")
        write_projector(session, model, vocabulary, pathlib.Path(args.folder))
    print(f"after {steps} steps a plural is nearer than {found:.4f} of all words (0.5 by chance)")
    print(f"vectors of {len(vocabulary.words)} words: tensorboard --logdir {args.folder}")
    return found


if __name__ == "__main__":
    main()
