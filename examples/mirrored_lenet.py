"""Train a convolutional network on Fashion-MNIST by replicas that share their gradients.

Each replica of LeNet (LeCun et al., 1998) has a device, variables and a part of the batch of its
own. The means of the gradients of all replicas are applied to each, so that they stay equal. The
devices are CPUs of this process; devices of the tasks of a cluster are used in the same way.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import millstream as tf
from examples import fashion_images
from examples.classifier_training import accuracy
from examples.command_line import progress_bar, training_parser, user_path

STEPS = 1800
SHORT_STEPS = 100
BATCH = 128


def lenet(images: Any) -> Any:
    """Return the logits of images."""
    value = tf.reshape(images, [-1, 28, 28, 1])
    for filters in (32, 64):
        value = tf.layers.conv2d(value, filters, 5, padding="same", activation=tf.nn.relu)
        value = tf.layers.max_pooling2d(value, 2, 2)
    value = tf.layers.dense(tf.layers.flatten(value), 128, tf.nn.relu)
    return tf.layers.dense(value, 10)


def loss_and_hits(images: Any, classes: Any) -> tuple[Any, Any]:
    """Return the loss of a replica, and how many images it classifies rightly."""
    logits = lenet(images)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=classes, logits=logits)
    hits = tf.equal(tf.argmax(logits, 1), tf.cast(classes, tf.int64))
    return loss, tf.reduce_sum(tf.cast(hits, tf.float32))


class Model:
    """The replicas, and how they learn."""

    def __init__(self, replicas: int) -> None:
        self.images = tf.placeholder(tf.float32, [None, 784], name="images")
        self.classes = tf.placeholder(tf.int32, [None], name="classes")
        # [docs: mirrored]
        self.mirrored = tf.cluster.Mirrored([f"/cpu:{i}" for i in range(replicas)])
        built = self.mirrored.build(
            loss_and_hits, tf.split(self.images, replicas), tf.split(self.classes, replicas)
        )
        losses = [loss for loss, _ in built]
        self.train = self.mirrored.minimize(lambda: tf.train.AdamOptimizer(1e-3), losses)
        # [docs: end]
        self.loss = tf.add_n(losses) / replicas
        self.hits = tf.add_n([hits for _, hits in built])


def are_equal(session: Any, model: Model) -> bool:
    """Return whether the variables of all replicas have the same bits."""
    count = len(model.mirrored.devices)
    first, *others = session.run([model.mirrored.variables(i) for i in range(count)])
    return all(np.array_equal(a, b) for other in others for a, b in zip(first, other, strict=True))


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = training_parser(__doc__, "of the variables and the images", f"{STEPS} by default")
    parser.add_argument("--replicas", type=int, default=2, help="devices, which divide 8")
    parser.add_argument("--data", type=user_path, default=fashion_images.FOLDER)
    args = parser.parse_args(arguments)
    args.steps = args.steps or (SHORT_STEPS if args.short else STEPS)
    return args


def main(arguments: list[str] | None = None) -> float:
    """Train, report and return the test accuracy."""
    args = parse_arguments(arguments)
    data, test = fashion_images.load(args.data)
    tf.set_random_seed(args.seed)
    model = Model(args.replicas)
    config = tf.ConfigProto(device_count={"CPU": args.replicas})
    with tf.Session(config=config) as session, progress_bar(args.steps) as bar:
        session.run(tf.global_variables_initializer())
        begin = time.monotonic()
        for number in range(args.steps):
            pixels, classes = data.batch(number, BATCH, args.seed)
            feed = {model.images: pixels, model.classes: classes}
            _, loss = session.run([model.train, model.loss], feed)
            bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
            bar.update()
        seconds = time.monotonic() - begin
        result = accuracy(session, model, test)
        equal = are_equal(session, model)
    print(f"test accuracy {result:.4f} after {args.steps} steps, {seconds:.1f} s")
    print(f"replicas are {'equal in all bits' if equal else 'different'}")
    return result


if __name__ == "__main__":
    main()
