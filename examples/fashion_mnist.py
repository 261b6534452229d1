"""Train a classifier of clothes on Fashion-MNIST.

``--model=mlp`` is Figure 1 of the OSDI '16 paper on TensorFlow (784-100-10, Adagrad);
``--model=lenet`` is a convolutional network after LeCun et al., "Gradient-Based Learning Applied
to Document Recognition" (1998).
"""

from __future__ import annotations

import argparse
import pathlib
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import millstream as tf
from examples import fashion_images
from examples.classifier_training import accuracy, train
from examples.command_line import training_parser, user_path

STEPS = {"mlp": 6000, "lenet": 1800}
SHORT_STEPS = {"mlp": 600, "lenet": 60}
BATCH = {"mlp": 100, "lenet": 128}


def dense(inputs: Any, units: int, seed: int) -> Any:
    """Return ``inputs @ weights + bias`` with new variables."""
    fan_in = inputs.shape[-1].value
    weights = tf.Variable(tf.truncated_normal([fan_in, units], stddev=fan_in**-0.5, seed=seed))
    return tf.matmul(inputs, weights) + tf.Variable(tf.zeros([units]))


def convolution(inputs: Any, filters: int, seed: int) -> Any:
    """Return a 5 x 5 convolution with bias and ReLU, then max pooling by two."""
    fan_in = 25 * inputs.shape[-1].value
    shape = [5, 5, inputs.shape[-1].value, filters]
    kernel = tf.Variable(tf.truncated_normal(shape, stddev=(2.0 / fan_in) ** 0.5, seed=seed))
    value = tf.nn.conv2d(inputs, kernel, strides=[1, 1, 1, 1], padding="SAME")
    value = tf.nn.relu(tf.nn.bias_add(value, tf.Variable(tf.zeros([filters]))))
    return tf.nn.max_pool(value, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


class Model:
    """A graph that classifies images and learns to."""

    def __init__(self, name: str, devices: Sequence[str] = ("/cpu:0",)) -> None:
        self.devices = devices
        self.images = tf.placeholder(tf.float32, [None, 784], name="images")
        self.classes = tf.placeholder(tf.int32, [None], name="classes")
        logits = self.lenet() if name == "lenet" else self.perceptron()
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.classes, logits=logits)
        self.loss = tf.reduce_mean(losses)
        self.step = tf.Variable(0, trainable=False, name="global_step", dtype=tf.int64)
        lenet = name == "lenet"
        optimizer = tf.train.AdamOptimizer(1e-3) if lenet else tf.train.AdagradOptimizer(0.05)
        self.train = optimizer.minimize(self.loss, global_step=self.step)
        hits = tf.equal(tf.argmax(logits, 1), tf.cast(self.classes, tf.int64))
        self.hits = tf.reduce_sum(tf.cast(hits, tf.float32))
        self.summary = tf.summary.scalar("loss", self.loss)

    def layer(self, number: int) -> Any:
        """Return the scope of a layer: the layers take turns over the devices."""
        return tf.device(self.devices[number % len(self.devices)])

    def perceptron(self) -> Any:
        """Return the logits of one hidden layer of 100 units."""
        with self.layer(0):
            value = dense(self.images, 100, seed=1)
        with self.layer(1):
            value = tf.nn.relu(value)
        with self.layer(2):
            return dense(value, 10, seed=2)

    def lenet(self) -> Any:
        """Return the logits of two convolutions and two dense layers."""
        with self.layer(0):
            value = tf.reshape(self.images, [-1, 28, 28, 1])
            value = convolution(value, 16, seed=1)
        with self.layer(1):
            value = convolution(value, 32, seed=2)
        with self.layer(2):
            value = tf.reshape(value, [-1, 7 * 7 * 32])
            return dense(tf.nn.relu(dense(value, 128, seed=3)), 10, seed=4)


def save(path: pathlib.Path, session: Any) -> None:
    """Write every variable, optimizer slots and the step included, to an ``.npz`` file."""
    variables = tf.global_variables()
    values = session.run(variables)
    arrays = {v.op.name: value for v, value in zip(variables, values, strict=True)}
    with path.open("wb") as file:
        np.savez(file, **arrays)


def resume(path: pathlib.Path, session: Any) -> None:
    """Read back what ``save`` wrote; a file of another model is a ValueError."""
    with np.load(path) as arrays:
        names = {variable.op.name for variable in tf.global_variables()}
        if names != set(arrays.files):
            raise ValueError(f"{path} holds the state of another model")
        for variable in tf.global_variables():
            variable.load(arrays[variable.op.name], session)


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = training_parser(__doc__, "of the order of the images", "train until this step")
    parser.add_argument("--model", choices=sorted(STEPS), default="mlp")
    parser.add_argument("--threads", type=int, default=0, help="0: what this machine allows")
    parser.add_argument("--cpus", type=int, default=1, help="logical CPUs to split the layers over")
    parser.add_argument("--devices", help="instead of CPUs: '/device:SIM:0,/device:SIM:1,/cpu:0'")
    parser.add_argument("--save", type=user_path, help="write the state here at the end")
    parser.add_argument("--resume", type=user_path, help="go on from what --save wrote")
    parser.add_argument("--logdir", type=user_path, help="where event files go")
    parser.add_argument("--data", type=user_path, default=fashion_images.FOLDER)
    args = parser.parse_args(arguments)
    args.steps = args.steps or (SHORT_STEPS if args.short else STEPS)[args.model]
    args.logdir = args.logdir or pathlib.Path(tempfile.gettempdir()) / "millstream_fashion_mnist"
    return args


def main(arguments: list[str] | None = None) -> float:
    """Train, report and return the test accuracy."""
    args = parse_arguments(arguments)
    data, test = fashion_images.load(args.data)
    cpus = [f"/cpu:{number}" for number in range(args.cpus)]
    model = Model(args.model, args.devices.split(",") if args.devices else cpus)
    config = tf.ConfigProto(
        intra_op_parallelism_threads=args.threads, device_count={"CPU": args.cpus}
    )
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        if args.resume:
            resume(args.resume, session)
        begin = time.monotonic()
        steps = range(int(session.run(model.step)), args.steps)
        train(session, model, data, steps, BATCH[args.model], args.seed, args.logdir)
        seconds = time.monotonic() - begin
        result = accuracy(session, model, test)
        if args.save:
            save(args.save, session)
    print(f"{args.model}: test accuracy {result:.4f} after {args.steps} steps, {seconds:.1f} s")
    print(f"loss curve: tensorboard --logdir {args.logdir}")
    return result


if __name__ == "__main__":
    main()
