"""Trains in clusters of processes whose tasks are killed and stopped at random.

    bazel run //testing/cluster:chaos -- --rounds 300 --seed 1

Each round is a cluster of its own (chaos_round.py) with one or two faults: SIGKILL, or SIGSTOP and
SIGCONT some seconds later, of a parameter server, a worker or the chief. Checked after each round:
the training came to the right loss, or ended with an error that names a task; no checkpoint was
lost after the program was told that it is complete; the round came to an end; no process, port,
socket or shared memory is left. The faults of a round depend on its seed alone. When exactly they
come does not, so a round that failed may succeed when it is run again.

Tasks of one machine talk through shared memory. By an option, all rounds

    --network      go through gRPC, as between hosts
    --tls          use mutual TLS (and gRPC)
    --token        need a token (and gRPC)
    --synchronous  train with SyncReplicasOptimizer, of whose workers one is a backup worker
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from testing.cluster import credentials

MODULE = "testing.cluster.chaos_round"
MARK = "MILLSTREAM_CHAOS"
SHARED_MEMORY = pathlib.Path("/dev/shm")
PATIENCE = 180.0  # seconds of a round; the longest takes a tenth on an idle machine


def processes_of(mark: str) -> list[str]:
    """Return the processes whose environment has the mark."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(f"{folder.name} ({(folder / 'comm').read_text().strip()})")
        except OSError:  # it has ended, or is another user's
            continue
    return found


def left_behind(mark: str, addresses: list[str], shared_before: set[str]) -> list[str]:
    """Return what a round left: processes, ports, sockets, shared memory."""
    left = [f"process {one}" for one in processes_of(mark)]
    sockets = pathlib.Path("/proc/net/unix").read_text()
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            socket.create_server((host, int(port))).close()
        except OSError as error:
            left.append(f"port {address}: {error}")
        if f"@millstream {address}" in sockets:
            left.append(f"a socket of {address}")
    left += [f"{SHARED_MEMORY}/{name}" for name in _shared() - shared_before]
    return left


def _shared() -> set[str]:
    return {path.name for path in SHARED_MEMORY.glob("*millstream*")}


@dataclass
class Result:
    """What a round gave.

    Attributes
    ----------
    problems
        What must not be.
    summary
        What the round says of itself; empty if it came to no end.
    seconds
        How long it took.
    """

    problems: list[str]
    summary: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Way:
    """How the tasks of a round work together.

    Attributes
    ----------
    network
        Whether they use gRPC and no shared memory.
    tls
        Whether they have certificates.
    token
        Whether they have a token.
    synchronous
        Whether steps are those of SyncReplicasOptimizer.
    """

    network: bool = False
    tls: bool = False
    token: bool = False
    synchronous: bool = False

    @contextlib.contextmanager
    def environment(self) -> Iterator[dict[str, str]]:
        """Within a ``with`` statement, what the environment of all tasks has."""
        found = {"MILLSTREAM_CLUSTER_TRANSPORT": "network"} if self.network else {}
        with tempfile.TemporaryDirectory(prefix="millstream_chaos_") as folder:
            if self.tls:
                credentials.add_certificates(pathlib.Path(folder))
            if self.token:
                credentials.add_token(pathlib.Path(folder))
            if self.tls or self.token:
                found["MILLSTREAM_CLUSTER_CREDENTIALS"] = folder
            yield found


_SHARED_MEMORY = Way()


def run_round(
    seed: int,
    ps: int = 2,
    workers: int = 2,
    patience: float = PATIENCE,
    way: Way = _SHARED_MEMORY,
) -> Result:
    """Run the round of a seed."""
    shared = _shared()
    mark = f"{os.getpid()}.{seed}"
    begin = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="millstream_chaos_") as folder,
        way.environment() as chosen,
    ):
        environment = {
            **os.environ,
            **chosen,
            MARK: mark,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        command = [sys.executable, "-m", MODULE, f"--seed={seed}", f"--folder={folder}"]
        command += [f"--ps={ps}", f"--workers={workers}"]
        command += ["--synchronous"] if way.synchronous else []
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        problems = []
        try:
            out, err = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            problems.append(f"the round came to no end in {patience:.0f} s")
            process.kill()  # its tasks are killed with it
            out, err = process.communicate()
    lines = out.splitlines()
    summary: dict[str, Any] = {}
    if not problems and process.returncode != 0:
        problems.append(f"the round failed: {err[-2000:]}")
    elif not problems:
        summary = json.loads(lines[-1])
        problems += summary["problems"]
    seconds = time.monotonic() - begin
    problems += left_behind(mark, json.loads(lines[0]) if lines else [], shared)
    return Result(problems, summary, seconds)


@dataclass
class Total:
    """What all rounds gave."""

    rounds: int = 0
    failed: int = 0
    clear_errors: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    recoveries: dict[str, list[float]] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        """Count a round."""
        self.rounds += 1
        self.failed += bool(result.problems)
        self.clear_errors += bool(result.summary.get("status"))
        for fault in result.summary.get("faults", []):
            kind = "kill" if fault["stop"] is None else "stop"
            task = "chief" if fault["task"] == "worker:0" else fault["task"].partition(":")[0]
            self.faults[f"{kind} {task}"] = self.faults.get(f"{kind} {task}", 0) + 1
            if fault["recovery"] is not None:
                self.recoveries.setdefault(f"{kind} {task}", []).append(fault["recovery"])

    def text(self) -> str:
        """Return the figures."""
        lines = [
            f"{self.rounds} rounds, {self.failed} failed, {self.clear_errors} ended by an error"
        ]
        for kind, count in sorted(self.faults.items()):
            line = f"  {kind}: {count} times"
            if times := sorted(self.recoveries.get(kind, [])):
                line += (
                    f"; next good step of others after {statistics.median(times):.2f} s (median), "
                    f"{times[-1]:.2f} s (most)"
                )
            lines.append(line)
        return "\n".join(lines)


def main() -> int:
    """Run rounds; 1 if one of them failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument(
        "--seed", type=int, default=1, help="of the first round; the next have more"
    )
    parser.add_argument("--ps", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, help="no round begins later")
    for option in ("network", "tls", "token", "synchronous"):
        parser.add_argument(f"--{option}", action="store_true")
    args = parser.parse_args()
    way = Way(args.network, args.tls, args.token, args.synchronous)
    total = Total()
    begin = time.monotonic()
    for seed in range(args.seed, args.seed + args.rounds):
        if args.minutes is not None and time.monotonic() - begin > 60 * args.minutes:
            break
        result = run_round(seed, args.ps, args.workers, way=way)
        total.add(result)
        told = [
            fault["task"] + (" killed" if fault["stop"] is None else f" for {fault['stop']:.1f} s")
            for fault in result.summary.get("faults", [])
        ]
        print(f"seed {seed}: {result.seconds:.1f} s, {', '.join(told)}", flush=True)
        for problem in result.problems:
            print(f"  {problem}", flush=True)
        for error in result.summary.get("errors", []):
            print(f"  ended by {error}", flush=True)
    print(total.text())
    return int(total.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
