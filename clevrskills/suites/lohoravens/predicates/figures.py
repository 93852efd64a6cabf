"""Figures: the correct places of a shape, of any position and size, and those nearest to given
places.

Places are complex numbers, x + iy in meters, seen from above. The correct places of a figure are
``design @ parameters``: linear in complex parameters such as the middle, and the size and turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, permutations
from math import pi, radians

import numpy as np
from scipy.optimize import linear_sum_assignment

from clevrskills.suites.lohoravens.setting import FIELD

TOLERANCE = 0.25
"""Tolerance of positions and of distances to neighbors, as a share of a block's side: not visible
as out of line, and several times the arm's error of 2 to 3 mm."""
TOLERANCE_OF_FIGURE = 0.1
"""Greatest tolerance as a share of the figure's radius: an oval with axes 5 to 4 is no circle."""
NEAREST = 0.9
"""Least distance of places, of a block's side: blocks that lie on the table do not overlap."""
LEAN, TURN_RAD = 0.2, radians(20.0)
"""Sine of the angle by which sides may lean before they are made upright; how far a letter may be
turned and still be read as upright."""
DEPTHS = (0.25, 1.0)
"""Least and greatest depth of the middle of an M, as a share of its height."""
LINE_M, RING_M = 0.60, 0.13
"""Length of a drawn line, radius of a drawn circle."""
GAP_M, PITCH_M, HEIGHT_M, RADII_M = 0.035, 0.048, 0.10, (0.08, 0.148, 0.12)
"""Sizes of what is laid out: gap on a line, distance of neighbors of a rectangle, height and half
the breadth of a letter, radii of two circles and of a single one."""
STEP_M, INSET_M = 0.03, 0.02
"""Distance of the middles at which figures are laid out; how far inside the field they stay, and
how far outside it a place may be."""
REFINED, CLOSE = 8, 2.0
"""Number of figures that are refined, by the places within this many tolerances."""

Complex = np.ndarray
Project = Callable[[Complex], tuple[Complex, np.ndarray]]
"""Return the nearest correct parameters (C, m), and whether they are near, (C,) bool."""
Seeds = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Figures of k parameters: ``matrix (n, k) @ parameters + offset (n,)``, which the places of some
points (H, k) determine."""


@dataclass(frozen=True, eq=False)
class Figure:
    """A kind of figure of a number of blocks."""

    design: Complex  # places by parameters, (n, m); the first parameter is the middle
    groups: np.ndarray  # which of the blocks may be at each point, (n,): those of the same number
    edges: np.ndarray  # points that are neighbors, (E, 2)
    project: Project  # the nearest correct parameters
    default: Complex  # parameters of the figure that is laid out, (m,)
    side_m: float  # mean side of the blocks
    seeds: Sequence[Seeds]  # figures that the search starts from
    turns_rad: Sequence[float] = (0.0,)  # turns in which it is laid out
    radial: bool = False  # whether it consists of circles
    # lowest and highest place of its points; ``None``: it may be anywhere on the field
    room: tuple[complex, complex] | None = (-1 - 1j, 1 + 1j)

    @cached_property
    def layouts(self) -> Complex:
        """Parameters of the figures that are laid out, those in the middle of the field first."""
        found = np.exp(1j * np.array(self.turns_rad))[:, None] * self.default
        found[:, 0] = self.default[0]
        if self.room:
            return found
        low, high = field(0.0)
        ticks = STEP_M * np.arange(-6, 7)
        grid = (ticks[4:9, None] + 1j * ticks).ravel()
        middles = grid[np.abs(grid).argsort(kind="stable")] + (low + high) / 2
        every = np.tile(found, (len(middles), 1))
        every[:, 0] = np.repeat(middles, len(found))
        return every

    def through(self, z: Complex, groups: np.ndarray, blocks: Sequence[int]) -> Complex:
        """Return parameters of the figures through as many blocks as determine one, (C, m)."""
        lift, found = np.linalg.pinv(self.design), [self.layouts]
        for matrix, offset, points in self.seeds:
            tuples = np.array([*permutations(blocks, points.shape[1])], int)
            if len(tuples):
                solve = lift @ matrix @ np.linalg.inv(matrix[points])  # (H, m, k)
                parameters = solve @ (z[tuples].T - offset[points][..., None])  # (H, m, P)
                fits = (self.groups[points][:, None] == groups[tuples]).all(-1)  # (H, P)
                found.append(parameters.transpose(0, 2, 1)[fits] + lift @ offset)
        return np.concatenate(found)

    def correct(self, parameters: Complex, room: tuple[complex, complex] | None) -> Complex:
        """Return the places of the correct figures near some parameters, (C, n)."""
        parameters, near = self.project(parameters)
        places = parameters[near] @ self.design.T
        low, high = room or self.room or field(INSET_M)
        inside = (places.real >= low.real) & (places.real <= high.real)
        inside &= (places.imag >= low.imag) & (places.imag <= high.imag)
        places = places[inside.all(1)]
        one, other = np.triu_indices(len(self.design), 1)
        apart_m = np.abs(places[:, one] - places[:, other]).min(1)
        return places[apart_m >= NEAREST * self.side_m]

    def tolerance_m(self, places: Complex) -> np.ndarray:
        """Return how far from its place of figures (C, n) a block may be, (C,)."""
        radius_m = np.abs(places - places.mean(1, keepdims=True)).max(1)
        return np.minimum(TOLERANCE * self.side_m, TOLERANCE_OF_FIGURE * radius_m)

    def yaws_rad(self, places: Complex) -> np.ndarray:
        """Return how blocks at places (n,) are turned: as the figure, or on a circle outwards."""
        one, other = self.edges[0]
        turn = places - places.mean() if self.radial else places[[other]] - places[[one]]
        return np.broadcast_to(np.angle(turn), places.shape)


@dataclass(frozen=True)
class Fit:
    """The correct figure nearest to some blocks."""

    figure: Figure  # the figure
    members: np.ndarray  # which of the blocks are in their places of it, (n,) bool
    whole: bool  # whether all are, as far apart from their neighbors as they should be
    points: Complex  # the places of its points, (n,) complex
    where: np.ndarray  # the point of each block, (n,)
    tolerance_m: float  # how far from it a block may be


def fit(
    figures: Sequence[Figure],
    z: Complex,
    groups: np.ndarray,
    used: np.ndarray,
    room: tuple[complex, complex] | None = None,
) -> Fit:
    """Return the correct figure that most blocks (n,) are in their places of, to a tenth of a
    millimeter; of those ``used``, in a ``room`` other than that of the figures.
    """
    rounded = np.where(used, np.round(z, 4), 0.0).astype(complex)
    key = rounded.tobytes(), groups.astype(int).tobytes(), used.tobytes(), room
    fits = (_fit(each, *key) for each in figures)
    return max(fits, key=lambda each: (each.whole, each.members.sum()))


@lru_cache(maxsize=1024)
def _fit(
    figure: Figure, z: bytes, groups: bytes, used: bytes, room: tuple[complex, complex] | None
) -> Fit:
    """Return the best of the figures through some of the blocks, fitted with least squares to those
    near it.
    """
    at, kinds, counted = (
        np.frombuffer(data, kind) for data, kind in ((z, complex), (groups, int), (used, bool))
    )
    own = figure.groups[:, None] == kinds  # (n points, n blocks)

    def apart_m(places: Complex) -> np.ndarray:
        return np.where(own & counted, np.abs(places[..., None] - at), np.inf)

    def refined(places: Complex) -> list[Complex]:
        found = [places]
        for _ in range(3):
            apart, tolerance_m = apart_m(found[-1]), figure.tolerance_m(found[-1][None])
            rows = np.flatnonzero(apart.min(1) < CLOSE * tolerance_m)
            if len(rows) >= figure.design.shape[1]:
                targets = at[apart[rows].argmin(1)]
                parameters = np.linalg.lstsq(figure.design[rows], targets, rcond=None)[0]
                found += [*figure.correct(parameters[None], room)]
        return found

    def score(places: Complex) -> tuple[int, float]:
        off_m = apart_m(places).min(1)
        near = off_m < figure.tolerance_m(places[None])
        return int(near.sum()), -round(float(off_m[near].sum()), 6)

    every = figure.correct(figure.through(at, kinds, np.flatnonzero(counted).tolist()), room)
    off_m = apart_m(every).min(-1)
    near = (off_m < figure.tolerance_m(every)[:, None]).sum(1)
    order = np.lexsort((off_m.clip(max=2.0).sum(1).round(6), -near))[:REFINED]
    best = max((each for k in order for each in refined(every[k])), key=score)
    apart, tolerance_m = np.abs(best[:, None] - at), float(figure.tolerance_m(best[None])[0])
    within = own & counted & (apart < tolerance_m)
    cost = np.where(own, apart * counted - 100.0 * within, 1e4)  # those near a place first
    points, blocks = linear_sum_assignment(cost)
    where = points[blocks.argsort()]
    members = within[where, np.arange(len(where))]
    off = (at[blocks] - best)[figure.edges]
    whole = bool(members.all() and (np.abs(off[:, 0] - off[:, 1]) < tolerance_m).all())
    return Fit(figure, members, whole, best, where, tolerance_m)


# ---- the kinds of figures ----


def line(groups: np.ndarray, sides_m: np.ndarray) -> Iterator[Figure]:
    """Yield a row along +y on the drawn line about the origin, in order, evenly spaced: with even
    gaps, even distances of the middles, or anything between.
    """
    count = len(groups)
    along = np.arange(count) - (count - 1) / 2
    touching = np.cumsum(sides_m) - np.array(sides_m) / 2
    pitch_m, start_m = np.polyfit(along, touching, 1)
    gaps = touching - start_m - pitch_m * along  # what even gaps add to even distances
    design = 1j * np.column_stack((np.ones(count), along, gaps))
    room_m = LINE_M + (sides_m[0] + sides_m[-1]) / 2 - sum(sides_m)
    default = np.array([0.0, pitch_m + min(GAP_M, room_m / (count - 1)), 1.0], complex)
    single = design[:, :1], design @ default, np.arange(count)[:, None]
    pairs = np.array([*combinations(range(count), 2)])

    def project(parameters: Complex) -> tuple[Complex, np.ndarray]:
        found = parameters.real.copy()
        found[:, 2] = found[:, 2].clip(0.0, 1.0)
        return found, found[:, 1] > 0

    starts = [single, *((design[:, :2], own, pairs) for own in (0 * design[:, 2], design[:, 2]))]
    room, edges = (-1 - 1j * LINE_M / 2, 1 + 1j * LINE_M / 2), _chain(range(count))
    yield Figure(design, groups, edges, project, default, sides_m.mean(), starts, room=room)


def circles(groups: np.ndarray, sides_m: np.ndarray) -> Iterator[Figure]:
    """Yield concentric circles, of a group each, evenly spaced, each at least a block further out
    than the one before; a single block of a group is in the middle.
    """
    counts, side_m = np.bincount(groups), sides_m.mean()
    rings = [np.flatnonzero(groups == k) for k in np.flatnonzero(counts > 1)]
    design, edges = _around(rings)
    firsts = [ring[0] for ring in rings]
    seeds = [
        (ring[0], point, *(first for first in firsts if first != ring[0]))
        for ring in rings
        for point in ring[1:]
    ]
    if len(rings) < len(counts):
        seeds += [(0, 1)]
        edges = np.concatenate((edges, [(0, point) for point in rings[0]]))

    def project(parameters: Complex) -> tuple[Complex, np.ndarray]:
        radii_m = np.abs(parameters[:, 1:])
        return parameters, (np.diff(radii_m, axis=1) >= side_m).all(1)

    radii_m = RADII_M[:2] if len(rings) > 1 else RADII_M[2:]
    turns_rad = [k * pi / (2 * len(rings[0])) for k in range(4)]
    start = (design, np.zeros(len(groups)), np.array(seeds))
    default = np.array([0.0, *radii_m], complex)
    yield Figure(
        design, groups, edges, project, default, side_m, (start,), turns_rad, radial=True, room=None
    )


def ring(groups: np.ndarray, sides_m: np.ndarray) -> Iterator[Figure]:
    """Yield places on the drawn circle about the origin, in order counter-clockwise, evenly spaced
    from any of them on.
    """
    count = len(groups)
    design, edges = _around([np.arange(count)])
    turns_rad = [k * pi / (2 * count) for k in range(4 * count)]

    def project(parameters: Complex) -> tuple[Complex, np.ndarray]:
        size_m = np.abs(parameters)
        return parameters * [0.0, RING_M] / size_m.clip(min=1e-9), size_m[:, 1] > RING_M / 2

    start, default = (design[:, 1:], np.zeros(count), groups[:, None]), np.array([0.0, RING_M + 0j])
    side_m = sides_m.mean()
    yield Figure(design, groups, edges, project, default, side_m, (start,), turns_rad, radial=True)


def letter_m(groups: np.ndarray, sides_m: np.ndarray) -> Iterator[Figure]:
    """Yield the letter M, its top towards the robot: two uprights, and between their tops two
    strokes that meet at any depth; a block at each end of a stroke and one halfway. Height and
    breadth are independent of each other.
    """
    down = np.array([0.5, 0.0, -0.5, 0.5, 0.0, -0.5, -0.5, -0.5, -0.5])  # +x
    right = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0, -0.5, 0.5, 0.0])
    depth = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 1.0])
    design = np.column_stack((np.ones(9), down, right, depth)).astype(complex)

    def project(parameters: Complex) -> tuple[Complex, np.ndarray]:
        found, turn, near = _upright(parameters, TURN_RAD)
        height, breadth = (found[:, 1] / turn).real, (found[:, 2] / turn).imag
        reach = (parameters[:, 3] / turn).real / height.clip(min=1e-9)
        found[:, 3] = reach.clip(*DEPTHS) * height * turn
        return found, near & (height > 0) & (breadth > 0)

    matrices = [design[:, :3] + share * np.outer(depth, [0, 1, 0]) for share in (0.3, 0.6, 0.9)]
    starts = [(matrix, np.zeros(9), _independent(matrix)) for matrix in matrices]
    default, edges = HEIGHT_M * np.array([0.0, 1.0, 1j, 0.6]), _chain([0, 1, 2, 6, 8, 7, 5, 4, 3])
    yield Figure(design, groups, edges, project, default, sides_m.mean(), starts, room=None)


def rectangle(groups: np.ndarray, sides_m: np.ndarray) -> Iterator[Figure]:
    """Yield the outlines of rectangles of any turn and sides about the origin, a block at each
    corner, the others evenly spaced along the sides, as many on opposite ones; squarest first.
    """

    def upright(parameters: Complex) -> tuple[Complex, np.ndarray]:
        return _upright(parameters)[::2]

    half = len(groups) // 2 + 2  # blocks of two sides together
    for across in range(half // 2, 1, -1):
        last = np.array([across, half - across]) - 1
        grid = np.argwhere(np.ones(last + 1))
        points = grid[(grid % last == 0).any(1)] - last / 2
        points = points[np.lexsort((-np.abs(points).sum(1),))]  # corners first
        design = np.column_stack((np.ones(len(points)), points)).astype(complex)
        edges = np.argwhere(np.triu(np.abs(points[:, None] - points).sum(-1) == 1))
        start = (design, np.zeros(len(points)), _independent(design))
        default, turns_rad = PITCH_M * np.array([0.0, 1.0, 1j]), (0.0, pi / 2)
        yield Figure(design, groups, edges, upright, default, sides_m.mean(), (start,), turns_rad)


KINDS = {each.__name__: each for each in (line, ring, circles, letter_m, rectangle)}
KINDS["circle"] = circles
"""The kinds of figures by name."""


@lru_cache(maxsize=256)
def figures(name: str, groups: tuple[int, ...], sides_m: tuple[float, ...]) -> Sequence[Figure]:
    """Return the figures of a kind that blocks of some groups and sides, both in the order of the
    groups, may form.
    """
    return [*KINDS[name](np.array(groups), np.array(sides_m))]


def _upright(parameters: Complex, most_rad: float = pi) -> tuple[Complex, Complex, np.ndarray]:
    """Return parameters whose third one is at a right angle to the second, turned by at most an
    angle, (C, m); their turn, (C,); and whether they nearly were, (C,).
    """
    sides = parameters[:, 1:3] / np.array([1.0, 1j])
    mirrored = np.where((sides[:, 1] * sides[:, 0].conj()).real < 0, -1.0, 1.0)
    angle = np.angle(sides[:, 0] + mirrored * sides[:, 1]).clip(-most_rad, most_rad)
    turn, found = np.exp(1j * angle), parameters.copy()
    own = sides / turn[:, None]
    found[:, 1:3] = own.real * turn[:, None] * np.array([1.0, 1j])
    return found, turn, (np.abs(own.imag) <= LEAN * np.abs(own)).all(1)


def _around(rings: Sequence[np.ndarray]) -> tuple[Complex, np.ndarray]:
    """Return the design of circles of some points, counter-clockwise, (n, 1 + rings), the other
    points in the middle; and their edges.
    """
    design = np.zeros((max(ring[-1] for ring in rings) + 1, 1 + len(rings)), complex)
    design[:, 0] = 1.0
    for k, ring in enumerate(rings):
        design[ring, 1 + k] = np.exp(2j * pi * np.arange(len(ring)) / len(ring))
    return design, np.concatenate([_chain([*ring, ring[0]]) for ring in rings])


def _chain(points: Sequence[int]) -> np.ndarray:
    """Return each point with the next one, (E, 2)."""
    return np.column_stack((points[:-1], points[1:]))


def _independent(design: Complex) -> np.ndarray:
    """Return the points, as many as there are parameters, that determine these, (H, m)."""
    tuples = np.array([*combinations(range(len(design)), design.shape[1])])
    return tuples[np.abs(np.linalg.det(design[tuples])) > 1e-6]


def field(margin_m: float = -INSET_M) -> tuple[complex, complex]:
    """Return the lowest and highest place of the field and a margin around it."""
    low, high = (complex(FIELD.x_m[k], FIELD.y_m[k]) for k in range(2))
    return low - margin_m * (1 + 1j), high + margin_m * (1 + 1j)
