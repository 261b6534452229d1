"""The arithmetic of a comparison: blocks in, medians, ratios and verdicts out."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence

from benchmarks import goals


@dataclasses.dataclass(frozen=True)
class Spread:
    """A ratio by blocks: its median, and the blocks at either end."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.least:.3g} .. {self.most:.3g})"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A goal, and what was found: None when there was nothing to compare with."""

    goal: goals.Goal
    found: Spread | float | None

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None when nobody knows."""
        if self.found is None:
            return None
        value = self.found.median if isinstance(self.found, Spread) else self.found
        return value <= self.goal.limit


class Measurements:
    """What was measured, by figure, contender and block.

    A contender's settings (threads, memory layout) compete in each block: the best one counts.
    """

    def __init__(self) -> None:
        self._values: dict[str, dict[str, dict[int, float]]] = {}
        self._versions: dict[str, str] = {}

    def add(self, block: int, contender: str, figures: Mapping[str, float]) -> None:
        """Take in what one process found under one of the contender's settings."""
        for figure, value in figures.items():
            blocks = self._values.setdefault(figure, {}).setdefault(contender, {})
            blocks[block] = min(blocks.get(block, value), value)

    def set_version(self, contender: str, version: str) -> None:
        """Take in which version of a contender was measured; empty when it does not say."""
        self._versions[contender] = version

    def label(self, contender: str) -> str:
        """Return the contender's name and version."""
        return f"{contender} {self._versions.get(contender, '')}".rstrip()

    def figures(self) -> list[str]:
        """Figures in the order in which they came."""
        return list(self._values)

    def median(self, figure: str, contender: str) -> float | None:
        """Return the contender's median over the blocks; None without any."""
        blocks = self._values.get(figure, {}).get(contender)
        return statistics.median(blocks.values()) if blocks else None

    def ratio(self, figure: str, contender: str, other: str) -> Spread | None:
        """Return contender / other in the blocks that both have; None without any."""
        of_figure = self._values.get(figure, {})
        ours, theirs = of_figure.get(contender, {}), of_figure.get(other, {})
        ratios = [value / theirs[block] for block, value in ours.items() if block in theirs]
        if not ratios:
            return None
        return Spread(statistics.median(ratios), min(ratios), max(ratios))

    def best_peer(self, figure: str) -> str | None:
        """Return the contender, besides us, with the smallest median; None without any."""
        medians = {
            contender: median
            for contender in self._values.get(figure, {})
            if contender != goals.OURS and (median := self.median(figure, contender)) is not None
        }
        return min(medians, key=medians.__getitem__) if medians else None

    def verdicts(self, figure: str) -> list[Verdict]:
        """Return what became of each goal of the figure."""
        return [Verdict(goal, self._found(figure, goal)) for goal in goals.GOALS.get(figure, ())]

    def _found(self, figure: str, goal: goals.Goal) -> Spread | float | None:
        match goal:
            case goals.Absolute():
                return self.median(figure, goals.OURS)
            case goals.Ratio():
                peer = self.best_peer(figure) if goal.peer == goals.BEST else goal.peer
                return self.ratio(figure, goals.OURS, peer) if peer is not None else None
            case goals.MeanOf():
                return self._ratio_to_mean(figure, goal.figures)

    def _ratio_to_mean(self, figure: str, others: Sequence[str]) -> Spread | None:
        ours = [self._values.get(name, {}).get(goals.OURS, {}) for name in (figure, *others)]
        ratios = [
            value / statistics.mean(other[block] for other in ours[1:])
            for block, value in ours[0].items()
            if all(block in other for other in ours[1:])
        ]
        return Spread(statistics.median(ratios), min(ratios), max(ratios)) if ratios else None


# ---- Text ----------------------------------------------------------------------------------------


def value_text(figure: str, value: float | None) -> str:
    """Return a figure with its unit."""
    if value is None:
        return "-"
    if figure.endswith("_mb"):
        return f"{value:.1f} MB"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}" if value < 1000 * size else f"{value:.0f} {unit}"
    return f"{value * 1e9:.3g} ns"


def _verdict_text(verdict: Verdict) -> str:
    words = {True: "met", False: "not met", None: "not measured"}
    return f"{verdict.goal}: {words[verdict.met]}"


def table(measurements: Measurements, contenders: Sequence[str]) -> list[list[str]]:
    """Return the table of a comparison, its heading first."""
    labels = map(measurements.label, contenders)
    rows = [["figure", *labels, "ours / best peer", "goal"]]
    for figure in measurements.figures():
        peer = measurements.best_peer(figure)
        spread = measurements.ratio(figure, goals.OURS, peer) if peer is not None else None
        medians = [measurements.median(figure, contender) for contender in contenders]
        rows.append(
            [
                figure,
                *(value_text(figure, median) for median in medians),
                f"{spread} {peer}" if spread is not None else "-",
                "; ".join(_verdict_text(verdict) for verdict in measurements.verdicts(figure)),
            ]
        )
    return rows


def plain_text(rows: Sequence[Sequence[str]]) -> str:
    """Return the table with its columns aligned."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return the table in Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|" + " --- |" * len(rows[0]))
    return "\n".join(lines)


# ---- Equal numbers -------------------------------------------------------------------------------


def largest_difference(curve: Sequence[float], reference: Sequence[float]) -> float:
    """Return the largest relative difference of two curves; infinite for other lengths."""
    if len(curve) != len(reference) or not reference:
        return math.inf
    return max(map(_relative_difference, curve, reference))


def _relative_difference(value: float, reference: float) -> float:
    difference = abs(value - reference) / max(abs(reference), 1e-30)
    # What is no number differs from everything.
    return math.inf if math.isnan(difference) else difference
