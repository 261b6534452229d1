"""Train a convolutional network with batch normalization and dropout on Fashion-MNIST.

The graph has the network twice, on the same variables. The one that is trained normalizes by the
statistics of its batch and drops activations at random; the one that is tested uses the moving
averages and drops nothing. Ioffe, Szegedy: "Batch Normalization" (2015); Srivastava et al.:
"Dropout" (2014).
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
import time
from typing import Any

from tqdm import tqdm  # type: ignore[import-untyped]

import millstream as tf
from examples import fashion_images

STEPS = 9370  # ten epochs
SHORT_STEPS = 120
BATCH = 64
FILTERS = (32, 64, 128)
DROPPED = 0.3
SUMMARY_EVERY = 20
TEST_BATCH = 1000


def block(inputs: Any, filters: int, number: int, training: bool) -> Any:
    """Return a convolution, normalized, with ReLU, of half the height and width."""
    initializer = tf.initializers.he_normal(seed=number)
    value = tf.layers.conv2d(
        inputs,
        filters,
        3,
        padding="same",
        use_bias=False,
        kernel_initializer=initializer,
        name=f"convolution_{number}",
    )
    # The short training has to move the averages too, so they move faster than by default.
    value = tf.layers.batch_normalization(
        value, momentum=0.9, training=training, name=f"norm_{number}"
    )
    return tf.layers.max_pooling2d(tf.nn.relu(value), 2, 2, padding="same")


def network(images: Any, training: bool) -> Any:
    """Return the logits; the variables are made by the first call."""
    with tf.variable_scope("network", reuse=tf.AUTO_REUSE):
        value = tf.reshape(images, [-1, 28, 28, 1])
        for number, filters in enumerate(FILTERS):
            value = block(value, filters, number, training)
        value = tf.layers.dropout(tf.layers.flatten(value), DROPPED, seed=1, training=training)
        value = tf.layers.dense(value, 128, tf.nn.relu, name="hidden")
        value = tf.layers.dropout(value, DROPPED, seed=2, training=training)
        return tf.layers.dense(value, 10, name="logits")


class Model:
    """A graph that classifies images and learns to."""

    def __init__(self, steps: int) -> None:
        self.images = tf.placeholder(tf.float32, [None, 784], name="images")
        self.classes = tf.placeholder(tf.int32, [None], name="classes")
        logits = network(self.images, training=True)
        self.loss = tf.losses.sparse_softmax_cross_entropy(labels=self.classes, logits=logits)
        step = tf.train.get_or_create_global_step()
        rate = tf.train.cosine_decay(1.5e-3, step, steps)
        optimizer = tf.train.AdamOptimizer(rate)
        # The averages of batch normalization move with each step of the training.
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            self.train = optimizer.minimize(self.loss, global_step=step)
        tested = network(self.images, training=False)
        hits = tf.equal(tf.argmax(tested, 1), tf.cast(self.classes, tf.int64))
        self.hits = tf.reduce_sum(tf.cast(hits, tf.float32))
        tf.summary.scalar("loss", self.loss)
        tf.summary.scalar("learning_rate", rate)
        self.summary = tf.summary.merge_all()


def accuracy(session: Any, model: Model, test: fashion_images.Images) -> float:
    """Return the part of the test images that the model classifies rightly."""
    hits = 0.0
    for begin in range(0, len(test.pixels), TEST_BATCH):
        rows = slice(begin, begin + TEST_BATCH)
        feed = {model.images: test.pixels[rows], model.classes: test.classes[rows]}
        hits += float(session.run(model.hits, feed))
    return hits / len(test.pixels)


def train(
    session: Any, model: Model, data: fashion_images.Images, args: argparse.Namespace
) -> None:
    """Run the steps, with a progress bar and curves in event files."""
    feeds = [model.images, model.classes]
    step = session.make_callable([model.train, model.loss], feed_list=feeds)
    step_with_summary = session.make_callable(
        [model.train, model.loss, model.summary], feed_list=feeds
    )
    writer = tf.summary.FileWriter(str(args.logdir), session.graph)
    interval = 0.1 if sys.stderr.isatty() else 10.0  # seconds; a log file wants few lines
    with tqdm(total=args.steps, unit="step", mininterval=interval) as bar:
        for number in range(args.steps):
            pixels, classes = data.batch(number, BATCH, args.seed)
            if number % SUMMARY_EVERY == 0:
                _, loss, summary = step_with_summary(pixels, classes)
                writer.add_summary(summary, number)
                bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
            else:
                step(pixels, classes)
            bar.update()
    writer.close()


def user_path(text: str) -> pathlib.Path:
    """Return a path as the user means it: `bazel run` starts programs in another folder."""
    return pathlib.Path(os.environ.get("BUILD_WORKING_DIRECTORY", ".")) / text


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, help=f"{STEPS} by default")
    parser.add_argument("--short", action="store_true", help="a fraction of the steps")
    parser.add_argument("--seed", type=int, default=0, help="of the variables and the images")
    parser.add_argument("--threads", type=int, default=0, help="0: what this machine allows")
    parser.add_argument("--logdir", type=user_path, help="where event files go")
    parser.add_argument("--data", type=user_path, default=fashion_images.FOLDER)
    args = parser.parse_args(arguments)
    args.steps = args.steps or (SHORT_STEPS if args.short else STEPS)
    args.logdir = args.logdir or pathlib.Path(tempfile.gettempdir()) / "millstream_cnn_fashion"
    return args


def main(arguments: list[str] | None = None) -> float:
    """Train, report and return the test accuracy."""
    args = parse_arguments(arguments)
    data, test = fashion_images.load(args.data)
    tf.set_random_seed(args.seed)
    model = Model(args.steps)
    config = tf.ConfigProto(intra_op_parallelism_threads=args.threads)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        begin = time.monotonic()
        train(session, model, data, args)
        seconds = time.monotonic() - begin
        result = accuracy(session, model, test)
    print(f"test accuracy {result:.4f} after {args.steps} steps, {seconds:.1f} s")
    print(f"curves: tensorboard --logdir {args.logdir}")
    return result


if __name__ == "__main__":
    main()
