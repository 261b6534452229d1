"""One round of chaos: a cluster of processes trains, and tasks are killed and stopped meanwhile.

The last line of the output is what happened, as JSON; see `Round.summary`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import signal
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

import millstream as tf

STEPS = 300
MOST_LOSS = 1e-4
RESTARTS = 20  # of each task
LONGEST_STOP = 6.0  # seconds; longer than what a task that does not answer is waited for
LATE_LINE = 0.002  # seconds; a line of a step before the fault may come so late
MODULE = "testing.cluster.chaos_task"


@dataclass
class Fault:
    """What happens to a task.

    Attributes
    ----------
    task
        Its name, as ``"worker:1"``.
    after
        How many lines of steps come before.
    stop
        How many seconds it is stopped; None: it is killed.
    """

    task: str
    after: int
    stop: float | None
    begin: float | None = None
    loses_variables: bool = False  # until a session begins again
    recovery: float | None = None


def faults_of(seed: int, ps: int, workers: int) -> list[Fault]:
    """Return the faults of a seed in their order."""
    draw = random.Random(seed)
    tasks = [f"ps:{i}" for i in range(ps)] + [f"worker:{i}" for i in range(workers)]
    faults = []
    for _ in range(draw.choice([1, 1, 2])):
        stop = draw.uniform(0.1, LONGEST_STOP) if draw.random() < 0.35 else None
        faults.append(Fault(draw.choice(tasks), draw.randint(5, STEPS // 2), stop))
    return sorted(faults, key=lambda fault: fault.after)


class Round:
    """Reads what tasks write, and does the faults."""

    def __init__(self, faults: list[Fault], verbose: bool) -> None:
        self.problems: list[str] = []
        self._faults = faults
        self._verbose = verbose
        self._pids: dict[str, int] = {}
        self._steps = 0
        self._saved = -1
        self._done: tuple[int, float] | None = None
        self._restarted: list[str] = []
        self._errors: list[str] = []

    def take(self, task: str, line: str) -> None:
        """Take a line of a task, or one about it."""
        now = time.monotonic()
        if self._verbose:
            print(f"{now:.3f} {task}| {line}", file=sys.stderr)
        word, *rest = line.split(" ")
        match word:
            case "pid":
                self._pids[task] = int(rest[0])
            case "step":
                self._steps += 1
                self._note_recovery(task, now)
                self._do_faults()
            case "saved":
                self._saved = max(self._saved, int(rest[0]))
            case "begins":
                self._check_beginning(int(rest[0]))
            case "done":
                self._done = int(rest[0]), float(rest[1])
            case _:
                self._take_other(task, line)

    def _take_other(self, task: str, line: str) -> None:
        if "it is started again" in line:
            self._restarted.append(f"{task} {line}")
        # The last line of a program that ends by an exception.
        if re.match(r"[\w.]*(Error|Exception)\b", line):
            self._errors.append(f"{task}: {line}")

    def _check_beginning(self, step: int) -> None:
        for fault in self._faults:
            fault.loses_variables = False
        if step < self._saved:
            self.problems.append(
                f"a session begins at step {step}, but the checkpoint of {self._saved} was complete"
            )

    def _note_recovery(self, task: str, now: float) -> None:
        """A good step after the loss of variables is one of a session that began after it."""
        for fault in self._faults:
            if fault.begin is None or fault.recovery is not None or fault.stop is not None:
                continue
            if fault.task != task and not fault.loses_variables and now > fault.begin + LATE_LINE:
                fault.recovery = now - fault.begin

    def _do_faults(self) -> None:
        if self._done is not None:
            return  # a task that ends now is not started again, as the cluster ends
        for fault in self._faults:
            if fault.begin is None and self._steps >= fault.after and fault.task in self._pids:
                fault.begin = time.monotonic()
                self._do(fault)

    def _do(self, fault: Fault) -> None:
        if fault.stop is None:
            fault.loses_variables = fault.task.startswith("ps:")
            _send(self._pids.pop(fault.task), signal.SIGKILL)
            return
        pid = self._pids[fault.task]
        _send(pid, signal.SIGSTOP)
        timer = threading.Timer(fault.stop, _send, [pid, signal.SIGCONT])
        timer.daemon = True
        timer.start()

    def check(self, status: int, folder: str) -> None:
        """Note what is wrong at the end of the cluster."""
        if status != 0 and not any("/job:" in error for error in self._errors):
            self.problems.append(f"the cluster ended with status {status} without a clear error")
        if status == 0:
            if self._done is None or self._done[0] < STEPS or not self._done[1] < MOST_LOSS:
                self.problems.append(f"the training ended with {self._done}")
            kept = tf.train.latest_checkpoint(folder)
            step = -1 if kept is None else int(tf.train.load_variable(kept, "global_step"))
            if step < self._saved:
                self.problems.append(f"the last checkpoint is of step {step}, not {self._saved}")

    def summary(self, status: int) -> dict[str, Any]:
        """What happened."""
        return {
            "status": status,
            "done": self._done,
            "saved": self._saved,
            "faults": [
                {"task": one.task, "stop": one.stop, "recovery": one.recovery}
                for one in self._faults
                if one.begin is not None
            ],
            "restarted": self._restarted,
            "errors": self._errors,
            "problems": self.problems,
        }


def _send(pid: int, number: int) -> None:
    """Send a signal to a process, if there still is one."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def main() -> int:
    """Run the round."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--folder", required=True, help="of checkpoints, empty")
    parser.add_argument("--ps", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--synchronous", action="store_true", help="see chaos.py")
    parser.add_argument("--verbose", action="store_true", help="what tasks write")
    args = parser.parse_args()
    one = Round(faults_of(args.seed, args.ps, args.workers), args.verbose)
    command = [sys.executable, "-m", MODULE, f"--folder={args.folder}", f"--steps={STEPS}"]
    command += ["--synchronous"] if args.synchronous else []
    cluster = tf.cluster.LocalCluster(
        command,
        ps=args.ps,
        workers=args.workers,
        restarts=RESTARTS,
        write=one.take,
    )
    addresses = [
        address for job in cluster.cluster.jobs for address in cluster.cluster.job_tasks(job)
    ]
    print(json.dumps(addresses), flush=True)
    status = cluster.run()
    one.check(status, args.folder)
    print(json.dumps(one.summary(status)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
