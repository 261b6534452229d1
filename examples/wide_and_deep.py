"""Predict which items people choose by a wide linear part and a deep part, and by each alone.

The model is that of H.-T. Cheng et al., "Wide & Deep Learning for Recommender Systems" (2016). A
linear function of crossed ids remembers pairs. A network on embeddings generalizes to pairs that it
has not seen. One loss on the sum of both trains them, each by an optimizer of its own; that of the
wide part keeps weights small by an L1 penalty.

The data follow a rule. A person and an item each have a hidden vector, and their product says how
much the person likes the item: a network can learn this from embeddings. One pair in ten is an
exception with a liking of its own: only a weight for the pair can learn that. People and items are
drawn by Zipf's law, so that many pairs of the test were not seen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import millstream as tf
from examples.command_line import progress_bar, training_parser

STEPS = 8000
SHORT_STEPS = 1500
BATCH = 128
PEOPLE = 600
ITEMS = 600
HIDDEN = 4  # sizes of the rule's vectors
EMBEDDING = 16
TEST = 20_000
PARTS = {"wide": ("wide",), "deep": ("deep",), "wide & deep": ("wide", "deep")}


class Choices(NamedTuple):
    """People to whom items were shown, and whether they chose them."""

    people: npt.NDArray[np.int64]
    items: npt.NDArray[np.int64]
    chosen: npt.NDArray[np.float32]


class Rule:
    """How likely a person is to choose an item."""

    def __init__(self, random: np.random.RandomState) -> None:
        self.random = random
        likings = random.normal(size=(PEOPLE, HIDDEN)) @ random.normal(size=(HIDDEN, ITEMS))
        exceptions = random.uniform(size=(PEOPLE, ITEMS)) < 0.1
        own = random.choice([-4.0, 4.0], size=(PEOPLE, ITEMS))
        self.logits = np.where(exceptions, own, likings)

    def sample(self, count: int) -> Choices:
        """Return random choices."""
        people, items = self.popular(PEOPLE, count), self.popular(ITEMS, count)
        likely = 1.0 / (1.0 + np.exp(-self.logits[people, items]))
        return Choices(people, items, (self.random.uniform(size=count) < likely).astype(np.float32))

    def popular(self, ids: int, count: int) -> npt.NDArray[np.int64]:
        """Return ids, of which number n is drawn in proportion to 1 / (n + 10)."""
        weights = 1.0 / (np.arange(ids) + 10.0)
        return self.random.choice(ids, count, p=weights / weights.sum())


def table(name: str, rows: int, width: int, deviation: float) -> Any:
    """Return a variable with a row for each id."""
    initializer = tf.random_normal_initializer(stddev=deviation)
    return tf.get_variable(name, [rows, width], initializer=initializer)


def wide_part(people: tf.Tensor, items: tf.Tensor) -> tf.Tensor:
    """Return the sum of the weights of the person, of the item and of the pair."""
    weights = [
        tf.nn.embedding_lookup(table("people", PEOPLE, 1, 0.0), people),
        tf.nn.embedding_lookup(table("items", ITEMS, 1, 0.0), items),
        tf.nn.embedding_lookup(table("pairs", PEOPLE * ITEMS, 1, 0.0), people * ITEMS + items),
    ]
    return tf.squeeze(tf.add_n(weights), axis=1)


def deep_part(people: tf.Tensor, items: tf.Tensor) -> tf.Tensor:
    """Return the output of three dense layers on the embeddings of the person and of the item."""
    embeddings = [
        tf.nn.embedding_lookup(table("people", PEOPLE, EMBEDDING, 0.25), people),
        tf.nn.embedding_lookup(table("items", ITEMS, EMBEDDING, 0.25), items),
    ]
    hidden = tf.layers.dense(tf.concat(embeddings, axis=1), 64, activation=tf.nn.relu)
    hidden = tf.layers.dense(hidden, 32, activation=tf.nn.relu)
    return tf.squeeze(tf.layers.dense(hidden, 1), axis=1)


class Model:
    """One of the three models; its parts have one loss and an optimizer each."""

    def __init__(self, name: str, people: tf.Tensor, items: tf.Tensor, chosen: tf.Tensor) -> None:
        makers = {"wide": wide_part, "deep": deep_part}
        optimizers = {
            "wide": tf.train.ProximalAdagradOptimizer(0.3, 1e-4, l1_regularization_strength=1e-4),
            "deep": tf.train.AdamOptimizer(2e-3),
        }
        logits, scopes = [], []
        for part in PARTS[name]:
            scopes.append(f"{len(PARTS[name])}_{part}/")
            with tf.variable_scope(scopes[-1][:-1]):
                logits.append(makers[part](people, items))
        total = tf.add_n(logits)
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=chosen, logits=total)
        self.loss = tf.reduce_mean(losses)
        updates = []
        for part, scope in zip(PARTS[name], scopes, strict=True):
            variables = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope)
            updates.append(optimizers[part].minimize(self.loss, var_list=variables))
        self.train = tf.group(*updates)
        self.likely = tf.sigmoid(total)


def area_under_curve(chosen: npt.NDArray[np.float32], scores: npt.NDArray[np.generic]) -> float:
    """Return the part of the pairs of a chosen and another row in which the chosen scores more."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.arange(1, len(scores) + 1)
    count = chosen.sum()
    above = ranks[chosen == 1].sum() - count * (count + 1) / 2
    return float(above / (count * (len(chosen) - count)))


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Train the three models, report and return the area under the curve of each."""
    parser = training_parser(__doc__, "of rule, choices and variables")
    args = parser.parse_args(arguments)
    steps = args.steps or (SHORT_STEPS if args.short else STEPS)
    tf.set_random_seed(args.seed)
    rule = Rule(np.random.RandomState(args.seed))
    test = rule.sample(TEST)
    people = tf.placeholder(tf.int64, [None], name="people")
    items = tf.placeholder(tf.int64, [None], name="items")
    chosen = tf.placeholder(tf.float32, [None], name="chosen")
    models = {name: Model(name, people, items, chosen) for name in PARTS}
    areas = {"rule": area_under_curve(test.chosen, rule.logits[test.people, test.items])}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        updates = [model.train for model in models.values()]
        step = session.make_callable(updates, feed_list=[people, items, chosen])
        with progress_bar(steps) as bar:
            for _ in range(steps):
                step(*rule.sample(BATCH))
                bar.update()
        feed = {people: test.people, items: test.items}
        for name, model in models.items():
            areas[name] = area_under_curve(test.chosen, session.run(model.likely, feed))
    print(f"area under the ROC curve, {steps} steps, {TEST} choices that were not trained on:")
    print(", ".join(f"{name} {area:.4f}" for name, area in areas.items()))
    return areas


if __name__ == "__main__":
    main()
