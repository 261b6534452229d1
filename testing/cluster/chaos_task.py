"""What each task of a round of chaos runs: it keeps variables, or trains a small linear model.

Every step, checkpoint and beginning is a line of the output, which the round reads
(chaos_round.py).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

import numpy as np

import millstream as tf

ROWS, WIDTH = 64, 8
SAVE_EVERY = 20
PAUSE = 0.005  # seconds after each step, so that faults come in the midst of the training


def say(*words: Any) -> None:
    """Write a line at once."""
    print(*words, flush=True)


class Tell(tf.train.SessionRunHook):
    """Writes at which step a session begins, and the loss at the end."""

    def __init__(self, step: Any, loss: Any) -> None:
        self._step = step
        self._loss = loss

    def after_create_session(self, session: Any, coord: Any) -> None:
        """The variables are initialized or restored."""
        say("begins", session.run(self._step))

    def end(self, session: Any) -> None:
        """The training is done."""
        step, loss = session.run([self._step, self._loss])
        say("done", step, f"{loss:.3e}")


class TellSaved(tf.train.CheckpointSaverListener):
    """Writes that a checkpoint is complete."""

    def after_save(self, session: Any, global_step_value: int) -> None:
        """It is in its folder, under its name."""
        say("saved", global_step_value)


def examples() -> tuple[Any, Any]:
    """Rows and what a linear model without an error gives for them; the same in all tasks."""
    random = np.random.RandomState(7)
    x = random.normal(size=(ROWS, WIDTH)).astype(np.float32)
    return x, x @ random.normal(size=(WIDTH, 1)).astype(np.float32) + np.float32(3)


def synchronous(task: tf.cluster.Task, optimizer: Any) -> tuple[Any, list[Any]]:
    """An optimizer of all workers, of which one is a backup worker, and its hook."""
    workers = task.cluster.num_tasks("worker")
    made = tf.train.SyncReplicasOptimizer(optimizer, max(workers - 1, 1), workers)
    return made, [made.make_session_run_hook(task.is_chief)]


def train(task: tf.cluster.Task, folder: str, steps: int, is_synchronous: bool) -> None:
    """Do steps until all workers together have done enough."""
    task.start_server()
    rows, targets = examples()
    with tf.device(task.device_setter()):
        x = tf.placeholder(tf.float32, [None, WIDTH])
        y = tf.placeholder(tf.float32, [None, 1])
        w = tf.get_variable("w", [WIDTH, 1], initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
        whole = tf.reduce_mean(tf.square(tf.matmul(tf.constant(rows), w) + b - targets))
        step = tf.train.get_or_create_global_step()
        optimizer: Any = tf.train.GradientDescentOptimizer(0.05)
        hooks: list[Any] = []
        if is_synchronous:
            optimizer, hooks = synchronous(task, optimizer)
        descent = optimizer.minimize(loss, global_step=step)
    saver = tf.train.CheckpointSaverHook(
        folder, save_steps=SAVE_EVERY, saver=tf.train.Saver(), listeners=[TellSaved()]
    )
    own = f"/job:worker/task:{task.task_index}"
    random = np.random.RandomState(task.task_index)
    with tf.train.MonitoredTrainingSession(
        task.target,
        task.is_chief,
        checkpoint_dir=folder,
        hooks=[tf.train.StopAtStepHook(last_step=steps), *hooks],
        chief_only_hooks=[Tell(step, whole), saver],
        save_checkpoint_secs=None,
        save_checkpoint_steps=None,
        # The queue runner of a synchronous chief waits for gradients.
        stop_grace_period_secs=1 if is_synchronous else 120,
        config=tf.ConfigProto(device_filters=["/job:ps", own]),
    ) as session:
        while not session.should_stop():
            chosen = random.randint(0, ROWS, 32)
            feed = {x: rows[chosen], y: targets[chosen]}
            _, value, number = session.run([descent, loss, step], feed)
            say("step", number, f"{value:.3e}")
            time.sleep(PAUSE)


def main() -> int:
    """Be a task; the place in the cluster is in the environment."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--synchronous", action="store_true", help="see chaos.py")
    args = parser.parse_args()
    task = tf.cluster.from_environment()
    say("pid", os.getpid())
    if task.is_ps:
        task.serve()
    train(task, args.folder, args.steps, args.synchronous)
    return 0


if __name__ == "__main__":
    sys.exit(main())
