"""Curves over the turns of an episode: means of each run, as tables and plots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from clevrskills.evaluation.report.tables import Table, splits_of, strata, table_of
from clevrskills.evaluation.results import EpisodeResult, Evaluation
from clevrskills.evaluation.statistics import Estimate, mean

WIDTH, HEIGHT = 640, 240
"""Size of a plot in pixels."""
TICKS = 5
"""Approximate number of ticks per axis."""


@dataclass(frozen=True)
class Curve:
    """Mean curve of the episodes of a run and split."""

    run: str  # label of the run
    number: int  # index of the run, for its color
    means: tuple[Estimate, ...]  # at the start and after each turn


@dataclass(frozen=True)
class Drawing:
    """Plot of curves with the same name and split."""

    name: str  # quantity, e.g. ``regret``
    split: str
    curves: tuple[Curve, ...]

    @property
    def turns(self) -> int:
        """Number of turns."""
        return max(1, *(len(curve.means) - 1 for curve in self.curves))

    @property
    def range(self) -> tuple[float, float]:
        """Range of the values, including 0."""
        ends = [_ends(estimate) for curve in self.curves for estimate in curve.means]
        low, high = min(0.0, *(low for low, _ in ends)), max(0.0, *(high for _, high in ends))
        return low, high if high > low else low + 1.0

    @property
    def ticks(self) -> tuple[list[tuple[int, float]], list[tuple[float, float]]]:
        """Ticks of both axes with their positions in pixels."""
        low, high = self.range
        step = _round_step(self.turns)
        across = [(turn, self._x(turn)) for turn in range(0, self.turns + 1, max(1, int(step)))]
        step = _round_step(high - low)
        first, last = math.ceil(low / step), math.floor(high / step)
        return across, [(k * step, self._y(k * step)) for k in range(first, last + 1)]

    def line(self, curve: Curve) -> str:
        """Return the SVG points of a curve."""
        return " ".join(self._point(t, e.value) for t, e in enumerate(curve.means))

    def band(self, curve: Curve) -> str:
        """Return the SVG outline of the intervals of a curve."""
        ends = [_ends(estimate) for estimate in curve.means]
        above = [self._point(turn, high) for turn, (_, high) in enumerate(ends)]
        below = [self._point(turn, low) for turn, (low, _) in enumerate(ends)]
        return " ".join([*above, *reversed(below)])

    def _point(self, turn: int, value: float) -> str:
        return f"{self._x(turn):.1f},{self._y(value):.1f}"

    def _x(self, turn: int) -> float:
        return WIDTH * turn / self.turns

    def _y(self, value: float) -> float:
        low, high = self.range
        return HEIGHT * (high - value) / (high - low)


def drawings(evaluations: Sequence[Evaluation]) -> list[Drawing]:
    """Return a plot for each curve and split of any run."""
    made = []
    for name in dict.fromkeys(n for e in evaluations for r in e.results for n in r.curves):
        for split in splits_of(evaluations):
            curves = []
            for number, evaluation in enumerate(evaluations):
                found = [r for r in evaluation.results if r.split == split and r.counts]
                found = [r for r in found if r.curves.get(name)]
                if found:
                    curves.append(Curve(evaluation.label, number, tuple(_means(name, found))))
            if curves:
                made.append(Drawing(name, split, tuple(curves)))
    return made


def curve_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return the curves as tables with a row for each turn."""
    tables: list[Table] = []
    for drawing in drawings(evaluations):
        data = [
            {"split": drawing.split, "run": curve.run, "turn": turn, **e.columns(drawing.name)}
            for curve in drawing.curves
            for turn, e in enumerate(curve.means)
        ]
        texts = [
            {
                "turn": str(turn),
                **{
                    curve.run: curve.means[turn].text() if turn < len(curve.means) else "-"
                    for curve in drawing.curves
                },
            }
            for turn in range(drawing.turns + 1)
        ]
        name = f"curve-{drawing.name}-{drawing.split}"
        title = f"{drawing.name.capitalize()} by turn, {drawing.split}"
        tables += table_of(name, title, data, texts, NOTE)
    return tables


NOTE = "An episode that is over keeps its last number."


def _means(name: str, results: Sequence[EpisodeResult]) -> list[Estimate]:
    def at(turn: int) -> Estimate:
        return mean(strata(results, lambda r: r.curves[name][min(turn, len(r.curves[name]) - 1)]))

    return [at(turn) for turn in range(max(len(r.curves[name]) for r in results))]


def _ends(estimate: Estimate) -> tuple[float, float]:
    """Return the interval, or the value if there is none."""
    if math.isnan(estimate.low):
        return estimate.value, estimate.value
    return estimate.low, estimate.high


def _round_step(length: float) -> float:
    """Return a step of 1, 2 or 5 times a power of 10 for about :data:`TICKS` ticks."""
    power = 10.0 ** math.floor(math.log10(length / TICKS))
    return next((k * power for k in (1, 2, 5, 10) if length <= TICKS * k * power), 10 * power)
