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


def _count(target: str, config: Any, step: Any, limit: int) -> None:
    """Run the step in one session until there is an error."""
    options = tf.RunOptions(timeout_in_ms=limit)
    with tf.Session(target, config=config) as session:
        while True:
            say("step", session.run(step, options=options))
            time.sleep(PAUSE)


def work(task: tf.cluster.Task, floats: int, reader: int, limit: int) -> None:
    """Add one to the count on the parameter server; a worker reads floats of another variable."""
    task.start_server()
    with tf.device(task.device_setter()):
        count = tf.get_variable("count", initializer=tf.constant(0))
        table = tf.get_variable("table", initializer=tf.zeros([floats]))
    with tf.device(f"/job:worker/task:{reader}"):
        total = tf.reduce_sum(tf.identity(table))
    workers = [f"/job:worker/task:{index}" for index in (task.task_index, reader)]
    config = tf.ConfigProto(device_filters=["/job:ps", *workers])
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
            _count(task.target, config, step, limit)
        except tf.errors.OpError as error:
            say("error", type(error).__name__, " ".join(str(error).split()))
            time.sleep(PAUSE_AFTER_ERROR)


def main() -> int:
    """Be a task; the place in the cluster is in the environment."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--floats", type=int, default=0, help="that each step reads besides")
    parser.add_argument("--reader", type=int, help="a worker that does only that, for others")
    parser.add_argument("--limit", type=int, default=0, help="milliseconds of a step; 0: none")
    args = parser.parse_args()
    task = tf.cluster.from_environment()
    if task.is_ps:
        task.serve()
    reader = task.task_index if args.reader is None else args.reader
    if task.task_index == args.reader:
        server = task.start_server()
        assert server is not None
        server.join()
    work(task, args.floats, reader, args.limit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
