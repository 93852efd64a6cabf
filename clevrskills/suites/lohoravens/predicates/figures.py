"""Figures that places are looked at for: lines, circles, templates, rectangles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np

from clevrskills.suites.lohoravens.predicates.fit import Fit
from clevrskills.suites.lohoravens.predicates.lines_and_circles import (
    fit_circle,
    fit_line,
    fit_ring,
)
from clevrskills.suites.lohoravens.predicates.templates import fit_rectangle, fit_template


class Figure(Protocol):
    """What places are looked at for: a line, a circle, a template, a rectangle; hashable."""

    def __hash__(self) -> int:
        """Figures of the same numbers are the same."""

    def fit(self, rows: np.ndarray, used: np.ndarray) -> Fit:
        """Return the best one through some places: x, y and half of the reach along y, (n, 3)."""


@dataclass(frozen=True)
class Line:
    """A line along y.

    Attributes:
        middle_m: Its middle.
        length_m: Its length.
        order: Number of each place along the line, a permutation.
        sides_m: Side of what is at each place.
    """

    middle_m: tuple[float, float]
    length_m: float
    order: tuple[int, ...]
    sides_m: tuple[float, ...]

    def fit(self, rows: np.ndarray, used: np.ndarray) -> Fit:
        turn = np.argsort(self.order)
        off = np.where(used, rows[:, 0] - self.middle_m[0], np.inf)[turn]
        along, halves = rows[turn, 1] - self.middle_m[1], rows[turn, 2]
        found = fit_line(along, off, halves, np.array(self.sides_m)[turn], self.length_m)
        return replace(found, members=found.members[np.array(self.order)])


@dataclass(frozen=True)
class Ring:
    """A given circle, on which places follow each other counter-clockwise, seen from above.

    Attributes:
        center_m: Its middle.
        radius_m: Its radius.
        order: Number of each place on the circle, a permutation.
    """

    center_m: tuple[float, float]
    radius_m: float
    order: tuple[int, ...]

    def fit(self, rows: np.ndarray, used: np.ndarray) -> Fit:
        turn = np.argsort(self.order)
        places, center = rows[turn, :2], np.array(self.center_m)
        found = fit_ring(places, used[turn], center, self.radius_m)
        return replace(found, members=found.members[np.array(self.order)])


@dataclass(frozen=True)
class Circle:
    """Any circle of a radius in a range.

    Attributes:
        radii_m: The range.
        counted: Whether its members are looked for where it is not whole.
    """

    radii_m: tuple[float, float]
    counted: bool = True

    def fit(self, rows: np.ndarray, used: np.ndarray) -> Fit:
        return fit_circle(rows[:, :2], used, self.radii_m, self.counted)


@dataclass(frozen=True)
class Template:
    """Points that may be moved, scaled and turned a little.

    Attributes:
        points_m: The points.
        scales: Least and greatest scale.
        turn_rad: Greatest turn.
    """

    points_m: tuple[tuple[float, float], ...]
    scales: tuple[float, float]
    turn_rad: float

    def fit(self, rows: np.ndarray, used: np.ndarray) -> Fit:
        return fit_template(rows[:, :2], used, np.array(self.points_m), self.scales, self.turn_rad)


@dataclass(frozen=True)
class Rectangle:
    """A rectangle of blocks, turned as it may be.

    Attributes:
        side_m: Side of the blocks.
    """

    side_m: float

    def fit(self, rows: np.ndarray, used: np.ndarray) -> Fit:
        return fit_rectangle(rows[:, :2], used, self.side_m)


def fitted(figure: Figure, rows: np.ndarray, used: np.ndarray) -> Fit:
    """Return the best figure through places (n, 3), to a tenth of a millimetre; what was asked
    lately is known. Most of the time nothing that rests has moved since the last control step.
    """
    rounded = np.where(used[:, None], np.round(rows, 4), 0.0)
    return _fitted(figure, rounded.tobytes(), used.tobytes())


@lru_cache(maxsize=512)
def _fitted(figure: Figure, rows: bytes, used: bytes) -> Fit:
    return figure.fit(np.frombuffer(rows).reshape(-1, 3), np.frombuffer(used, bool))
