"""Fits of places to lines and circles."""

from __future__ import annotations

from itertools import combinations
from math import pi

import numpy as np

from clevrskills.suites.lohoravens.predicates.fit import OFF_LINE_M, SLACK, Fit

LINE_GAPS_M = (0.01, 0.06)
"""Least and greatest gap between the edges of neighbors on a line."""
NEIGHBORS = (0.5, 1.6)
"""Least and greatest angle between neighbors on a circle, of the even one."""
REFINED = 16
"""How many of the best circles are looked at closely."""


def fit_line(
    along: np.ndarray, off: np.ndarray, halves: np.ndarray, sides: np.ndarray, length_m: float
) -> Fit:
    """Return the places on a line, in order, with gaps between them as :data:`LINE_GAPS_M` has it.

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


def fit_ring(places: np.ndarray, used: np.ndarray, center: np.ndarray, radius_m: float) -> Fit:
    """Return the places on a given circle, counter-clockwise in the order of the places, from any
    phase on.
    """
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
    """Return whether an angle is that of some steps from neighbor to neighbor on a circle."""
    even = 2 * pi / count * steps
    return NEIGHBORS[0] * even - SLACK <= angle <= NEIGHBORS[1] * even + SLACK


def fit_circle(
    places: np.ndarray, used: np.ndarray, radii_m: tuple[float, float], counted: bool = True
) -> Fit:
    """Return the places on the circle, of any middle and of a radius in a range, that has most of
    them.

    Looked at are the circles through three of them or, with a radius from the middle of the range,
    through two, then the algebraic fits of the best ones. Unless ``counted``, members are not
    looked for where it is not whole.
    """
    count, known = len(places), np.flatnonzero(used)
    whole = None
    if used.all() and count >= 3:
        whole = algebraic_circle(places)
        if _is_whole_circle(places, *whole, radii_m):
            return Fit(np.ones(count, bool), True, *whole)
    if not counted:
        return Fit(np.zeros(count, bool), False, np.zeros(2))
    centers, sizes = _circles(places[known], radii_m)
    if not len(centers):
        single = np.zeros(count, bool)
        single[known[:1]] = True
        return Fit(single, False, places[known[0]] if len(known) else np.zeros(2), radii_m[0])
    found = _most_on(places, used, centers, sizes)
    again = [found]
    for _ in range(2):
        likely = np.unique(
            again[-1][np.argsort(-again[-1].sum(1), kind="stable")[:REFINED]], axis=0
        )
        middles = [algebraic_circle(places[m]) for m in likely if m.sum() >= 3]
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
    """Return the middle (2,) and radius of the circle that fits places (n, 2) best in the algebraic
    sense (Kasa 1976).
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
    """Return middles (C, 2) and radii (C,) of circles through two and three places."""
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
    """Return the most places on each circle that can be members of a whole one, (C, n) bool.

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
