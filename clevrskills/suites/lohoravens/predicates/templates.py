"""Fits of places to templates and to rectangles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import hypot, pi

import numpy as np

from clevrskills.suites.lohoravens.predicates.fit import OFF_LINE_M, SLACK, Fit

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


def fit_template(
    places: np.ndarray,
    used: np.ndarray,
    points: np.ndarray,
    scales: tuple[float, float],
    turn_rad: float,
    off_m: float = TEMPLATE_M,
) -> Fit:
    """Return the places at the points of a template that may be moved, scaled and turned, that has
    most.

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
    """Return the distance of places (K,) from the points of a template as each of some ways has it,
    (C, K, n).
    """
    moved = turn[:, None] * w + shift[:, None]
    apart: np.ndarray = np.abs(z[None, :, None] - moved[:, None])
    return apart


def _taking(
    z: np.ndarray, w: np.ndarray, turn: complex, shift: complex, off_m: float
) -> np.ndarray:
    """Return which places (K,) are the nearest to a point of the template, and near, (K,) bool."""
    apart = np.abs(z[:, None] - (turn * w + shift))
    found = np.zeros(len(z), bool)
    found[apart.argmin(0)[apart.min(0) < off_m]] = True
    return found


def _similarity(
    w: np.ndarray, z: np.ndarray, scales: tuple[float, float], turn_rad: float
) -> tuple[complex, complex]:
    """Return the scale with turn, and shift, that bring points to places with least squares."""
    from_w, from_z = w - w.mean(), z - z.mean()
    turn = complex((from_w.conj() @ from_z) / max(float((np.abs(from_w) ** 2).sum()), 1e-12))
    angle = float(np.clip(np.angle(turn), -turn_rad, turn_rad))
    size = float(np.clip(abs(turn), *scales))
    turn = size * complex(np.cos(angle), np.sin(angle))
    return turn, complex(z.mean() - turn * w.mean())


def rectangle_points(across: int, along: int) -> np.ndarray:
    """Return the points on the outline of a grid, corners first, about its middle, (n, 2)."""
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
    """Return the numbers of blocks that both sides of a rectangle may have, squarest first."""
    half = count // 2 + 2  # of both sides together
    sides = [(a, half - a) for a in range(2, half // 2 + 1)]
    return sides[::-1] if count % 2 == 0 else ()


def fit_rectangle(places: np.ndarray, used: np.ndarray, side_m: float) -> Fit:
    """Return the places on the outline of a rectangle of any turn.

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
    """Return whether places lie on the outline of a rectangle, turned about as given; its sides and
    its turn are those of least squares.
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
    """Return whether places (n, 2) are on the outline between two corners as they should be."""
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
