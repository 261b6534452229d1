"""The sum of a tensor over all workers of a cluster, in Millstream.

Each worker of the cluster runs ``python -m benchmarks.cases.all_reduce_graph COUNT...``; the first
prints the seconds that a sum of so many floats takes, as JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import millstream as tf
from benchmarks.cases import all_reduce


def main() -> None:
    """Be one worker."""
    task = tf.cluster.from_environment()
    task.start_server()
    workers = task.cluster.num_tasks("worker")
    figures = {}
    with tf.device(task.device_setter()):
        sums = []
        for key, count in enumerate(map(int, sys.argv[1:])):
            x = tf.Variable(tf.ones([count]))
            total = tf.cluster.all_reduce(x, workers, 1, key, "Add", "Id")
            sums.append((count, total.op))
        init = tf.global_variables_initializer()
    config = tf.ConfigProto(
        device_filters=[f"/job:worker/task:{task.task_index}"], intra_op_parallelism_threads=1
    )
    with tf.Session(task.target, config=config) as session:
        session.run(init)
        for count, reduce in sums:
            run = session.make_callable(reduce)
            times = []
            for _ in range(all_reduce.repeats(count)):
                begin = time.perf_counter()
                run()
                times.append(time.perf_counter() - begin)
            figures[str(count)] = statistics.median(times)
    if task.is_chief:
        print("figures", json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
