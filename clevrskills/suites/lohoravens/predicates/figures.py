"""Figures of places seen from above: which of them lie on a line, on a circle, on a template.

Plain geometry of arrays. Of some places (n, 2), those that are ``used`` (n,) may be members of a
figure; a figure always has ``n`` members in the end. Places are members of a figure together if the
others could be put down so that it is whole, those where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import hypot, pi
from typing import Protocol

import numpy as np

OFF_LINE_M = 0.015
"""How far a middle may be from a line, circle or outline."""
LINE_GAPS_M = (0.01, 0.06)
"""Least and greatest gap between the edges of neighbors on a line."""
NEIGHBORS = (0.5, 1.6)
"""Least and greatest angle between neighbors on a circle, of the even one."""
TEMPLATE_M = 0.02
"""How far from its point of a template a middle may be."""
SIDE_GAP_M = 0.02
"""Greatest gap between neighbors on a side of a rectangle."""
PITCH_M = (0.038, 0.062)
"""Range of the distance between neighbors of a rectangle of blocks of 4 cm."""
START_RAD = 0.1
"""Steps in which the turn of a rectangle is looked for, before it is refined."""
REFINED = 8
"""How many of the best fits are looked at closely."""
SLACK = 1e-6


@dataclass(frozen=True)
class Fit:
    """The best figure through some places.

    Attributes:
        members: Which of the places lie on it together, (n,) bool.
        whole: Whether it is complete and fits as it should.
        center: Its middle, (2,); of a circle.
        radius_m: Its radius; of a circle.
    """

    members: np.ndarray
    whole: bool
    center: np.ndarray
    radius_m: float = 0.0

    @property
    def count(self) -> int:
        """How many places lie on it."""
        return int(self.members.sum())


# ---- line ----


def fit_line(
    along: np.ndarray, off: np.ndarray, halves: np.ndarray, sides: np.ndarray, length_m: float
) -> Fit:
    """Places on a line, in order, with gaps between them as :data:`LINE_GAPS_M` has it.

    Args:
        along: How far along the line from its middle, in the order that is asked for, (n,).
        off: How far from it, (n,); infinite: not used.
        halves: Half of how far each reaches along the line, (n,).
        sides: Sides of what stands there, (n,): what those that are still missing take up.
        length_m: Length of the line; middles are between its ends.
    """
    count, (least, most) = len(along), LINE_GAPS_M
    before = np.concatenate(([0.0], np.cumsum(sides)))
    best, last = np.zeros(count, int), np.full(count, -1)
    for i in range(count):
        if abs(off[i]) > OFF_LINE_M + SLACK or abs(along[i]) > length_m / 2 + SLACK:
            continue
        start, end = along[i] + length_m / 2, length_m / 2 - along[i]
        rest = count - 1 - i
        need = halves[i] + before[i] - sides[0] / 2 + i * least if i else 0.0
        after = before[count] - before[i + 1]
        room = halves[i] + after - sides[-1] / 2 + rest * least if rest else 0.0
        if start < need - SLACK or end < room - SLACK:
            continue
        best[i] = 1
        for j in range(i):
            between = before[i] - before[j + 1]
            free = along[i] - along[j] - halves[i] - halves[j] - between
            fits = (i - j) * least - SLACK <= free <= (i - j) * most + SLACK
            if best[j] and fits and best[j] + 1 > best[i]:
                best[i], last[i] = best[j] + 1, j
    members, at = np.zeros(count, bool), int(best.argmax())
    while at >= 0 and best[at]:
        members[at], at = True, int(last[at])
    return Fit(members, bool(members.all()), np.zeros(2))


# ---- circle ----


def fit_ring(places: np.ndarray, used: np.ndarray, center: np.ndarray, radius_m: float) -> Fit:
    """Places on a given circle, counter-clockwise in the order of the places, from any phase on."""
    count = len(places)
    away = places - center
    on = used & (np.abs(np.linalg.norm(away, axis=1) - radius_m) < OFF_LINE_M)
    angle = np.arctan2(away[:, 1], away[:, 0])
    found = np.zeros(count, bool)
    for first in np.flatnonzero(on):
        turned = (angle - angle[first]) % (2 * pi)
        order = [(int(first) + k) % count for k in range(count)]
        u = [float(turned[k]) for k in order] + [2 * pi]
        best, last = [1, *[0] * count], [-1] * (count + 1)
        for i in range(1, count + 1):
            if i < count and not on[order[i]]:
                continue
            for j in range(i):
                if best[j] and _within_reach(u[i] - u[j], i - j, count) and best[j] >= best[i]:
                    best[i], last[i] = best[j] + 1, j
        if best[count] - 1 > found.sum():
            found, at = np.zeros(count, bool), last[count]
            while at >= 0:
                found[order[at]], at = True, last[at]
    return Fit(found, bool(found.all()), center, radius_m)


def _within_reach(angle: float, steps: int, count: int) -> bool:
    """Whether an angle is that of some steps from neighbor to neighbor on a circle."""
    even = 2 * pi / count * steps
    return NEIGHBORS[0] * even - SLACK <= angle <= NEIGHBORS[1] * even + SLACK


def fit_circle(places: np.ndarray, used: np.ndarray, radii_m: tuple[float, float]) -> Fit:
    """Places on the circle, of any middle and of a radius in a range, that has most of them.

    Looked at are the circles through three of them or, with a radius from the middle of the range,
    through two, then the algebraic fits of the best ones.
    """
    count, known = len(places), np.flatnonzero(used)
    whole = None
    if used.all() and count >= 3:
        whole = algebraic_circle(places)
        if _is_whole_circle(places, *whole, radii_m):
            return Fit(np.ones(count, bool), True, *whole)
    centers, sizes = _circles(places[known], radii_m)
    if not len(centers):
        single = np.zeros(count, bool)
        single[known[:1]] = True
        return Fit(single, False, places[known[0]] if len(known) else np.zeros(2), radii_m[0])
    found = _most_on(places, used, centers, sizes)
    again = [found]
    for _ in range(2):
        middles = [algebraic_circle(places[m]) for m in again[-1] if m.sum() >= 3]
        middles = [m for m in middles if radii_m[0] <= m[1] <= radii_m[1]]
        if not middles:
            break
        centers = np.concatenate((centers, [m[0] for m in middles]))
        sizes = np.concatenate((sizes, [m[1] for m in middles]))
        again.append(_most_on(places, used, centers[-len(middles) :], sizes[-len(middles) :]))
    every = np.concatenate(again)
    best = int(every.sum(1).argmax())
    members = every[best]
    if members.sum() >= 3:
        center, radius = algebraic_circle(places[members])
    else:
        center, radius = centers[best], float(sizes[best])
    return Fit(members, False, center, radius)


def algebraic_circle(places: np.ndarray) -> tuple[np.ndarray, float]:
    """Middle (2,) and radius of the circle that fits places (n, 2) best in the algebraic sense
    (Kasa 1976).
    """
    mean = places.mean(0)
    away = places - mean
    matrix = np.column_stack((2 * away, np.ones(len(away))))
    solution, *_ = np.linalg.lstsq(matrix, (away**2).sum(1), rcond=None)
    center = solution[:2]
    return center + mean, float(np.sqrt(max(0.0, solution[2] + center @ center)))


def _is_whole_circle(
    places: np.ndarray, center: np.ndarray, radius_m: float, radii_m: tuple[float, float]
) -> bool:
    away = places - center
    far = np.abs(np.linalg.norm(away, axis=1) - radius_m)
    if not radii_m[0] <= radius_m <= radii_m[1] or (far >= OFF_LINE_M).any():
        return False
    angles = np.sort(np.arctan2(away[:, 1], away[:, 0]))
    gaps = np.diff(np.append(angles, angles[0] + 2 * pi)) * len(places) / (2 * pi)
    return bool((gaps >= NEIGHBORS[0] - SLACK).all() and (gaps <= NEIGHBORS[1] + SLACK).all())


def _circles(places: np.ndarray, radii_m: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Middles (C, 2) and radii (C,) of circles through two and three places."""
    middle_m = sum(radii_m) / 2
    z = places[:, 0] + 1j * places[:, 1]
    pairs = np.array(list(combinations(range(len(z)), 2)), int).reshape(-1, 2)
    a, b = z[pairs[:, 0]], z[pairs[:, 1]]
    chord = np.abs(b - a)
    fits = (chord > SLACK) & (chord <= 2 * middle_m)
    a, b, chord = a[fits], b[fits], chord[fits]
    up = 1j * (b - a) / chord * np.sqrt(np.maximum(middle_m**2 - chord**2 / 4, 0.0))
    centers = np.concatenate(((a + b) / 2 + up, (a + b) / 2 - up))
    sizes = np.full(len(centers), middle_m)
    triples = np.array(list(combinations(range(len(z)), 3)), int).reshape(-1, 3)
    p, q, r = (z[triples[:, k]] for k in range(3))
    w = (r - p) / np.where(np.abs(q - p) > SLACK, q - p, 1.0)
    flat = np.abs(w.imag) < SLACK
    around = (q - p) * (w - np.abs(w) ** 2) / np.where(flat, 1.0, 2j * w.imag)
    size = np.abs(around)
    fits = ~flat & (size >= radii_m[0]) & (size <= radii_m[1])
    centers = np.concatenate(((p + around)[fits], centers))
    return np.column_stack((centers.real, centers.imag)), np.concatenate((size[fits], sizes))


def _most_on(
    places: np.ndarray, used: np.ndarray, centers: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """Of each circle, the most places on it that can be members of a whole one, (C, n) bool.

    Neighbors are no nearer than they may be, and no more places are missing between them than there
    are: from the first place on, in turn, the fewest steps with so many members are looked for.
    """
    number, count = len(centers), len(places)
    even = 2 * pi / count
    away = places[None] - centers[:, None]
    on = used & (np.abs(np.linalg.norm(away, axis=-1) - sizes[:, None]) < OFF_LINE_M)
    angle = np.where(on, np.arctan2(away[..., 1], away[..., 0]), 2 * pi)  # what is not on it: last
    order = angle.argsort(1)
    angle, is_on = (np.take_along_axis(values, order, 1) for values in (angle, on))
    rows, best = np.arange(number), np.zeros(number, int)
    found = np.zeros((number, count), bool)
    never = 10 * count
    for first in range(int(on.sum(1).max(initial=0))):
        fewest = np.full((count, number, count + 1), never)
        last = np.full((count, number, count + 1), -1)
        fewest[first, is_on[:, first], 1] = 0
        for i in range(first, count):
            for j in range(first, i):
                gap = angle[:, i] - angle[:, j]
                fits = is_on[:, i] & (gap >= NEIGHBORS[0] * even - SLACK)
                steps = np.ceil(gap / (NEIGHBORS[1] * even) - SLACK).astype(int)
                reached = np.where(fits, steps, never)[:, None] + fewest[j][:, :-1]
                better = reached < fewest[i][:, 1:]
                fewest[i][:, 1:][better] = reached[better]
                last[i][:, 1:][better] = j
            gap = 2 * pi - (angle[:, i] - angle[:, first])
            steps = np.ceil(gap / (NEIGHBORS[1] * even) - SLACK).astype(int)
            steps = np.where(gap >= NEIGHBORS[0] * even - SLACK, steps, never)
            closed = fewest[i] + steps[:, None] <= count
            members = np.where(closed, np.arange(count + 1), 0).max(1)
            for row in rows[members > best]:
                best[row], found[row] = members[row], False
                at, left = i, int(members[row])
                while at >= 0:
                    found[row, order[row, at]] = True
                    at, left = int(last[at, row, left]), left - 1
    return found


# ---- templates ----


def fit_template(
    places: np.ndarray,
    used: np.ndarray,
    points: np.ndarray,
    scales: tuple[float, float],
    turn_rad: float,
    off_m: float = TEMPLATE_M,
) -> Fit:
    """Places at the points of a template that may be moved, scaled and turned, that has most.

    Looked at are all ways to bring two points to two places, the best of them then as the least
    squares of all that are near have it.

    Args:
        places: The places.
        used: Which of them may be members.
        points: As many points of the template, further apart than twice ``off_m``, (n, 2) m.
        scales: Least and greatest scale.
        turn_rad: Greatest turn to either side.
        off_m: How far from its point a place may be.
    """
    known, count = np.flatnonzero(used), len(places)
    z = (places[:, 0] + 1j * places[:, 1])[known]
    w = points[:, 0] + 1j * points[:, 1]
    nothing = Fit(np.zeros(count, bool), False, np.zeros(2))
    if not len(known):
        return nothing
    if len(known) == 1:
        return Fit(used.copy(), False, places[known[0]])
    i, j = (side.ravel() for side in np.nonzero(~np.eye(len(w), dtype=bool)))
    p, q = np.array(list(combinations(range(len(z)), 2)), int).T
    turns = (z[q] - z[p])[:, None] / (w[j] - w[i])
    size, angle = np.abs(turns), np.abs(np.angle(turns))
    fits = (size >= scales[0]) & (size <= scales[1]) & (angle <= turn_rad + SLACK)
    pair, way = np.nonzero(fits)
    turn = turns[pair, way]
    shift = z[p[pair]] - turn * w[i[way]]
    if not len(turn):
        single = np.zeros(count, bool)
        single[known[0]] = True
        return Fit(single, False, places[known[0]])
    taken = (_apart(z, w, turn, shift).min(1) < off_m).sum(1)  # points that have a place, (C,)
    chosen = (-taken).argsort(kind="stable")[:REFINED]
    best = _taking(z, w, turn[chosen[0]], shift[chosen[0]], off_m)
    for k in chosen:
        a, b = turn[k], shift[k]
        for _ in range(4):
            apart = np.abs(z[:, None] - (a * w + b))
            nearest = apart.argmin(1)
            near = apart.min(1) < 1.5 * off_m
            if near.sum() < 2:
                break
            a, b = _similarity(w[nearest[near]], z[near], scales, turn_rad)
            again = _taking(z, w, a, b, off_m)
            if again.sum() > best.sum():
                best = again
    members = np.zeros(count, bool)
    members[known[best]] = True
    return Fit(members, bool(members.all()), places[members].mean(0))


def _apart(z: np.ndarray, w: np.ndarray, turn: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Distance of places (K,) from the points of a template as each of some ways has it,
    (C, K, n).
    """
    moved = turn[:, None] * w + shift[:, None]
    apart: np.ndarray = np.abs(z[None, :, None] - moved[:, None])
    return apart


def _taking(
    z: np.ndarray, w: np.ndarray, turn: complex, shift: complex, off_m: float
) -> np.ndarray:
    """Which places (K,) are the nearest to a point of the template, and near, (K,) bool."""
    apart = np.abs(z[:, None] - (turn * w + shift))
    found = np.zeros(len(z), bool)
    found[apart.argmin(0)[apart.min(0) < off_m]] = True
    return found


def _similarity(
    w: np.ndarray, z: np.ndarray, scales: tuple[float, float], turn_rad: float
) -> tuple[complex, complex]:
    """Scale with turn, and shift, that bring points to places with least squares."""
    from_w, from_z = w - w.mean(), z - z.mean()
    turn = complex((from_w.conj() @ from_z) / max(float((np.abs(from_w) ** 2).sum()), 1e-12))
    angle = float(np.clip(np.angle(turn), -turn_rad, turn_rad))
    size = float(np.clip(abs(turn), *scales))
    turn = size * complex(np.cos(angle), np.sin(angle))
    return turn, complex(z.mean() - turn * w.mean())


# ---- rectangle ----


def rectangle_points(across: int, along: int) -> np.ndarray:
    """Points on the outline of a grid, corners first, about its middle, one apart, (n, 2)."""
    inside = [
        (i, j)
        for i in range(across)
        for j in range(along)
        if i in (0, across - 1) or j in (0, along - 1)
    ]
    corner = [(i in (0, across - 1)) + (j in (0, along - 1)) for i, j in inside]
    points = np.array(inside, float)[np.argsort([-c for c in corner], kind="stable")]
    return points - np.array([across - 1, along - 1]) / 2


def rectangles(count: int) -> Sequence[tuple[int, int]]:
    """How many blocks the two sides of a rectangle of some blocks may have, the squarest first."""
    half = count // 2 + 2  # of both sides together
    sides = [(a, half - a) for a in range(2, half // 2 + 1)]
    return sides[::-1] if count % 2 == 0 else ()


def fit_rectangle(places: np.ndarray, used: np.ndarray, side_m: float) -> Fit:
    """Places on the outline of a rectangle of any turn.

    It is whole if all are near the outline, each corner is taken, and neighbors on a side are no
    further apart than they may be; short of that, its members are those near evenly spread places
    of one.

    Args:
        places: The places.
        used: Which of them may be members.
        side_m: Side of the blocks there.
    """
    if used.all() and _is_whole_rectangle(places, side_m):
        return Fit(np.ones(len(places), bool), True, places.mean(0))
    best = Fit(np.zeros(len(places), bool), False, np.zeros(2))
    for sides in rectangles(len(places)):
        points = rectangle_points(*sides)
        fit = fit_template(places, used, points, PITCH_M, pi, OFF_LINE_M)
        best = fit if fit.count > best.count else best
    return Fit(best.members, False, best.center)


def _is_whole_rectangle(places: np.ndarray, side_m: float) -> bool:
    turns = (np.arctan2(*(b - a)[::-1]) % (pi / 2) for a, b in combinations(places, 2))
    starts = {round(float(turn) / START_RAD) for turn in turns}
    return any(_fits_outline(places, START_RAD * start, side_m) for start in sorted(starts))


def _fits_outline(places: np.ndarray, yaw_rad: float, side_m: float) -> bool:
    """Whether places lie on the outline of a rectangle, turned about as given; its sides and its
    turn are those of least squares.
    """
    mean = places.mean(0)
    for _ in range(6):
        c, s = np.cos(yaw_rad), np.sin(yaw_rad)
        local = (places - mean) @ np.array([[c, -s], [s, c]])
        low, high = local.min(0), local.max(0)
        for _ in range(2):
            gaps = np.abs(np.concatenate((local - low, local - high), axis=1))  # (n, 4)
            side = gaps.argmin(1)
            if len(set(side.tolist())) < 4:
                return False
            low = np.array([local[side == k, k].mean() for k in range(2)])
            high = np.array([local[side == k + 2, k].mean() for k in range(2)])
        # turning by a small angle moves x by -y and y by x
        lever = np.where(side % 2 == 0, -local[:, 1], local[:, 0])
        target = np.concatenate((low, high))[side]
        missing = target - local[np.arange(len(local)), side % 2]
        yaw_rad -= float(lever @ missing / max(float(lever @ lever), 1e-12))
    return _is_outline(local, low, high, side_m)


def _is_outline(local: np.ndarray, low: np.ndarray, high: np.ndarray, side_m: float) -> bool:
    """Whether places (n, 2) are on the outline between two corners as they should be."""
    if (high - low < side_m - OFF_LINE_M).any():
        return False
    inside = np.clip(local, low, high)
    depth = np.minimum(local - low, high - local).min(1)
    off = np.where((inside == local).all(1), depth, np.linalg.norm(local - inside, axis=1))
    if (off >= OFF_LINE_M).any():
        return False
    corners = [np.array([x, y]) for x in (low[0], high[0]) for y in (low[1], high[1])]
    taken = [int(np.linalg.norm(local - corner, axis=1).argmin()) for corner in corners]
    far = [hypot(*(local[k] - c)) for k, c in zip(taken, corners, strict=True)]
    if len(set(taken)) < 4 or max(far) >= OFF_LINE_M:
        return False
    for axis in range(2):
        for bound in (low[axis], high[axis]):
            near = np.abs(local[:, axis] - bound) < OFF_LINE_M
            along = np.sort(local[near, 1 - axis])
            if (np.diff(along) > side_m + SIDE_GAP_M + SLACK).any():
                return False
    return True


# ---- figures, and what was seen of them before ----


class Figure(Protocol):
    """What places are looked at for: a line, a circle, a template, a rectangle; hashable."""

    def __hash__(self) -> int:
        """Figures of the same numbers are the same."""

    def fit(self, rows: np.ndarray, used: np.ndarray) -> Fit:
        """The best one through some places: x, y and half of the reach along y, (n, 3)."""


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
    """

    radii_m: tuple[float, float]

    def fit(self, rows: np.ndarray, used: np.ndarray) -> Fit:
        return fit_circle(rows[:, :2], used, self.radii_m)


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
    """The best figure through places (n, 3), to a tenth of a millimetre; what was asked lately is
    known. Most of the time nothing that rests has moved since the last control step.
    """
    rounded = np.where(used[:, None], np.round(rows, 4), 0.0)
    return _fitted(figure, rounded.tobytes(), used.tobytes())


@lru_cache(maxsize=512)
def _fitted(figure: Figure, rows: bytes, used: bytes) -> Fit:
    return figure.fit(np.frombuffer(rows).reshape(-1, 3), np.frombuffer(used, bool))
