"""The time of a step on parameter servers, simulated from what messages cost.

A step asks each server for a part of the model, and then gives each server an update of that part:
two messages each way between every worker and every server. Messages wait in line for the
processors and the network interfaces of hosts. A message passes: the sender's processors, its
interface, the network, the receiver's interface and processors, and the answer comes back the same
way. All is deterministic.
"""

from __future__ import annotations

import dataclasses
import heapq
import math
from collections.abc import Sequence

import numpy as np


@dataclasses.dataclass(frozen=True)
class Costs:
    """Seconds of a processor.

    Attributes
    ----------
    step
        Of the worker, a step, however many servers there are.
    worker_message, server_message
        Of each end, a message and its answer.
    byte
        Of each end, a byte of a tensor.
    """

    step: float
    worker_message: float
    server_message: float
    byte: float


@dataclasses.dataclass(frozen=True)
class Machines:
    """What each task has for itself, or all tasks together if they share one host.

    Attributes
    ----------
    cores
        Processors of a host.
    bytes_per_second
        Of a network interface, in each direction; it is not used within a host.
    latency
        Seconds from one host to another.
    are_one
        Whether all tasks are on one host.
    """

    cores: int
    bytes_per_second: float = math.inf
    latency: float = 0.0
    are_one: bool = False


@dataclasses.dataclass(frozen=True)
class Load:
    """Steps of a cluster.

    Attributes
    ----------
    workers, servers
        How many tasks there are.
    part_bytes
        What a worker gets from each server, and gives to it, in a step.
    """

    workers: int
    servers: int
    part_bytes: float


@dataclasses.dataclass(frozen=True)
class Sample:
    """What was measured on a cluster: seconds of processors a step of one worker."""

    load: Load
    worker_seconds: float
    server_seconds: float  # of all servers


class _Line:
    """Work waits for one of several servers, first come, first served."""

    def __init__(self, servers: int) -> None:
        self._free = [0.0] * servers

    def serve(self, now: float, seconds: float) -> float:
        """Return when work that comes now is done."""
        done = max(now, heapq.heappop(self._free)) + seconds
        heapq.heappush(self._free, done)
        return done


class _Host:
    """The lines of one host."""

    def __init__(self, machines: Machines) -> None:
        self.processors = _Line(machines.cores)
        self.out = _Line(1)
        self.into = _Line(1)


# A line, the seconds of work there, and how long the way to the next one takes.
_Stage = tuple[_Line, float, float]


class _Simulation:
    """The steps of all workers, event by event."""

    def __init__(self, load: Load, costs: Costs, machines: Machines) -> None:
        self._load = load
        self._costs = costs
        self._machines = machines
        if machines.are_one:
            self._hosts = [_Host(machines)] * (load.workers + load.servers)
        else:
            self._hosts = [_Host(machines) for _ in range(load.workers + load.servers)]
        # When, a number that orders those at the same time, the worker, what is left of the way.
        self._events: list[tuple[float, int, int, list[_Stage]]] = []
        self._number = 0

    def run(self, steps: int, is_synchronous: bool) -> float:
        """Return when all workers have done so many steps, each after the other."""
        workers = self._load.workers
        phases = [self._phases(is_synchronous) for _ in range(workers)]
        left = [0] * workers  # messages of the phase that are under way
        done = [0] * workers  # phases
        waiting = 0  # workers that are at the end of a step that all end together
        for worker in range(workers):
            left[worker] = self._begin(worker, phases[worker][0], 0.0)
        now = 0.0
        while self._events:
            now, _, worker, way = heapq.heappop(self._events)
            if way:
                line, seconds, delay = way[0]
                self._add(line.serve(now, seconds) + delay, worker, way[1:])
                continue
            left[worker] -= 1
            if left[worker] > 0:
                continue
            done[worker] += 1
            count = len(phases[worker])
            if done[worker] == steps * count:
                continue
            if not is_synchronous or done[worker] % count > 0:
                left[worker] = self._begin(worker, phases[worker][done[worker] % count], now)
                continue
            waiting += 1
            if waiting == workers:
                waiting = 0
                for one in range(workers):
                    left[one] = self._begin(one, phases[one][0], now)
        return now

    def _phases(self, is_synchronous: bool) -> list[list[tuple[int, float, float]]]:
        """Return what a worker does in a step: messages at a time, by server and sizes."""
        part = self._load.part_bytes
        fetch = [(server, 0.0, part) for server in range(self._load.servers)]
        update = [(server, part, 0.0) for server in range(self._load.servers)]
        # The first server knows when all workers are at the end.
        meet = [[(0, 0.0, 0.0)]] if is_synchronous else []
        return [[], fetch, update, *meet]

    def _begin(self, worker: int, messages: list[tuple[int, float, float]], now: float) -> int:
        """Send messages of a worker, or do what begins a step. Return how much is under way."""
        if not messages:
            processors = self._hosts[worker].processors
            self._add(now, worker, [(processors, self._costs.step, 0.0)])
            return 1
        for server, request, answer in messages:
            self._add(now, worker, self._way(worker, server, request, answer))
        return len(messages)

    def _add(self, when: float, worker: int, way: list[_Stage]) -> None:
        self._number += 1
        heapq.heappush(self._events, (when, self._number, worker, way))

    def _way(self, worker: int, server: int, request: float, answer: float) -> list[_Stage]:
        own = self._hosts[worker]
        other = self._hosts[self._load.workers + server]
        costs = self._costs
        half = costs.worker_message / 2
        handling = costs.server_message + (request + answer) * costs.byte
        return [
            (own.processors, half + request * costs.byte, 0.0),
            *self._crossing(own, other, request),
            (other.processors, handling, 0.0),
            *self._crossing(other, own, answer),
            (own.processors, half + answer * costs.byte, 0.0),
        ]

    def _crossing(self, sender: _Host, receiver: _Host, size: float) -> list[_Stage]:
        if sender is receiver:
            return []
        seconds = size / self._machines.bytes_per_second
        return [(sender.out, seconds, self._machines.latency), (receiver.into, seconds, 0.0)]


def step_seconds(
    load: Load,
    costs: Costs,
    machines: Machines,
    *,
    is_synchronous: bool = True,
    steps: int = 1,
) -> float:
    """Return how long a step of each worker takes.

    Parameters
    ----------
    load
        The cluster, and the tensors of a step.
    costs
        Of messages.
    machines
        That the cluster runs on.
    is_synchronous
        Whether a step ends with the slowest worker; else each worker goes on by itself.
    steps
        How many steps are simulated, one after the other.
    """
    return _Simulation(load, costs, machines).run(steps, is_synchronous) / steps


def fit(samples: Sequence[Sample]) -> Costs:
    """Return the costs that explain what was measured best, none of them below zero.

    Errors count by their share of what was measured, so that a step of microseconds counts as much
    as one of seconds.

    Parameters
    ----------
    samples
        Of clusters with several numbers of servers and several sizes of tensors.
    """
    rows = []
    for sample in samples:
        load = sample.load
        messages = 2.0 * load.servers
        size = 2.0 * load.servers * load.part_bytes
        rows.append((sample.worker_seconds, [1.0, messages, 0.0, size]))
        rows.append((sample.server_seconds, [0.0, 0.0, messages, size]))
    factors = np.array([np.array(terms) / measured for measured, terms in rows])
    free = list(range(4))
    while True:
        scale = np.abs(factors[:, free]).max(axis=0)
        scale[scale == 0] = 1.0
        solution, *_ = np.linalg.lstsq(factors[:, free] / scale, np.ones(len(rows)), rcond=None)
        values = solution / scale
        if values.min(initial=0.0) >= 0.0:
            break
        # The cost that is furthest below zero, as a share of what it would explain, is none.
        del free[int(np.argmin(solution))]
    found = [0.0] * 4
    for place, value in zip(free, values, strict=True):
        found[place] = float(value)
    return Costs(*found)
