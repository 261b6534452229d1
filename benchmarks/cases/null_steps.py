"""Steps of a cluster that do no work of their own: a task of it.

Each worker gets a part of the model from each parameter server, halves it and adds it to the part,
again and again, as ``python -m benchmarks.cases.null_steps --folder F --floats N --seconds S``. It
prints what it has done, as JSON. The chief adds what the servers have done meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import time
from typing import Any

import millstream as tf

WARM_UP_STEPS = 20
_LOOK_SECONDS = 0.005


def processor_seconds(process: str) -> float:
    """Return the processor time of all threads of a process, as the kernel counts it.

    Parameters
    ----------
    process
        Its number, or "self".
    """
    text = pathlib.Path("/proc", process, "stat").read_text()
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def build(own: str, servers: int, floats: int) -> Any:
    """Add the step of one worker to the graph."""
    updates = []
    for server in range(servers):
        place = f"/job:ps/task:{server}"
        with tf.device(place):
            part = tf.Variable(tf.zeros([floats]), name=f"part_{server}")
            value = part.read_value()
        with tf.device(own):
            update = value * 0.5
        with tf.device(place):
            updates.append(tf.assign_add(part, update))
    return tf.group(*updates)


def sent_and_received(target: str, task: str) -> int:
    """Return the bytes between a task and the parameter servers."""
    (status,) = (one.status for one in tf.cluster.status(target) if one.task == task)
    assert status is not None
    peers = (traffic for peer, traffic in status.traffic.items() if peer.startswith("/job:ps"))
    return sum(traffic.sent_bytes + traffic.received_bytes for traffic in peers)


def servers_seconds(folder: pathlib.Path) -> float:
    """Return the processor time of all parameter servers."""
    return sum(processor_seconds(path.read_text()) for path in folder.glob("ps_*"))


def work(task: Any, folder: pathlib.Path, floats: int, seconds: float) -> dict[str, float]:
    """Be one worker. Return what it has done."""
    workers = task.cluster.num_tasks("worker")
    own = f"/job:worker/task:{task.task_index}"
    step = build(own, task.cluster.num_tasks("ps"), floats)
    with tf.device("/job:ps/task:0"):
        arrived = tf.Variable(0, name="arrived")
        arrive = tf.assign_add(arrived, 1)
    uninitialized = tf.report_uninitialized_variables()
    init = tf.global_variables_initializer()
    config = tf.ConfigProto(device_filters=["/job:ps", own], intra_op_parallelism_threads=1)
    with tf.Session(task.target, config=config) as session:
        if task.is_chief:
            session.run(init)
        while session.run(uninitialized).size:
            time.sleep(_LOOK_SECONDS)
        run = session.make_callable(step)
        for _ in range(WARM_UP_STEPS):
            run()
        session.run(arrive)
        while session.run(arrived) < workers:
            time.sleep(_LOOK_SECONDS)
        name = f"/job:worker/replica:0/task:{task.task_index}"
        traffic = -sent_and_received(task.target, name) if task.is_chief else 0
        servers = -servers_seconds(folder) if task.is_chief else 0.0
        used = -time.process_time()
        begin = time.perf_counter()
        steps = 0
        while time.perf_counter() < begin + seconds:
            run()
            steps += 1
        took = time.perf_counter() - begin
        used += time.process_time()
        figures = {"seconds": took, "steps": steps, "worker_seconds": used / steps}
        if task.is_chief:
            figures["all_servers_seconds"] = servers + servers_seconds(folder)
            figures["bytes"] = traffic + sent_and_received(task.target, name)
    return figures


def main() -> None:
    """Be one task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--floats", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    task = tf.cluster.from_environment()
    if task.is_ps:
        (options.folder / f"ps_{task.task_index}").write_text(str(os.getpid()))
    task.start_server()
    if task.is_ps:
        task.serve()
        return
    figures = work(task, options.folder, options.floats, options.seconds)
    print("figures", json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
