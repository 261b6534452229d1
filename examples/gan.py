"""Learn to draw clothes that look real: a generative adversarial network on Fashion-MNIST.

After I. Goodfellow et al., "Generative Adversarial Nets" (2014). A generator makes images of
random numbers, a discriminator tells them from real ones, and each learns against the other.
Whether it has learned is told by a classifier that was trained on real images: its score of
images is exp(mean of KL(p(class | image) || p(class))), of T. Salimans et al., "Improved
Techniques for Training GANs" (2016). It is 1 if all images look alike or none looks like any
class, and 10 at most, for sharp images of all ten classes.
"""

from __future__ import annotations

import pathlib
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

import millstream as tf
from examples import fashion_images
from examples.command_line import progress_bar, training_parser, user_path
from examples.pictures import PictureWriter, grid

STEPS = 8_000
SHORT_STEPS = 1_200
CLASSIFIER_STEPS = 1_500
BATCH = 128
NOISE = 64
COLUMNS = 12
SHOWN = 4 * COLUMNS
SCORED = 5_000
PICTURES = 10  # in a training


def generator(noise: Any) -> Any:
    """Return images in [0, 1]."""
    with tf.variable_scope("generator", reuse=tf.AUTO_REUSE):
        value = noise
        for number, units in enumerate((256, 512)):
            value = tf.layers.dense(value, units, name=f"hidden_{number}")
            value = tf.nn.relu(
                tf.layers.batch_normalization(value, training=True, name=f"{number}")
            )
        return tf.layers.dense(value, 784, activation=tf.nn.sigmoid, name="drawn")


def discriminator(images: Any) -> Any:
    """Return the logits of being real."""
    with tf.variable_scope("discriminator", reuse=tf.AUTO_REUSE):
        value = images
        for number, units in enumerate((512, 256)):
            value = tf.layers.dense(value, units, name=f"hidden_{number}")
            value = tf.layers.dropout(tf.maximum(value, 0.2 * value), 0.3, training=True)
        return tf.layers.dense(value, 1, name="logits")


class Adversaries:
    """Both networks, each with a loss, an optimizer and its own variables."""

    def __init__(self, real: Any) -> None:
        self.noise = tf.random_normal([tf.shape(real)[0], NOISE])
        self.drawn = generator(self.noise)
        real_logits, drawn_logits = discriminator(real), discriminator(self.drawn)
        cross_entropy = tf.losses.sigmoid_cross_entropy
        # Real images count as 0.9, so that the discriminator does not become too sure.
        told_apart = 0.5 * (
            cross_entropy(0.9 * tf.ones_like(real_logits), real_logits)
            + cross_entropy(tf.zeros_like(drawn_logits), drawn_logits)
        )
        deceived = cross_entropy(tf.ones_like(drawn_logits), drawn_logits)
        self.losses = [told_apart, deceived]
        self.train = [
            tf.train.AdamOptimizer(2e-4, beta1=0.5).minimize(
                loss, var_list=tf.trainable_variables(scope)
            )
            for loss, scope in zip(self.losses, ("discriminator", "generator"), strict=True)
        ]


class Classifier:
    """One hidden layer, trained on real images, which scores others."""

    def __init__(self, images: Any) -> None:
        self.classes = tf.placeholder(tf.int32, [None], name="classes")
        with tf.variable_scope("classifier"):
            hidden = tf.layers.dense(images, 128, activation=tf.nn.relu)
            logits = tf.layers.dense(hidden, 10)
        loss = tf.losses.sparse_softmax_cross_entropy(self.classes, logits)
        scope = tf.trainable_variables("classifier")
        self.train = tf.train.AdamOptimizer(1e-3).minimize(loss, var_list=scope)
        self.likely = tf.nn.softmax(logits)


def score(likely: npt.NDArray[np.float32]) -> float:
    """Return exp(mean of KL(p(class | image) || p(class))) of a row of likelihoods an image."""
    rows = np.maximum(likely.astype(np.float64), 1e-12)
    return float(np.exp((rows * (np.log(rows) - np.log(rows.mean(axis=0)))).sum(axis=1).mean()))


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Train, report and return the scores."""
    parser = training_parser(__doc__, "of variables, noise, order of images")
    parser.add_argument("--logdir", type=user_path, help="where events and pictures go")
    args = parser.parse_args(arguments)
    steps = args.steps or (SHORT_STEPS if args.short else STEPS)
    folder = args.logdir or pathlib.Path(tempfile.gettempdir()) / "millstream_gan"
    folder.mkdir(parents=True, exist_ok=True)
    data, test = fashion_images.load()
    tf.set_random_seed(args.seed)
    real = tf.placeholder(tf.float32, [None, 784], name="real")
    adversaries = Adversaries(real)
    classifier = Classifier(real)
    pictures = PictureWriter(folder, "drawn")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        learn = session.make_callable(classifier.train, feed_list=[real, classifier.classes])
        for number in range(CLASSIFIER_STEPS):
            learn(*data.batch(number, BATCH, args.seed))
        step = session.make_callable([adversaries.train, adversaries.losses], feed_list=[real])
        shown = np.random.RandomState(args.seed).normal(size=(SHOWN, NOISE))
        with progress_bar(steps) as bar:
            for number in range(steps):
                _, losses = step(data.batch(number, BATCH, args.seed)[0])
                bar.update()
                if number % max(1, steps // PICTURES) == 0 or number == steps - 1:
                    names = ("discriminator", "generator")
                    shown_losses = {n: f"{x:.2f}" for n, x in zip(names, losses, strict=True)}
                    bar.set_postfix(shown_losses, refresh=False)
                    drawn = session.run(adversaries.drawn, {adversaries.noise: shown})
                    pictures.add(session, grid(drawn, COLUMNS), number)
        drawn = session.run(adversaries.drawn, {real: test.pixels[:SCORED]})
        noise = np.random.RandomState(args.seed).uniform(size=(SCORED, 784))
        images = {"drawn": drawn, "real": test.pixels[:SCORED], "noise": noise}
        scores = {
            name: score(session.run(classifier.likely, {real: rows}))
            for name, rows in images.items()
        }
    print(f"score of {SCORED} images, from 1 to 10, {steps} steps:")
    print(", ".join(f"{name} {value:.2f}" for name, value in scores.items()))
    print(f"drawn images: {pictures.path}, tensorboard --logdir {folder}")
    return scores


if __name__ == "__main__":
    main()
