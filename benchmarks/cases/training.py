"""What every front end does with the training steps of the workloads: take times, record losses."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from contextlib import AbstractContextManager

from benchmarks.cases import curves, networks, timing

# One step of training, which returns the loss before it.
Step = Callable[[], float]
# Makes such a step, and ends what it needs.
Begin = Callable[[timing.Run, networks.Workload], AbstractContextManager[Step]]


def eager(make_step: Callable[[timing.Run, networks.Workload], Step]) -> Begin:
    """Return how to begin steps that need nothing to be ended."""
    return lambda run, workload: contextlib.nullcontext(make_step(run, workload))


def timed(begin: Begin) -> timing.Cases:
    """Return the cases that time a training step of each of their workloads."""
    return {name: functools.partial(_time, begin, name) for name in networks.TRAINING_CASES}


def recorded(begin: Begin) -> timing.Cases:
    """Return the cases that record the losses of each of their workloads."""
    return {name: functools.partial(_record, begin, name) for name in networks.TRAINING_CASES}


def _time(begin: Begin, name: str, run: timing.Run) -> None:
    for figure in networks.TRAINING_CASES[name]:
        with begin(run, networks.WORKLOADS[figure]) as step:
            run.time(figure, step)


def _record(begin: Begin, name: str, run: timing.Run) -> None:
    for figure in networks.TRAINING_CASES[name]:
        with begin(run, networks.WORKLOADS[figure]) as step:
            curves.record_losses(run, figure, step)
