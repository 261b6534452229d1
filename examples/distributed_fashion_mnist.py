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
import os
import pathlib
import sys
import tempfile
import time
from typing import Any

import millstream as tf
from examples import fashion_images
from examples.classifier_training import accuracy
from examples.command_line import training_parser, user_path
from examples.fashion_mnist import dense

STEPS = 6000
SHORT_STEPS = 600
BATCH = 100
LINES = 20  # of progress, all workers together
MODULE = "examples.distributed_fashion_mnist"


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


class Test(tf.train.SessionRunHook):
    """Prints the accuracy at the end of the training."""

    def __init__(self, model: Model, test: fashion_images.Images, steps: int) -> None:
        self._model = model
        self._test = test
        self._steps = steps
        self._begin = time.monotonic()

    def end(self, session: Any) -> None:
        """Test in the session of the training: a new one would wait for workers that have ended."""
        result = accuracy(session, self._model, self._test)
        seconds = time.monotonic() - self._begin
        print(f"test accuracy {result:.4f} after {self._steps} steps, {seconds:.1f} s", flush=True)


def train(task: tf.cluster.Task, args: argparse.Namespace) -> None:
    """Be a worker of the cluster until the training is done; the chief tests."""
    data, test = fashion_images.load(args.data)
    task.start_server()
    with tf.device(task.device_setter()):
        model = Model()
    hooks: list[tf.train.SessionRunHook] = [tf.train.StopAtStepHook(last_step=args.steps)]
    if task.is_chief:
        hooks.append(Test(model, test, args.steps))
    with tf.train.MonitoredTrainingSession(
        task.target,
        task.is_chief,
        checkpoint_dir=str(args.logdir),
        save_checkpoint_steps=max(args.steps // 10, 1),
        hooks=hooks,
    ) as session:
        every = max(args.steps // LINES, 1)
        number = 0
        while not session.should_stop():
            pixels, classes = data.batch(number, BATCH, args.seed + task.task_index)
            feed = {model.images: pixels, model.classes: classes}
            _, loss, step = session.run([model.train, model.loss, model.step], feed)
            number += 1
            if number % every == 0:
                print(f"step {step}: loss {loss:.4f}", flush=True)


def launch(args: argparse.Namespace) -> int:
    """Run this program as all tasks of a cluster of this machine; return its status."""
    killed: list[str] = []

    def write(task: str, line: str) -> None:
        print(f"{task:9}| {line}", flush=True)
        if args.kill and line.startswith("step ") and not killed:
            killed.append(args.kill)
            cluster.kill(args.kill)

    command = [sys.executable, "-m", MODULE, f"--steps={args.steps}", f"--seed={args.seed}"]
    command += [f"--logdir={args.logdir.absolute()}", f"--data={args.data.absolute()}"]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    cluster = tf.cluster.LocalCluster(
        command, ps=args.ps, workers=args.workers, restarts=1 if args.kill else 0, write=write
    )
    if args.kill:
        job, _, index = args.kill.partition(":")
        cluster.cluster.task_address(job, int(index))  # an error if there is none
    return cluster.run()


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = training_parser(__doc__, "of the order of the images", f"{STEPS} by default")
    parser.add_argument("--ps", type=int, default=2, help="parameter servers of the own cluster")
    parser.add_argument("--workers", type=int, default=3, help="workers of the own cluster")
    parser.add_argument("--kill", default="", metavar="TASK", help="kill it once, as worker:1")
    parser.add_argument("--logdir", type=user_path, help="of checkpoints; by default a new folder")
    parser.add_argument("--data", type=user_path, default=fashion_images.FOLDER)
    args = parser.parse_args(arguments)
    args.steps = args.steps or (SHORT_STEPS if args.short else STEPS)
    args.logdir = args.logdir or pathlib.Path(tempfile.mkdtemp(prefix="millstream_distributed_"))
    return args


def main(arguments: list[str] | None = None) -> int:
    """Train, or run the cluster that does; return the exit status."""
    args = parse_arguments(arguments)
    task = tf.cluster.from_environment()
    if not task.cluster:
        return launch(args)
    if task.is_ps:
        task.serve()
    train(task, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
