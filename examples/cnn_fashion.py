"""Train a convolutional network with batch normalization and dropout on Fashion-MNIST.

The graph has the network twice, on the same variables. The one that is trained normalizes by the
statistics of its batch and drops activations at random; the one that is tested uses the moving
averages and drops nothing. Ioffe, Szegedy: "Batch Normalization" (2015); Srivastava et al.:
"Dropout" (2014).
"""

from __future__ import annotations

import argparse
import pathlib
import tempfile
import time
from typing import Any

import millstream as tf
from examples import fashion_images
from examples.classifier_training import accuracy, train
from examples.command_line import training_parser, user_path

STEPS = 9370  # ten epochs
SHORT_STEPS = 120
BATCH = 64
FILTERS = (32, 64, 128)
DROPPED = 0.3


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


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = training_parser(__doc__, "of the variables and the images", f"{STEPS} by default")
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
        train(session, model, data, range(args.steps), BATCH, args.seed, args.logdir)
        seconds = time.monotonic() - begin
        result = accuracy(session, model, test)
    print(f"test accuracy {result:.4f} after {args.steps} steps, {seconds:.1f} s")
    print(f"curves: tensorboard --logdir {args.logdir}")
    return result


if __name__ == "__main__":
    main()
