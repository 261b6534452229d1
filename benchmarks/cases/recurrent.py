"""What the cases with loops and recurrent networks share: sizes, and values to begin with."""

from __future__ import annotations

import dataclasses

import numpy as np

from benchmarks.cases import timing
from benchmarks.cases.networks import Array

ITERATIONS = 1000  # of a loop of scalars
ROWS, COLUMNS = 10_000, 64  # of a matrix whose rows are mapped and scanned

FORGET_BIAS = 1.0

CASES = ("while_scalars", "rows", "lstm_b1", "lstm_b64", "ptb_small")


@dataclasses.dataclass(frozen=True)
class Lstm:
    """One layer of cells, with as many inputs as units."""

    batch: int
    units: int
    steps: int

    def inputs(self) -> Array:
        """Return the inputs of all steps: batch, steps, units."""
        return _numbers(1, self.batch, self.steps, self.units)

    def weights(self) -> Array:
        """Return the weights of inputs, then of the state; the gates are i, j, f and o."""
        return _numbers(2, 2 * self.units, 4 * self.units)


LSTMS = {"lstm_b1": Lstm(1, 128, 32), "lstm_b64": Lstm(64, 512, 20)}


@dataclasses.dataclass(frozen=True)
class WordModel:
    """The small model of Zaremba et al., "Recurrent Neural Network Regularization" (2014)."""

    batch: int = 20
    steps: int = 20
    units: int = 200
    layers: int = 2
    words: int = 10_000
    largest_norm: float = 5.0

    def parameters(self) -> list[Array]:
        """Return embedding, weights and bias of each layer, weights and bias of the softmax."""
        found = [_numbers(3, self.words, self.units)]
        for layer in range(self.layers):
            found.append(_numbers(4 + layer, 2 * self.units, 4 * self.units))
            found.append(np.zeros(4 * self.units, np.float32))
        return [*found, _numbers(9, self.units, self.words), np.zeros(self.words, np.float32)]

    def text(self) -> tuple[Array, Array]:
        """Return words and those that follow: batch, steps."""
        words = np.random.default_rng(5).integers(0, self.words, (self.batch, self.steps + 1))
        return words[:, :-1].astype(np.int32), words[:, 1:].astype(np.int32)


WORDS = WordModel()


def record(run: timing.Run, name: str, loss: float, slopes: list[list[Array]]) -> None:
    """Record the loss of a layer, and the norms of the gradients of inputs, weights and bias.

    A gradient may be in several parts, whose order does not matter.
    """
    squares = [sum(float(np.square(part).sum()) for part in parts) for parts in slopes]
    run.curves[name] = [loss, *np.sqrt(squares).tolist()]


def _numbers(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32) * 0.05
