"""The numbers that must be the same for everyone, recorded from what a front end gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.cases import networks, timing

CHECKED_STEPS = 3


def record_losses(run: timing.Run, workload: str, step: Callable[[], float]) -> None:
    """Record the losses of the first steps."""
    run.curves[workload] = [float(step()) for _ in range(CHECKED_STEPS)]


def record_xent(run: timing.Run, step: Callable[[], tuple[float, networks.Array]]) -> None:
    """Record losses, and the size of their gradients."""
    run.curves["xent"] = []
    for _ in range(CHECKED_STEPS):
        loss, gradient = step()
        size = float(np.linalg.norm(gradient.astype(np.float64)))
        run.curves["xent"] += [float(loss), size]


def record_adam(
    run: timing.Run, step: Callable[[], object], values: Callable[[], networks.Array]
) -> None:
    """Record how far the parameters have gone after each step."""
    start = networks.adam_data()[0].astype(np.float64)
    run.curves["adam"] = []
    for _ in range(CHECKED_STEPS):
        step()
        run.curves["adam"].append(float(np.abs(values() - start).mean()))


def record_batch_norm(run: timing.Run, step: Callable[[], Sequence[networks.Array]]) -> None:
    """Record the size of the result, and of the gradients of images, scale and offset."""
    run.curves["batch_norm"] = [float(np.linalg.norm(value.astype(np.float64))) for value in step()]
