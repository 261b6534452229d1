"""Train the papers' Figure 1 classifier on Fashion-MNIST in a cluster.

The variables are on parameter servers. Each worker reads them, computes gradients of a batch of its
own, and applies them, without waiting for the others. The program finds its place in the cluster
by `tf.cluster.from_environment`. Without a cluster it starts one on this machine, which runs it as
each task. ``--kill worker:1`` or ``--kill ps:0`` kills a task in the midst of the training: a
worker joins again, and after the loss of variables the chief restores them from its last
checkpoint.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import millstream as tf
from examples import cluster_training, fashion_images
from examples.classifier_training import accuracy
from examples.command_line import user_path
from examples.fashion_mnist import dense

STEPS = 6000
SHORT_STEPS = 600
BATCH = 100


class Model:
    """A graph that classifies images and learns to."""

    def __init__(self) -> None:
        self.images = tf.placeholder(tf.float32, [None, 784], name="images")
        self.classes = tf.placeholder(tf.int32, [None], name="classes")
        logits = dense(tf.nn.relu(dense(self.images, 100, seed=1)), 10, seed=2)
        self.loss = tf.losses.sparse_softmax_cross_entropy(labels=self.classes, logits=logits)
        self.step = tf.train.get_or_create_global_step()
        self.train = tf.train.AdagradOptimizer(0.05).minimize(self.loss, global_step=self.step)
        hits = tf.equal(tf.argmax(logits, 1), tf.cast(self.classes, tf.int64))
        self.hits = tf.reduce_sum(tf.cast(hits, tf.float32))


def train(task: tf.cluster.Task, args: argparse.Namespace) -> None:
    """Be a worker of the cluster until the training is done; the chief tests."""
    data, test = fashion_images.load(args.data)
    task.start_server()
    with tf.device(task.device_setter()):
        model = Model()
    clock = cluster_training.Clock()

    def feed(number: int) -> dict[Any, Any]:
        pixels, classes = data.batch(number, BATCH, args.seed + task.task_index)
        return {model.images: pixels, model.classes: classes}

    def report(session: Any) -> None:
        result = accuracy(session, model, test)
        print(f"test accuracy {result:.4f} after {args.steps} steps, {clock}", flush=True)

    cluster_training.train(task, args, model, feed, report)


def main(arguments: list[str] | None = None) -> int:
    """Train, or run the cluster that does; return the exit status."""
    parser = cluster_training.cluster_parser(__doc__, "of the order of the images", STEPS)
    parser.add_argument("--data", type=user_path, default=fashion_images.FOLDER)
    args = cluster_training.parse(parser, arguments, STEPS, SHORT_STEPS)
    options = (f"--data={args.data.absolute()}",)
    return cluster_training.run("examples.distributed_fashion_mnist", args, train, options)


if __name__ == "__main__":
    sys.exit(main())
