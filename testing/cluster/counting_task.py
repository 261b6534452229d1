"""What each task of a test of the network runs: it keeps variables, or counts in one for ever.

A worker writes a line for each step and for each error, and begins a new session after an error.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import millstream as tf

PAUSE = 0.01  # seconds after a step
PAUSE_AFTER_ERROR = 0.2  # seconds


def say(*words: Any) -> None:
    """Write a line at once."""
    print(*words, flush=True)


def _count(target: str, config: Any, steps: list[Any]) -> None:
    """Run the steps in one session until there is an error."""
    with tf.Session(target, config=config) as session:
        while True:
            for step in steps:
                say("step", session.run(step))
                time.sleep(PAUSE)


def work(task: tf.cluster.Task, floats: int) -> None:
    """Add one to the count on the parameter server, and read floats of another variable of it."""
    task.start_server()
    with tf.device(task.device_setter()):
        count = tf.get_variable("count", initializer=tf.constant(0))
        table = tf.get_variable("table", initializer=tf.zeros([floats]))
    with tf.device(f"/job:worker/task:{task.task_index}"):
        total = tf.reduce_sum(tf.identity(table))
    own = f"/job:worker/task:{task.task_index}"
    config = tf.ConfigProto(device_filters=["/job:ps", own])
    missing = tf.report_uninitialized_variables()
    with tf.Session(task.target, config=config) as session:
        if task.is_chief:
            session.run(tf.global_variables_initializer())
        while session.run(missing).size:
            time.sleep(PAUSE)
    with tf.control_dependencies([total] if floats else []):
        step = tf.assign_add(count, 1)
    while True:
        try:
            _count(task.target, config, [step])
        except tf.errors.OpError as error:
            say("error", type(error).__name__, " ".join(str(error).split()))
            time.sleep(PAUSE_AFTER_ERROR)


def main() -> int:
    """Be a task; the place in the cluster is in the environment."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--floats", type=int, default=0, help="that each step reads besides")
    args = parser.parse_args()
    task = tf.cluster.from_environment()
    if task.is_ps:
        task.serve()
    work(task, args.floats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
