"""What programs that train in a cluster have in common.

Such a program finds its place in a cluster by `tf.cluster.from_environment`. Without a cluster it
starts one on this machine, which runs the program as each task.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, Protocol

import millstream as tf
from examples.command_line import training_parser, user_path

LINES = 20  # of progress, all workers together


class Model(Protocol):
    """A graph that learns.

    Attributes
    ----------
    train, loss, step
        Does a step, what is to become less, and how many steps all workers have done.
    """

    train: Any
    loss: Any
    step: Any


class AtTheEnd(tf.train.SessionRunHook):
    """Calls a function at the end of the training, in its session.

    A new session would wait for workers that have ended.
    """

    def __init__(self, report: Callable[[Any], None]) -> None:
        self._report = report

    def end(self, session: Any) -> None:
        """Call it."""
        self._report(session)


class Clock:
    """Tells how many seconds have passed since it was made."""

    def __init__(self) -> None:
        self._begin = time.monotonic()

    def __str__(self) -> str:
        return f"{time.monotonic() - self._begin:.1f} s"


def cluster_parser(description: str | None, seed: str, steps: int) -> argparse.ArgumentParser:
    """Return a parser of the options that every training in a cluster has.

    Parameters
    ----------
    description
        What the program does.
    seed
        What ``--seed`` is the seed of.
    steps
        How many steps all workers do together by default.
    """
    parser = training_parser(description, seed, f"{steps} by default")
    parser.add_argument("--ps", type=int, default=2, help="parameter servers of the own cluster")
    parser.add_argument("--workers", type=int, default=3, help="workers of the own cluster")
    parser.add_argument("--kill", default="", metavar="TASK", help="kill it once, as worker:1")
    parser.add_argument(
        "--short-transfers", action="store_true", help="floats go between tasks as 16 bits"
    )
    parser.add_argument("--logdir", type=user_path, help="of checkpoints; by default a new folder")
    return parser


def parse(
    parser: argparse.ArgumentParser, arguments: list[str] | None, steps: int, short: int
) -> argparse.Namespace:
    """Return the options, with what they are by default; `short` is the steps of ``--short``."""
    args = parser.parse_args(arguments)
    args.steps = args.steps or (short if args.short else steps)
    args.logdir = args.logdir or pathlib.Path(tempfile.mkdtemp(prefix="millstream_distributed_"))
    return args


def run(
    module: str,
    args: argparse.Namespace,
    train_as: Callable[[tf.cluster.Task, argparse.Namespace], None],
    options: tuple[str, ...] = (),
) -> int:
    """Do what this process has to do in the cluster, or run a cluster; return the exit status.

    Parameters
    ----------
    module
        The program, as ``"examples.name"``.
    args
        Its options.
    train_as
        What a worker does.
    options
        Further options that each task gets.
    """
    task = tf.cluster.from_environment()
    if not task.cluster:
        return _launch(module, args, options)
    if task.is_ps:
        task.serve()
    train_as(task, args)
    return 0


def _launch(module: str, args: argparse.Namespace, options: tuple[str, ...]) -> int:
    killed: list[str] = []

    def write(task: str, line: str) -> None:
        print(f"{task:9}| {line}", flush=True)
        if args.kill and line.startswith("step ") and not killed:
            killed.append(args.kill)
            cluster.kill(args.kill)

    command = [sys.executable, "-m", module, f"--steps={args.steps}", f"--seed={args.seed}"]
    command += [f"--logdir={args.logdir.absolute()}", *options]
    command += ["--short-transfers"] if args.short_transfers else []
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    cluster = tf.cluster.LocalCluster(
        command, ps=args.ps, workers=args.workers, restarts=1 if args.kill else 0, write=write
    )
    if args.kill:
        job, _, index = args.kill.partition(":")
        cluster.cluster.task_address(job, int(index))  # an error if there is none
    return cluster.run()


def train(
    task: tf.cluster.Task,
    args: argparse.Namespace,
    model: Model,
    feed: Callable[[int], dict[Any, Any]],
    report: Callable[[Any], None],
) -> None:
    """Do steps until all workers together have done enough, with a line of progress now and then.

    Parameters
    ----------
    task
        The worker. Its server runs, and the model was built on its devices.
    args
        The options.
    model
        The graph.
    feed
        The feeds of this worker's step of a number.
    report
        What the chief does at the end, in the session of the training.
    """
    hooks: list[tf.train.SessionRunHook] = [tf.train.StopAtStepHook(last_step=args.steps)]
    if task.is_chief:
        hooks.append(AtTheEnd(report))
    transfers = tf.GraphOptions(enable_bfloat16_sendrecv=args.short_transfers)
    with tf.train.MonitoredTrainingSession(
        task.target,
        task.is_chief,
        checkpoint_dir=str(args.logdir),
        save_checkpoint_steps=max(args.steps // 10, 1),
        hooks=hooks,
        config=tf.ConfigProto(graph_options=transfers),
    ) as session:
        every = max(args.steps // LINES, 1)
        number = 0
        while not session.should_stop():
            _, loss, step = session.run([model.train, model.loss, model.step], feed(number))
            number += 1
            if number % every == 0:
                print(f"step {step}: loss {loss:.4f}", flush=True)
