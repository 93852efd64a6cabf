"""Solids: a visible surface together with its convex collision parts.

Builders return both from one description, so they always match. The unit of length is up to the
caller (the catalogue uses millimeters).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clevrskills.assets import polygons
from clevrskills.assets.outlines import Outline, Points, circle, rectangle

__all__ = ["Solid", "lathe"]

_PART_RING = 16  # most corners per ring of a convex part


@dataclass(frozen=True, eq=False)
class Patch:
    """Surface patch."""

    points: np.ndarray  # (n, 3) corners
    faces: np.ndarray  # (f, 3) triangles, counter-clockwise seen from outside
    # (rows, columns) of a swept wall, whose first and last columns coincide; otherwise ``None``
    grid: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Solid:
    """Surface patches and convex parts, each (n, 3) corners, whose union they bound."""

    patches: tuple[Patch, ...]
    parts: tuple[np.ndarray, ...]

    def __add__(self, other: "Solid") -> "Solid":
        return Solid(self.patches + other.patches, self.parts + other.parts)

    def transformed(self, matrix: np.ndarray, offset: Sequence[float] = (0, 0, 0)) -> "Solid":
        """Return a copy mapped by `matrix` (3, 3) with positive determinant and shifted."""

        def apply(points: np.ndarray) -> np.ndarray:
            return points @ matrix.T + np.asarray(offset, dtype=np.float64)

        patches = tuple(Patch(apply(p.points), p.faces, p.grid) for p in self.patches)
        return Solid(patches, tuple(apply(part) for part in self.parts))

    def moved(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> "Solid":
        """Return a shifted copy."""
        return self.transformed(np.eye(3), (x, y, z))

    def turned(self, axis: str, angle_deg: float) -> "Solid":
        """Return a copy rotated about the "x", "y" or "z" axis."""
        return self.transformed(_rotation(axis, angle_deg))

    def decorated(self, *details: "Solid") -> "Solid":
        """Return a copy with visual details that are ignored by physics."""
        patches = sum((detail.patches for detail in details), self.patches)
        return Solid(patches, self.parts)

    def bounds(self) -> np.ndarray:
        """Return the lowest and highest corner of the visible surface, (2, 3)."""
        points = np.concatenate([patch.points for patch in self.patches])
        return np.stack([points.min(axis=0), points.max(axis=0)])


def _rotation(axis: str, angle_deg: float) -> np.ndarray:
    c, s = np.cos(np.radians(angle_deg)), np.sin(np.radians(angle_deg))
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    matrix = np.eye(3)
    matrix[i, i], matrix[i, j], matrix[j, i], matrix[j, j] = c, -s, s, c
    return matrix


def _lift(points: Points | np.ndarray, z: float) -> np.ndarray:
    flat = np.asarray(points, dtype=np.float64)
    return np.column_stack([flat, np.full(len(flat), z)])


def _wall(rings: Sequence[np.ndarray]) -> Patch:
    """Return the wall through rings (n, 3), lowest first, counter-clockwise seen from above."""
    closed = [np.concatenate([ring, ring[:1]]) for ring in rings]
    rows, columns = len(closed), len(closed[0])
    index = np.arange(rows * columns).reshape(rows, columns)
    a, b = index[:-1, :-1].ravel(), index[:-1, 1:].ravel()
    c, d = index[1:, 1:].ravel(), index[1:, :-1].ravel()
    faces = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    return Patch(np.concatenate(closed), faces, (rows, columns))


def _fan(ring: np.ndarray, facing_up: bool) -> Patch:
    k = np.arange(1, len(ring) - 1)
    faces = np.column_stack([np.zeros_like(k), k, k + 1])
    return Patch(ring, faces if facing_up else faces[:, ::-1])


def prism(outline: Outline | Points, height: float, bottom: float = 0.0) -> Solid:
    """Return an outline, possibly with holes, extruded upwards from z = `bottom`."""
    outline = outline if isinstance(outline, Outline) else Outline(outline)
    loops = [_oriented(outline.outer, 1.0), *(_oriented(hole, -1.0) for hole in outline.holes)]
    points = np.concatenate(loops)
    starts = np.cumsum([0] + [len(loop) for loop in loops])
    indices = [list(range(a, b)) for a, b in pairwise(starts)]
    triangles = polygons.triangulate(points, indices)
    faces = np.array(triangles)
    top = bottom + height
    caps = (Patch(_lift(points, top), faces), Patch(_lift(points, bottom), faces[:, ::-1]))
    walls = tuple(_wall([_lift(loop, bottom), _lift(loop, top)]) for loop in loops)
    parts = (
        np.concatenate([_lift(ring, bottom), _lift(ring, top)])
        for ring in (_thinned(points[piece]) for piece in polygons.convex_pieces(points, triangles))
    )
    return Solid(caps + walls, tuple(parts))


def _oriented(loop: Points, sign: float) -> np.ndarray:
    points = np.asarray(loop, dtype=np.float64)
    return points if polygons.signed_area(points) * sign > 0 else points[::-1]


def box(
    width: float, depth: float, height: float, x: float = 0, y: float = 0, bottom: float = 0
) -> Solid:
    """Return a cuboid on z = `bottom` about (x, y)."""
    return prism(rectangle(width, depth, x, y), height, bottom)


def loft(rings: Sequence[tuple[Points, float]]) -> Solid:
    """Return a solid through convex outlines with the same number of corners, with flat ends.

    Args:
        rings: (outline, z) from bottom to top; two rings at the same height make a step.
    """
    return _skin([_lift(outline, z) for outline, z in rings])


def _skin(rings: Sequence[np.ndarray]) -> Solid:
    patches = (_wall(rings), _fan(rings[0], False), _fan(rings[-1], True))
    return Solid(patches, tuple(_frusta(rings)))


def _frusta(rings: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return convex pieces between adjacent rings, none for steps in one plane."""
    pieces = (np.concatenate([_thinned(a), _thinned(b)]) for a, b in pairwise(rings))
    return [piece for piece in pieces if np.ptp(piece @ _ring_normal(rings[0])) > 1e-6]


def _ring_normal(ring: np.ndarray) -> np.ndarray:
    k = len(ring) // 3
    return np.cross(ring[k] - ring[0], ring[2 * k] - ring[0])


def _thinned(ring: np.ndarray) -> np.ndarray:
    """Return a subset of the corners of a convex ring, few enough for a part."""
    return ring[:: -(-len(ring) // _PART_RING)]


@dataclass(frozen=True)
class Station:
    """Cross-section of a :func:`tube`: an upright rectangle with beveled edges.

    Attributes:
        x, y: Point on the path.
        width: Full width across the path.
        height: Full height.
        heading_deg: Direction of the path, 0 along +x.
        bottom: Height of the underside.
    """

    x: float
    y: float
    width: float
    height: float
    heading_deg: float = 0.0
    bottom: float = 0.0


def tube(stations: Sequence[Station], bevel: float) -> Solid:
    """Return a solid along a path in the plane; `bevel` is the size of its beveled edges."""
    return _skin([_section(station, bevel) for station in stations])


def _section(station: Station, bevel: float) -> np.ndarray:
    a, b, h = station.width / 2, min(bevel, station.width / 3, station.height / 3), station.height
    across = np.array([a - b, a, a, a - b, b - a, -a, -a, b - a])
    up = np.array([0, b, h - b, h, h, h - b, b, 0])
    heading = np.radians(station.heading_deg)
    x, y = station.x - across * np.sin(heading), station.y + across * np.cos(heading)
    return np.column_stack([x, y, station.bottom + up])


def lathe(profile: Sequence[tuple[float, float]], n: int = 32) -> Solid:
    """Return a solid of revolution about z from (radius, z) pairs, lowest first."""
    return loft([(circle(radius, n), z) for radius, z in profile])


def vessel(outer: Sequence[tuple[Points, float]], inner: Sequence[tuple[Points, float]]) -> Solid:
    """Return an open container with a floor and a wall.

    Args:
        outer: (outline, z) of the outside from the bottom to the rim.
        inner: (outline, z) of the inside from the rim to the floor. All outlines have the same
            number of corners.
    """
    outside = [_lift(outline, z) for outline, z in outer]
    inside = [_lift(outline, z) for outline, z in inner]
    patches = (_wall(outside + inside), _fan(outside[0], False), _fan(inside[-1], True))
    below, above = _cut(outside, inside[-1][0, 2])
    return Solid(patches, tuple(_frusta(below) + _wall_parts(above, inside)))


def _cut(rings: Sequence[np.ndarray], z: float) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the rings below and above height z; both contain the ring at z."""
    k = next(k for k, ring in enumerate(rings) if ring[0, 2] > z)
    low, high = rings[k - 1], rings[k]
    cut = low + (high - low) * (z - low[0, 2]) / (high[0, 2] - low[0, 2])
    below = rings[:k] if low[0, 2] < z else rings[: k - 1]
    return [*below, cut], [cut, *rings[k:]]


def _wall_parts(outside: Sequence[np.ndarray], inside: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return segments of the wall of a vessel, two columns wide for round ones."""
    outer, inner = np.stack(outside), np.stack(inside)  # (rings, columns, 3)
    columns = outer.shape[1]
    stride = 2 if columns > _PART_RING else 1
    parts = []
    for start in range(0, columns, stride):
        along = np.arange(start, start + stride + 1) % columns
        ends = along[[0, -1]]
        parts.append(np.concatenate([outer[:, along], inner[:, ends]], axis=None).reshape(-1, 3))
    return parts
